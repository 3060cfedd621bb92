"""The C++ extension, as `_core`; where it cannot be loaded, an ImportError says why and what to do.

An editable installation brings it up to date first and says itself where that cannot be done
(tools/rebuild_extension.py); a plain one only loads it.
"""

from __future__ import annotations

import sys
from pathlib import Path


def explain(error: ImportError) -> ImportError:
    """The error to raise for what loading the extension ended with."""
    if isinstance(error, ModuleNotFoundError) and str(error.name).endswith("._core"):
        return ImportError(_missing())
    return error


def _missing() -> str:
    here = Path(__file__).parents[1]
    return (
        f"latticework at {here} has no C++ extension for Python {sys.version_info.major}.{sys.version_info.minor}: it "
        f"is a source tree that was not built, or was built for another Python; install it with {sys.executable} -m pip"
    )


try:
    import latticework._core as _core  # noqa: PLR0402  (from latticework import _core would ask the package)
except ImportError as error:
    raise explain(error) from error

__all__ = ["_core"]
