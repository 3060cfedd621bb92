"""The public calls of `latticework.ckks` and `latticework.bfv`, found by looking: what their tests and docs agree on."""

from __future__ import annotations

import inspect
from types import ModuleType


def public_classes(module: ModuleType) -> dict[str, type]:
    """Name -> class, without errors."""
    found = {name: getattr(module, name) for name in module.__all__}
    return {n: c for n, c in found.items() if inspect.isclass(c) and not issubclass(c, Exception)}


def public_functions(module: ModuleType) -> dict[str, inspect.Signature]:
    """Name -> signature of the functions of a module."""
    found = {name: getattr(module, name) for name in module.__all__}
    return {name: inspect.signature(f) for name, f in found.items() if inspect.isfunction(f)}


def public_errors(module: ModuleType) -> set[str]:
    """Names of the errors of a module."""
    return {n for n in module.__all__ if inspect.isclass(getattr(module, n)) and n not in public_classes(module)}


def members(kind: type) -> dict[str, inspect.Signature | None]:
    """Public name -> signature of a class's methods and of its constructor, `Class()`; None for what is no call."""
    found: dict[str, inspect.Signature | None] = {"()": inspect.signature(kind)}
    for name, value in inspect.getmembers_static(kind):
        if name.startswith("_") or value.__class__.__name__ == "member_descriptor":
            continue
        held = getattr(kind, name)
        found[name] = inspect.signature(held) if callable(held) else None
    return found


def calls(module: ModuleType) -> set[str]:
    """Every public call: `function`, `Class`, `Class.method`."""
    found = set(public_functions(module))
    for name, kind in public_classes(module).items():
        found.add(name)
        found |= {f"{name}.{m}" for m, signature in members(kind).items() if signature is not None and m != "()"}
    return found
