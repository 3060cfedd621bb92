"""`version`: which one this is."""

from latticework import __version__


def version() -> None:
    """Print the version."""
    print(__version__)
