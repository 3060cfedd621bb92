"""Structures of arrays: nested tuples, lists and dictionaries, as loops carry them.

A list of Python's own numbers, however nested, is one array, as it is for NumPy; any other list is a structure.
Paths name leaves as a user would write them: carried['w'][1].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from latticework.errors import TraceError

_NUMBERS = (int, float, bool)  # of Python: those of NumPy may be secret arrays when the program is traced


def leaves_of(structure: Any, path: str) -> Iterator[tuple[str, Any]]:
    """(path, leaf) of every array of a structure, in the order in which it is written."""
    children = _children(structure)
    if children is None:
        yield path, structure
        return
    for key, child in children:
        yield from leaves_of(child, f"{path}[{key!r}]")


def rebuild(structure: Any, leaves: Iterator[Any]) -> Any:
    """A structure like this one with other leaves, in the order of `leaves_of`."""
    children = _children(structure)
    if children is None:
        return next(leaves)
    parts = [rebuild(child, leaves) for _, child in children]
    if isinstance(structure, Mapping):
        return dict(zip(structure, parts, strict=True))
    return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)


def leaves_like(structure: Any, given: Any, path: str, where: str) -> Iterator[Any]:
    """The leaves of `given`, which must have the structure of `structure`, in its order.

    path    how messages name it;  where  what gave it, such as "for_loop: body returns"
    raises  TraceError naming the part that differs
    """
    children = _children(structure)
    if children is None:
        if _children(given) is not None:
            raise _structure_error(path, structure, given, where)
        yield given
        return
    if _kind(structure) is not _kind(given):
        raise _structure_error(path, structure, given, where)
    if isinstance(structure, Mapping):
        unknown, missing = (
            [key for key in given if key not in structure],
            [key for key in structure if key not in given],
        )
        if unknown or missing:
            parts = ", ".join(
                [f"without {path}[{key!r}]" for key in missing] + [f"with a new {path}[{key!r}]" for key in unknown]
            )
            raise TraceError(f"{where} {parts}; what is carried keeps its structure: return the keys of init")
    elif len(given) != len(structure):
        raise _structure_error(path, structure, given, where)
    for key, child in children:
        yield from leaves_like(child, given[key], f"{path}[{key!r}]", where)


def _children(structure: Any) -> list[tuple[Any, Any]] | None:
    """(key, part) of a structure; None for an array."""
    if isinstance(structure, Mapping):
        return list(structure.items())
    if isinstance(structure, tuple) or (isinstance(structure, list) and not _is_array(structure)):
        return list(enumerate(structure))
    return None


def _is_array(given: Any) -> bool:
    """Whether NumPy would make this list one array, whatever is traced."""
    return all(type(item) in _NUMBERS or (isinstance(item, list) and _is_array(item)) for item in given)


def _kind(given: Any) -> type | None:
    return next((kind for kind in (tuple, list, Mapping) if isinstance(given, kind)), None)


def _structure_error(path: str, before: Any, after: Any, where: str) -> TraceError:
    return TraceError(
        f"{where} {path} as {_describe(after)}, but it starts as {_describe(before)}; "
        "what is carried keeps its structure"
    )


def _describe(given: Any) -> str:
    if isinstance(given, Mapping):
        return f"a dictionary of {', '.join(map(repr, given)) or 'nothing'}"
    if _children(given) is not None:
        return f"a {'tuple' if isinstance(given, tuple) else 'list'} of {len(given)}"
    return "None" if given is None else "one array"
