"""Locate nodes of an exported graph for the user: the line of the module's source, and the module's path."""

from __future__ import annotations

import linecache
import os
import re
from typing import Any

from latticework.ir.location import Loc

_FRAME = re.compile(r'^\s*File "(.+)", line (\d+), in ', re.MULTILINE)
_INSTALLED = tuple(os.sep + folder + os.sep for folder in ("site-packages", "dist-packages"))
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_PYTHON = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


class SourcePlaces:
    """Finds places.

    torch_folder  where PyTorch lies, whose lines are never the user's
    default       of nodes that no line of the user's made, as those of a bare nn.Sequential
    """

    def __init__(self, torch_folder: str, default: Loc) -> None:
        self._torch, self._default = torch_folder + os.sep, default

    def of(self, meta: dict[str, Any]) -> Loc:
        """The place of a node: file and line, and as text the path of the module and the line itself.

        The innermost line of the user's own files; without one, that of another package; else the default.
        """
        frames = [(file, int(line)) for file, line in _FRAME.findall(meta.get("stack_trace") or "")]
        foreign = [frame for frame in frames if not frame[0].startswith((self._torch, _PYTHON, _OURS, "<"))]
        own = [frame for frame in foreign if not any(folder in frame[0] for folder in _INSTALLED)]
        path = module_path(meta)
        if not foreign:
            return Loc(self._default.file, self._default.line, path or self._default.text)
        file, line = (own or foreign)[-1]
        source = linecache.getline(file, line).strip()
        return Loc(file, line, f"{path}: {source}" if path and source else path or source)


def module_path(meta: dict[str, Any]) -> str:
    """The innermost module that a node is of, as in `layer2.0.conv1`; "" for the outermost one."""
    stack = meta.get("nn_module_stack") or {}
    path = str(next(reversed(stack.values()))[0]) if stack else ""
    return path.removeprefix("L['self'].").removeprefix("L__self__").lstrip(".")
