"""Stands in for rich where it is not installed: nothing is drawn, and what only imports it can be used."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

MODULES = ("rich", "rich.console", "rich.progress", "rich.table", "rich.markup", "rich.text")


class Missing(ModuleType):
    """A module of which every name is a class that is never made."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def stand_in() -> None:
    """For this process, before anything of latticework is imported."""
    if "rich" not in sys.modules and find_spec("rich") is None:
        sys.modules.update({name: Missing(name) for name in MODULES})
