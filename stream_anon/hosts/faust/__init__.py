"""The service inside a Faust app: windows, engine, gate and certificates between two of its topics.

::

    import faust
    from stream_anon.hosts.faust import anonymizing_agent

    app = faust.App("anonymizer", broker="kafka://127.0.0.1:9092")
    anonymizing_agent(app, "settings.yaml")

Needs the extra `faust`. docs/guides/faust.md says what holds and what does not.
"""

try:
    import faust as _faust  # noqa: F401 - imported here to tell users who lack it what to install
except ModuleNotFoundError as error:
    if error.name != "faust":
        raise
    text = "stream_anon.hosts.faust needs faust-streaming: pip install '.[faust]' in a clone"
    raise ImportError(text) from None

from stream_anon.hosts.faust.agent import anonymizing_agent

__all__ = ["anonymizing_agent"]
