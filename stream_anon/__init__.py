"""k-anonymity where the data flows: Kafka in, k-anonymous Kafka out.

The engine is also a library::

    from stream_anon import Anonymizer, Policy

    anonymizer = Anonymizer(Policy.load("policy.yaml"))
    for release in anonymizer.add(records):
        ...
    for release in anonymizer.close():
        ...

and for a whole frame of pandas, Polars, DuckDB or pyarrow::

    from stream_anon import Policy, anonymize_frame

    released = anonymize_frame(frame, Policy.load("policy.yaml"))
"""

from typing import TYPE_CHECKING, Any

from stream_anon.version import __version__

__all__ = ["Anonymizer", "Policy", "__version__", "anonymize_frame"]

if TYPE_CHECKING:
    from stream_anon.library import Anonymizer, Policy, anonymize_frame


def __getattr__(name: str) -> Any:
    # The library pulls in the kernels; `stream-anon --help` need not wait for them.
    if name in ("Anonymizer", "Policy", "anonymize_frame"):
        from stream_anon import library

        return getattr(library, name)
    raise AttributeError(name)
