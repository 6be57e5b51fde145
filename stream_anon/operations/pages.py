"""What reports as pages have in common: one file without a script, that asks for nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

_STYLE = """
:root { --ground: #f6f7f4; --card: #fff; --ink: #1b2420; --faint: #5a665f; --line: #d9ded8; --main: #1f6f54;
  --light: #9cc9b8; --bad: #a3211b; }
@media (prefers-color-scheme: dark) { :root { --ground: #121614; --card: #1b211e; --ink: #e6ece8; --faint: #9fada5;
  --line: #323b36; --main: #63c79f; --light: #2c5d4b; --bad: #ff8f88; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.25rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 0 0 .5rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem;
  margin: 1rem 0; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere;
  min-width: 7rem; }
table + h2 { margin-top: 1rem; }
th:last-child, td:last-child { padding-right: 0; } .bars td:last-child { width: 30%; min-width: 6rem; }
svg { display: block; width: 100%; height: .9rem; }
.track { fill: var(--line); } .before { fill: var(--light); } .after { fill: var(--main); }
.faint { color: var(--faint); } .bad { color: var(--bad); font-weight: 600; }
"""


def opened(title: str, heading: str) -> Iterator[str]:
    """Yield the lines of a page up to its heading, both of which are plain text."""
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>"
    yield f"<h1>{escape(heading)}</h1>"


def closed() -> Iterator[str]:
    """Yield the end of a page."""
    yield "</body>\n</html>"


def bar(told: str, parts: Sequence[tuple[str, float]]) -> str:
    """Return a bar whose parts lie over each other.

    Parameters
    ----------
    told
        What the bar says, for who cannot see it.
    parts
        The class of each, `before` or `after`, and its length from 0 to 1.
    """
    drawn = "".join(f'<rect class="{name}" width="{100 * share:.2f}" height="8"/>' for name, share in parts)
    track = '<rect class="track" width="100" height="8"/>'
    frame = f'<svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="{escape(told)}">'
    return f"{frame}{track}{drawn}</svg>"
