"""How a kernel is compiled that other kernels call: as a piece of them, and not on its own.

numba makes machine code of each function, with every optimisation and a way for Python to call it, also of one
that is only ever compiled into others: that was half of the time of a compilation. Here a kernel has two sides.
Python calls the `Kernel`, which is compiled whole. Other kernels are given its `InnerKernel`: simplified code that
is optimised with what it becomes a piece of, and kept on disk without machine code. Either side is compiled when
it is first asked for.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import (  # type: ignore[attr-defined] # it does not say that it exports llvmlite
    JITCodeLibrary,
    ll,
)
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, compile_result
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering


class _InnerLibrary(JITCodeLibrary):
    """Code for linking into that of other kernels."""

    def _optimize_final_module(self) -> None:
        """Drop what only says which functions are called: numba keeps no code on disk that has addresses in it."""
        passes = ll.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(self._final_module, self._codegen._pass_builder())

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """Return the code as it is linked; there is no other."""
        self._ensure_finalized()
        return self.name, "bitcode", self._final_module.as_bitcode()

    @classmethod
    def read(cls, codegen: Any, serialized: tuple[str, str, bytes]) -> _InnerLibrary:
        """Return what was serialized."""
        name, _, bitcode = serialized
        library = cls(codegen, name)
        library._final_module = ll.parse_bitcode(bitcode)
        library._finalized = True
        return library


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):
    """Make code that nothing runs before it is linked; callers find it by an object, as others by a function."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        found_by = object()
        state.targetctx.insert_user_function(found_by, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=found_by)
        return True


class _InnerCompiler(CompilerBase):
    def define_pipelines(self) -> list[PassManager]:
        usual, own = DefaultPassBuilder.define_nopython_pipeline(self.state), PassManager("inner")
        for step, about in usual.passes:
            own.add_pass(_InnerLowering if step is NativeLowering else step, about)
        own.finalize()
        return [own]


class _InnerFiles(CompileResultCacheImpl):
    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Return a name beside that of the kernel."""
        return f"{super().get_filename_base(fullname, abiflags)}.inner"

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> Any:
        """Return what was kept; numba would make machine code of it at once."""
        serialized, fndesc, environment, signature, *_, referenced = payload
        return compile_result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=_InnerLibrary.read(target_context.codegen(), serialized),
            environment=environment,
            entry_point=object(),
            fndesc=fndesc,
            signature=signature,
            objectmode=False,
            lifted=(),
            typing_error=None,
            referenced_envs=referenced,
        )


class _Cache(FunctionCache):
    def load_overload(self, sig: tuple[Any, ...], target_context: Any) -> Any:
        """Return what is kept for the types; None if the file is not of them.

        Two processes that compile one kernel at one time for different types may take the same name for both files.
        """
        found: Any = super().load_overload(sig, target_context)
        return found if found is not None and found.signature.args == tuple(sig) else None


class _InnerCache(_Cache):
    _impl_class: Any = _InnerFiles


class InnerKernel(CPUDispatcher):
    """The side of a kernel that other kernels call."""

    def enable_caching(self) -> None:
        """Keep it on disk."""
        self._cache = _InnerCache(self.py_func)

    def add_overload(self, result: Any) -> None:
        """Add it for callers that are compiled: Python finds none to call."""
        self.overloads[tuple(result.signature.args)] = result


_DEFAULTS: dict[str, object] = Flags().values()
_HASH = hash(Flags())  # of the names alone


class _QuickFlags(Flags):
    """Flags that are quickly compared, as they are at each call that types are inferred of."""

    __slots__ = ()

    def values(self) -> dict[str, object]:
        """Return every flag."""
        chosen: dict[str, object] = self._values
        return _DEFAULTS | chosen

    def __hash__(self) -> int:
        return _HASH


class Kernel(CPUDispatcher):
    """A compiled function for Python and for other kernels.

    Parameters
    ----------
    function
        What is compiled at its first call.
    options
        numba's for its target.
    """

    def __init__(self, function: Any, options: Mapping[str, object]) -> None:
        super().__init__(function, targetoptions=dict(options))
        self.inner = InnerKernel(
            function, targetoptions={**options, "no_cpython_wrapper": True}, pipeline_class=_InnerCompiler
        )
        sides: tuple[Any, ...] = (self, self.inner)
        for side in sides:
            side._compiler._customize_flags = _QuickFlags

    def enable_caching(self) -> None:
        """Keep both sides on disk."""
        self._cache = _Cache(self.py_func)
        self.inner.enable_caching()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return what types a call from another kernel has."""
        _, given = cast("Any", self)._compiler.fold_argument_types(args, kws)
        return self.inner.get_call_template(tuple(map(_widest, given)), {})

    def get_overload(self, sig: Any) -> Any:
        """Return by what a call from another kernel is found."""
        return self.inner.get_overload(sig)

    def add_overload(self, result: Any) -> None:
        """Add what was compiled or kept; each piece in it has surroundings of its own."""
        super().add_overload(result)
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)

    def compile(self, sig: Any) -> Any:
        """Compile for types of arguments, unless that is done.

        A compiler's objects live until its end, and to look through them again and again takes a tenth of its time.
        """
        with _uncollected():
            return super().compile(sig)


def _widest(given: Any) -> Any:
    """Return the type that the inner side is compiled for: one for all kinds of whole numbers with a sign.

    To numba a constant has a type of its own. It counts in 64 bits whatever the width of a column is.
    """
    plain: Any = types.unliteral(given)
    is_whole: bool = isinstance(plain, types.Integer)
    return types.int64 if is_whole and plain.signed and plain.bitwidth < 64 else plain


@contextmanager
def _uncollected() -> Iterator[None]:
    """Leave what refers to itself in memory until the end of the block, or that of another thread's."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
