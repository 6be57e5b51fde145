"""The version, and how certificates name what made them."""

from importlib.metadata import version

__version__ = version("stream-anon")
SOFTWARE = f"stream-anon {__version__}"
