"""The tool that tries mutants: what it changes, and that it tells killed mutants from survivors."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.data import ROOT
from tools.mutation import __main__ as main_module
from tools.mutation.__main__ import ROOMS, TESTS, explained
from tools.mutation.mutants import codes_of, mutants_of
from tools.mutation.patching import put


def _changes(source: str) -> set[str]:
    mutants = mutants_of(Path("m.py"), dedent(source))
    return {mutant.name.partition(": ")[2] for mutant in mutants}


@pytest.mark.parametrize(
    ("expression", "changes"),
    [
        ("a < b", {"a < b -> a <= b", "a < b -> a >= b"}),
        ("a + b", {"a + b -> a - b", "a + b -> a", "a + b -> b"}),
        ("a - b", {"a - b -> a + b", "a - b -> a"}),
        ("a & b", {"a & b -> a | b", "a & b -> a", "a & b -> b"}),
        ("a and b", {"a and b -> a or b", "a and b -> a", "a and b -> b"}),
        ("not a", {"not a -> a"}),
        ("a[2]", {"a[2] -> a[3]", "a[2] -> a[1]"}),
        (
            "np.minimum(a, b)",
            {"np.minimum(a, b) -> np.maximum(a, b)", "np.minimum(a, b) -> a", "np.minimum(a, b) -> b"},
        ),
        ("max(a, *b)", {"max(a, *b) -> min(a, *b)", "max(a, *b) -> a"}),
        ("a.max()", {"a.max() -> a.min()"}),
        ("[*a, b]", {"[*a, b] -> [b]", "[*a, b] -> [*a]"}),
        ("set(a)", {"set(a) -> tuple(a)"}),
        ("np.unique(a)", {"np.unique(a) -> np.sort(a)"}),
        ("np.unique(a, axis=c)", set()),
        ("sorted(a, key=b)", {"sorted(a, key=b) -> list(a)"}),
        ("np.argsort(a)", {"np.argsort(a) -> np.arange(len(a))"}),
        ("np.lexsort(a)", {"np.lexsort(a) -> np.arange(len(a[0]))"}),
        ("[x for x in a if b]", {"for x in a if b -> for x in a"}),
        ("a if b else c", {"b -> True", "b -> False"}),
        ("f'{a + b} text'", set()),
    ],
)
def test_an_expression_is_changed_in_each_of_these_ways(expression: str, changes: set[str]) -> None:
    changed = _changes(f"def f(a, b, c):\n    return {expression}\n")
    assert {" ".join(change.split()) for change in changed} == changes


def test_statements_are_taken_out_and_texts_defaults_and_annotations_are_left() -> None:
    source = """
        LIMIT = 1
        class C:
            size: int = 1
            def f(self, a: int = 1) -> "Literal[1]":
                "A text."
                a.sort()
                self.b = a
                if LIMIT:
                    raise ValueError(1)
        """
    assert _changes(source) == {
        "a.sort() -> nothing",
        "self.b = a -> nothing",
        "LIMIT -> True",
        "LIMIT -> False",
    }


def test_records_and_people_and_the_two_ends_of_an_interval_are_mixed_up_where_both_are_at_hand() -> None:
    source = """
        def f(records_of, people_of, low):
            return records_of(low.first, low.last)
        """
    assert _changes(source) == {
        "records_of(low.first, low.last) -> people_of(low.first, low.last)",
        "records_of(low.first, low.last) -> records_of(low.last, low.last)",
        "records_of(low.first, low.last) -> records_of(low.first, low.first)",
    }


def test_a_loop_goes_round_once_and_forgets_what_it_found_but_not_what_only_it_knows() -> None:
    source = """
        def f(a, b):
            while a:
                b = a(b)
                own = b
                b.field, a = own
            for c in b:
                break
            b = a
        """
    assert _changes(source) == {"while a: pass -> while a: break", "b = a(b) -> nothing", "break -> continue"}


def test_equal_changes_of_one_function_have_different_names() -> None:
    source = "def f(a):\n    return a(1), a(1)\n"
    names = [mutant.name for mutant in mutants_of(Path("m.py"), source)]
    assert len(names) == len(set(names)) == 4
    assert names[2].endswith(" #2")


def test_a_mutant_names_the_lines_of_its_statement_and_the_heads_of_those_around_it() -> None:
    source = dedent(
        """\
        def f(a):
            if (
                a > 1
            ):
                return [
                    a,
                    a + 2,
                ]
            if a:
                a.sort()
        """
    )
    lines = {mutant.name.partition(": ")[2]: sorted(mutant.lines) for mutant in mutants_of(Path("m.py"), source)}
    assert lines["a + 2 -> a - 2"] == [5, 6, 7, 8]
    assert lines["a > 1 -> a >= 1"] == lines["a > 1 -> True"] == [2, 3, 4]
    assert lines["a.sort() -> nothing"] == [10]


def test_a_mutant_takes_the_place_of_functions_methods_properties_and_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
        from stream_anon.compiled import bare_kernel
        def f(): return 1
        class C:
            def m(self): return 1
            @property
            def p(self): return 1
            @classmethod
            def c(cls): return 1
        @bare_kernel
        def k(a): a[0] = 1
        @bare_kernel
        def calling(a): k(a)
        @bare_kernel
        def calling_it(a): calling(a)
        """
    path = tmp_path / "stream_anon_mutated.py"
    path.write_text(dedent(source))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(path.stem)
    codes = codes_of(compile(dedent(source).replace("1", "2"), str(path), "exec"))
    for name in ("f", "C.m", "C.p", "C.c", "k"):
        put(module, name, codes[name])
    assert (module.f(), module.C().m(), module.C().p, module.C.c()) == (2, 2, 2, 2)
    for kernel in (module.k, module.calling, module.calling_it):
        column = [0]
        kernel(column)
        assert column == [2]
    with pytest.raises(LookupError):
        put(module, "C.absent", codes["f"])


@pytest.mark.soak
def test_a_mutant_is_killed_by_a_test_that_calls_it_and_else_survives(tmp_path: Path) -> None:
    files = {
        "sample.py": """
            def seen(a):
                return a + 1
            def unseen(a):
                return a + 1
            def alone(a):
                return a + 1
            def partly(a):
                if a:
                    return a + 2
                while a < 1:
                    a += 1
                return a
            """,
        "test_sample.py": """
            from sample import partly, seen, unseen
            def test_seen(): assert seen(1) == 2
            def test_unseen(): assert unseen(1)
            def test_partly(): assert partly(0) == 1
            """,
        "run.py": f"""
            import sys
            sys.path[:0] = [{str(ROOT)!r}, "."]
            import pytest
            from pathlib import Path
            from tools.mutation.mutants import mutants_of
            from tools.mutation.trial import Trial
            trial = Trial(mutants_of(Path("sample.py")), lambda mutant, fate: None)
            pytest.main(["-p", "no:cacheprovider", "-p", "no:cloudcoil", "test_sample.py"], plugins=[trial])
            for name, fate in trial.fates.items():
                print("FATE", name, "=", fate)
            """,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(dedent(text))
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    fates = dict(line[5:].split(" = ") for line in done.stdout.splitlines() if line.startswith("FATE"))
    of = {change.partition("::")[2]: fate for change, fate in fates.items()}
    assert of["seen: a + 1 -> a - 1"] == "killed"
    assert of["unseen: a + 1 -> a + 2"] == "survived"
    assert {fate for change, fate in of.items() if change.startswith("alone")} == {"not run"}
    # A line that no test runs, beside one that makes the loop endless.
    assert of["partly: a + 2 -> a - 2"] == "not run"
    assert of["partly: a += 1 -> nothing"] == of["partly: a < 1 -> a >= 1"] == "killed"


def test_only_the_survivors_of_an_earlier_run_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(
        main_module.Trial, "__init__", lambda _, mutants, *__: tried.extend(m.name for m in mutants)
    )
    monkeypatch.setattr(main_module.pytest, "main", lambda *_, **__: 0)
    monkeypatch.setattr(main_module.Trial, "fates", {}, raising=False)
    monkeypatch.setattr(main_module, "_report", lambda *_: 0)
    monkeypatch.chdir(ROOT)
    log = tmp_path / "log"
    name = "stream_anon/audit/scope.py::AuditScope.holds: closed >= self.since -> closed > self.since"
    log.write_text(f"survived     29  {name}\n")
    main_module.main(["stream_anon/audit/scope.py", "--again", str(log)])
    assert tried == [name]


def test_the_page_explains_mutants_by_name() -> None:
    page = "text `a`\n\n### Why\n- `x.py::f: a -> b`\n  - `y.py::g: c -> d #2`\n- `code` and words\n"
    assert explained(page) == {"x.py::f: a -> b", "y.py::g: c -> d #2"}


@pytest.mark.soak
def test_every_explained_mutant_can_still_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs/project/mutation.md").read_text(encoding="utf-8")
    paths = {name.partition("::")[0] for name in explained(page)}
    made = {mutant.name for path in paths for mutant in mutants_of(Path(path))}
    assert explained(page) <= made


def test_the_files_that_are_mutated_and_the_tests_that_judge_them_exist() -> None:
    assert all((ROOT / path).exists() for path in (*ROOMS, *TESTS))
