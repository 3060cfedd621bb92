"""Types: immutable and interned, so that two equal types are one object and ``is`` compares them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from latticework.errors import IrError, RangeError
from latticework.ir.attributes import print_attribute

T = TypeVar("T", bound="type[Type]")

_types: dict[str, type[Type]] = {}
_CONVERT: dict[str, Callable[[Any], Any]] = {"int": operator.index, "float": float, "bool": bool, "str": str}


@dataclass_transform(frozen_default=True)
class TypeClass(type):
    """Metaclass of types: the annotated names of a class become its slots and its constructor's arguments."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> TypeClass:
        """Turn annotations into slots."""
        declared = {
            key: str(kind)
            for key, kind in namespace.get("__annotations__", {}).items()
            if not str(kind).startswith("ClassVar")
        }
        defaults = {key: namespace.pop(key) for key in declared if key in namespace}
        namespace["__slots__"] = tuple(declared) or tuple(namespace.get("__slots__", ()))
        cls = super().__new__(mcs, name, bases, namespace)
        cls.fields = namespace["__slots__"]  # type: ignore[attr-defined]
        cls._defaults = defaults  # type: ignore[attr-defined]
        cls._convert = tuple(_CONVERT.get(declared.get(key, "")) for key in namespace["__slots__"])  # type: ignore[attr-defined]
        cls._interned = {}  # type: ignore[attr-defined]
        return cls


class Type(metaclass=TypeClass):
    """Base of all types.  A subclass annotates its fields and is registered under its name in text.

    Fields annotated int, float, bool or str are converted, so that equal types have one text form.
    """

    name: ClassVar[str] = ""
    fields: ClassVar[tuple[str, ...]]
    _defaults: ClassVar[dict[str, Any]]
    _convert: ClassVar[tuple[Callable[[Any], Any] | None, ...]]
    _interned: ClassVar[dict[tuple[Any, ...], Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """The one object of these fields."""
        if kwargs or len(args) != len(cls.fields):
            args = cls._bind(args, kwargs)
        known: Self | None = cls._interned.get(args)
        return cls._intern(args) if known is None else known

    @classmethod
    def _bind(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        by_field = dict(zip(cls.fields, args, strict=False))
        unknown = [key for key in kwargs if key not in cls.fields or key in by_field]
        missing = [key for key in cls.fields if key not in by_field and key not in kwargs and key not in cls._defaults]
        if len(args) > len(cls.fields) or unknown or missing:
            raise TypeError(
                f"{cls.__name__}: takes {', '.join(cls.fields)}; unknown or twice {unknown}, missing {missing}"
            )
        values = {**cls._defaults, **by_field, **kwargs}
        return tuple(values[key] for key in cls.fields)

    @classmethod
    def _intern(cls, args: tuple[Any, ...]) -> Self:
        args = tuple(
            value if convert is None else convert(value) for convert, value in zip(cls._convert, args, strict=True)
        )
        new = object.__new__(cls)
        for key, value in zip(cls.fields, args, strict=True):
            object.__setattr__(new, key, value)
        new.check()
        result: Self = cls._interned.setdefault(args, new)
        return result

    def check(self) -> None:
        """Raise a UserError if the fields contradict each other; called once for each distinct type."""

    def accept(self, value: Any) -> NDArray[Any]:
        """`value` as the array that stands for a value of this type when a module is interpreted."""
        return np.asarray(value)

    def replace(self, **changes: Any) -> Self:
        """The same type with some fields changed."""
        values = [changes.pop(key) if key in changes else getattr(self, key) for key in self.fields]
        if changes:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(changes))}")
        return type(self)(*values)

    def attribute_text(self) -> str:
        """The text of the type: ``!name<field = value, ...>``."""
        body = ", ".join(f"{key} = {print_attribute(getattr(self, key))}" for key in self.fields)
        return f"!{self.name}<{body}>"

    def short_name(self) -> str:
        """A name by which readers of a text know the type, of letters, digits and underscores."""
        return self.name.rpartition(".")[2]

    def __setattr__(self, key: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; use replace({key}=...)")

    def __delattr__(self, key: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, key) for key in self.fields)

    def __repr__(self) -> str:
        return self.attribute_text()


def register_type(name: str) -> Callable[[T], T]:
    """Class decorator: make a subclass of `Type` known in text as ``!name<...>``."""

    def register(cls: T) -> T:
        assert name not in _types, f"type !{name} is already {_types[name].__name__}"
        _types[name] = cls
        cls.name = name
        return cls

    return register


def type_class(name: str) -> type[Type]:
    """The class registered as ``!name``; IrError if there is none."""
    try:
        return _types[name]
    except KeyError:
        raise IrError(f"no type is called !{name}; import the dialect that registers it") from None


@register_type("index")
class IndexType(Type):
    """A public 64-bit integer: a trip count, a loop variable, a subscript."""

    secret: ClassVar[bool] = False

    def accept(self, value: Any) -> NDArray[Any]:
        """A zero-dimensional int64 array."""
        try:
            return np.array(operator.index(value), dtype=np.int64)
        except (TypeError, OverflowError):
            raise RangeError(f"an index must be a 64-bit integer, got {value!r}") from None

    def attribute_text(self) -> str:
        """``index``, as in MLIR."""
        return "index"


INDEX = IndexType()
