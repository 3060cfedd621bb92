"""Why the C++ extension could not be loaded, and what to do; read where that happened.

An editable install rebuilds the extension when it is first imported (scikit-build-core), in its source tree, which may
be another user's, or without the tools that built it. A plain install only loads it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def explain(error: Exception) -> ImportError:
    """The error to raise for what loading the extension ended with."""
    if isinstance(error, ModuleNotFoundError) and str(error.name).endswith("._core"):
        return ImportError(_missing())
    return error if isinstance(error, ImportError) else ImportError(_not_rebuilt(error))


def _missing() -> str:
    here = Path(__file__).parents[1]
    return (
        f"latticework at {here} has no C++ extension for Python {sys.version_info.major}.{sys.version_info.minor}: it "
        f"is a source tree that was not built, or was built for another Python; install it with {sys.executable} -m pip"
    )


def _not_rebuilt(error: Exception) -> str:
    tree = Path(__file__).parents[3]
    what = f"latticework is installed editable from {tree}, where its C++ extension is rebuilt when it is imported"
    place = Path(os.fsdecode(error.filename)) if isinstance(error, OSError) and error.filename else None
    if place is not None and place.name == "cmake":
        return f"{what}; cmake is not in PATH: put the tools of this environment first, PATH={sys.prefix}/bin:$PATH"
    if place is not None:
        return (
            f"{what}; {place.parent} cannot be written by this user ({error}). Use a copy of the tree of your own, or "
            f"install it without --editable into an environment of your own: pip install {tree}"
        )
    return f"{what}; that failed for what is printed above ({error}). Mend it, or install the tree anew: tools/setup"
