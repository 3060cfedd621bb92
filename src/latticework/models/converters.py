"""Tables of the operators that an importer knows, from (operator, version) to their semantics."""

from __future__ import annotations

import inspect
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from latticework.errors.remedies import REMEDIES, Remedy
from latticework.lazy_dataclass import dataclass
from latticework.models.model_graph import ModelNode

Meaning = Callable[..., Any]  # on arrays and secrets alike: operands in order, options by name


@dataclass(frozen=True)
class Converter:
    """The semantics of an operator from a version on.

    meaning  a function of the node's arguments and options, which returns a value, or a tuple of as many as the node
             makes. Options that it does not take are refused
    note     of the table in the documentation: what is taken and what is not; "" where all is
    """

    operator: str
    meaning: Meaning
    since: int = 0
    note: str = ""

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the function `meaning`."""
        return inspect.signature(self.meaning)

    def misfit(self, node: ModelNode) -> str:
        """The reason why this does not take the arguments and options of a node; "" if it does."""
        try:
            self.signature.bind(*node.args, **node.options)
        except TypeError as error:
            return str(error)
        return ""


class Converters:
    """The operators of an importer.

    remedies  operators that are refused on purpose, and what to do instead
    """

    def __init__(self, converters: Sequence[Converter], remedies: Mapping[str, Remedy] | None = None) -> None:
        self._known: dict[str, list[Converter]] = {}
        for converter in sorted(converters, key=lambda c: c.since):
            self._known.setdefault(converter.operator, []).append(converter)
        self._remedies = dict(remedies or {})

    def __iter__(self) -> Iterator[Converter]:
        return (converter for of_one in self._known.values() for converter in of_one)

    def find(self, operator: str, version: int = 0) -> Converter | None:
        """The converter of an operator as of a version; None where there is none."""
        versions = self._known.get(operator, [])
        at = bisect_right([c.since for c in versions], version)
        return versions[at - 1] if at else None

    def remedy(self, operator: str, version: int = 0) -> Remedy:
        """The reason why an operator without a converter is refused, and what to do instead."""
        of = f" of version {version}" if version else ""
        instead = f"{REMEDIES['function'].outside}, or write the model as a program (lw.program)"
        return self._remedies.get(operator) or Remedy(f"no such operator is known{of}", instead)
