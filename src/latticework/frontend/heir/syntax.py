"""Syntax tree of a text: types, operations, regions and functions, with names as in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cache
from typing import Any

from latticework.lazy_dataclass import dataclass

_SHAPED = re.compile(r"(tensor|memref|vector)<((?:(?:\d+|\?)x)*)([^,]*)(?:,.*)?>", re.DOTALL)


MOST_BITS = 1024  # of an integer


@dataclass(frozen=True)
class HeirType:
    """A type: what its elements are, and the shape if it is a tensor or memref.

    kind     "tensor", "memref", "vector" or "" for a single element;  shape  with -1 for an extent known at run time
    element  as written, aliases expanded: "f32", "index", "!openfhe.ciphertext"
    """

    kind: str
    shape: tuple[int, ...]
    element: str

    @classmethod
    def of(cls, text: str) -> HeirType:
        """Read a type from text without spaces."""
        found = _SHAPED.fullmatch(text)
        if found is None:
            return cls("", (), text)
        extents = [-1 if n == "?" else int(n) for n in found[2].split("x")[:-1]]
        return cls(found[1], tuple(extents), found[3])

    @property
    def is_number(self) -> bool:
        """Whether elements are numbers rather than ciphertexts, plaintexts or keys."""
        return re.fullmatch(r"index|[su]?i\d+|b?f\d+", self.element) is not None

    @property
    def is_encrypted(self) -> bool:
        """Whether elements are ciphertexts or plaintexts."""
        return self.element in ("!openfhe.ciphertext", "!openfhe.plaintext")

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers."""
        return self.is_number and "f" not in self.element


@cache
def integer_bits(element: str) -> int:
    """Return the width in bits of an integer element type.

    raises  ValueError for a type of something else, or of more bits than programs compute with
    """
    if not HeirType("", (), element).is_integer:
        raise ValueError(f"{element} is no type of integers")
    bits = 64 if element == "index" else int(element.lstrip("sui"))
    if not 0 < bits <= MOST_BITS:
        raise ValueError(f"integers of {bits} bits; at most {MOST_BITS} are read")
    return bits


def text_of(attributes: Mapping[str, Any], key: str, otherwise: str = "") -> str:
    """An attribute that is a text; of lists nothing is written out, which may hold each other many times over."""
    found = attributes.get(key)
    return found if isinstance(found, str) else otherwise


@dataclass
class HeirRegion:
    """Names of the arguments with their types, and operations, of which the last ends it."""

    arguments: list[str] = field(default_factory=list)
    types: list[HeirType] = field(default_factory=list)
    operations: list[HeirOperation] = field(default_factory=list)


@dataclass
class HeirOperation:
    """An operation in one form, however it was written.

    attributes  what evaluation needs: numbers, arrays, names; slices have "offsets", "sizes", "strides" of whole
                numbers and names of operands
    types       of the results;  takes  of the operands, where they are written
    span        where it begins and ends in the text, in characters
    shared      numbers of operands whose value something else may read (`shared_operands.py`)
    """

    name: str
    line: int
    results: list[str]
    operands: list[str]
    attributes: dict[str, Any]
    types: list[HeirType]
    regions: list[HeirRegion]
    shared: list[int] = field(default_factory=list)
    takes: list[HeirType] = field(default_factory=list)
    span: tuple[int, int] = (0, 0)

    def walk(self) -> Iterator[HeirOperation]:
        """Itself and all that are nested in it."""
        yield self
        for region in self.regions:
            for operation in region.operations:
                yield from operation.walk()


@dataclass
class HeirFunction:
    """A function; argument_attributes: the attributes of its arguments."""

    name: str
    line: int
    types: list[HeirType]
    returns: list[HeirType]
    attributes: dict[str, Any]
    argument_attributes: list[dict[str, Any]]
    body: HeirRegion

    def walk(self) -> Iterator[HeirOperation]:
        """All its operations."""
        for operation in self.body.operations:
            yield from operation.walk()


@dataclass
class HeirText:
    """A file: its functions by name, in order, and its lines.

    attributes  of the module;  size  of the text, in characters
    results  of functions that take nothing but contexts, once they are known: plaintexts
    """

    name: str
    functions: dict[str, HeirFunction]
    lines: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    results: dict[str, list[Any]] = field(default_factory=dict)
    size: int = 0
