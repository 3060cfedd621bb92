"""Decorator `dataclass` with the meaning of the standard library's; methods are written when they are first looked up.

The standard library writes and compiles up to six methods of every record when its module is imported: 0.3 ms for a
frozen one, half of what it took to load the compiler, which has more than five hundred records and uses few of their
methods in one process. Here they come from the standard library too, but later, from the
fields of the finished class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # to type checkers it is that decorator
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        repr: bool = True,
        eq: bool = True,
        frozen: bool = False,
        slots: bool = False,
        kw_only: bool = False,
        order: bool = False,
    ) -> Any:
        """Make a class a dataclass; for options that are not here take the decorator of the standard library."""

        def decorate(cls: type) -> type:
            own = set(vars(cls))
            has_hash = "__hash__" in own and not (cls.__hash__ is None and "__eq__" in own)
            made = _take_fields(cls, frozen=frozen, slots=slots, kw_only=kw_only)
            _write_later(made, {"__init__"} - own, {"init": True, "frozen": frozen})
            if repr:
                _write_later(made, {"__repr__"} - own, {"repr": True})
            if eq:
                names = {"__eq__"} - own | ({"__hash__"} if frozen and not has_hash else set())
                _write_later(made, names, {"eq": True, "unsafe_hash": "__hash__" in names})
                if not frozen and not has_hash:
                    made.__hash__ = None
            if order:
                _write_later(made, {"__lt__", "__le__", "__gt__", "__ge__"}, {"eq": True, "order": True})
            return made

        return decorate if cls is None else decorate(cls)


def _take_fields(cls: type, *, frozen: bool, slots: bool, kw_only: bool) -> Any:
    """The class with fields and slots, and with no method but those that forbid assignment."""
    # Under a frozen class the standard library wants to be told of it, and writes those two: few classes are.
    under_frozen = frozen and any(_is_frozen(base) for base in cls.__mro__[1:])
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # the standard library would write its signature, and look up the constructor
    parts = {"init": False, "repr": False, "eq": False}
    made: Any = dataclasses.dataclass(**parts, frozen=under_frozen, slots=slots, kw_only=kw_only)(cls)
    if frozen and not under_frozen:
        _forbid_assignment(made)
    if frozen and slots and "__getstate__" not in vars(made):
        made.__getstate__, made.__setstate__ = _get_state, _set_state
    return made


def _is_frozen(cls: Any) -> bool:
    return "__dataclass_params__" in vars(cls) and cls.__dataclass_params__.frozen


def _forbid_assignment(made: Any) -> None:
    """Let a class refuse all names, and classes below it those of its fields, as in the standard library."""
    names = frozenset(field.name for field in dataclasses.fields(made))

    def refuse_setting(self: Any, name: str, value: Any) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def refuse_deletion(self: Any, name: str) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    made.__setattr__, made.__delattr__ = refuse_setting, refuse_deletion
    made.__dataclass_params__.frozen = True


def _get_state(self: Any) -> list[Any]:
    """The values of a record, for pickles and copies: slots of a frozen class cannot be set one by one."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


class _WrittenLater:
    """A method that is not written yet: looking it up puts the real one in its place."""

    def __init__(self, write: Callable[[], None], home: type, name: str) -> None:
        self._write, self._home, self._name = write, home, name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The real method, bound to an instance if there is one."""
        self._write()
        return vars(self._home)[self._name].__get__(instance, owner)


def _write_later(made: Any, names: set[str], parts: dict[str, bool]) -> None:
    """Let a class get methods by name when one is looked up; parts  the options by which they are written."""

    def write() -> None:
        fields = {field.name: field for field in dataclasses.fields(made)}
        namespace: dict[str, Any] = {
            **fields,
            "__annotations__": {name: field.type for name, field in fields.items()},
            "__module__": made.__module__,  # where annotations are looked up
            "__qualname__": made.__qualname__,
            "__doc__": made.__doc__,
            **({"__post_init__": made.__post_init__} if hasattr(made, "__post_init__") else {}),
        }
        options = {"init": False, "repr": False, "eq": False, **parts}
        written = vars(dataclasses.dataclass(**options)(type(made.__name__, (), namespace)))
        for name in names:
            setattr(made, name, written[name])

    for name in names:
        setattr(made, name, _WrittenLater(write, made, name))
