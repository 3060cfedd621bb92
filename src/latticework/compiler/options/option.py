"""Record of an option of `lw.compile`, kept in the field of the record that holds its value.

This module and the records load nothing of the compiler, so that commands read them without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from enum import Enum
from typing import Any

from latticework.lazy_dataclass import dataclass


class Kind(Enum):
    """A kind of program, and what it is called."""

    ARRAYS = "a program on arrays"
    CIRCUIT = "a circuit under CKKS"
    EXACT = "a circuit under BFV"
    HEIR = "a program of HEIR"
    SLOTS = "a query under BFV"

    @property
    def plural(self) -> str:
        """Several of them."""
        what, _, rest = self.value.removeprefix("a ").partition(" ")
        return f"{what.removesuffix('y')}ies {rest}" if what.endswith("y") else f"{what}s {rest}"


ALL = tuple(Kind)
APPROXIMATE = (Kind.ARRAYS, Kind.CIRCUIT, Kind.HEIR)
CIRCUITS = (Kind.CIRCUIT, Kind.EXACT)
WRITTEN = (Kind.ARRAYS, *CIRCUITS)
ARRAYS = (Kind.ARRAYS,)
EXACT = (Kind.EXACT,)
TRACED = tuple(kind for kind in Kind if kind is not Kind.SLOTS)


class CommandForm(Enum):
    """Form in which a command takes a value, where the type of the option does not say it."""

    OF_TYPE = "one word of the type of the option; a flag for True or False"
    PATH = "a file by name"
    ARRAYS = "a file with arrays by name"
    VALUES = "a file with arrays"
    NUMBER_OR_NAME = "a number, or a name"
    WHOLE_OR_NAME = "a whole number, or a name"
    WHOLES = "a whole number, or several between commas"


@dataclass(frozen=True)
class Option:
    """An option of `lw.compile`; its name, type and default are those of the field.

    doc          what it means, for the documentation of `lw.compile`
    kinds        programs that take it;  instead  what to do for others
    fits         whether a value is one, and `give` says what is; None: `option_checks.py` says so, or whoever uses it
    choices      all values that there are, where they can be listed
    help         what commands say of it with --help; "" where no command takes it, and `in_python` says why
    form         how commands take it;  commands  those that do
    flag_only    commands have no word for False
    """

    doc: str
    kinds: tuple[Kind, ...] = ALL
    instead: str = "leave it out"
    fits: Callable[[Any], bool] | None = None
    give: str = ""
    choices: tuple[str, ...] = ()
    help: str = ""
    form: CommandForm = CommandForm.OF_TYPE
    commands: tuple[str, ...] = ("compile",)
    flag_only: bool = False
    in_python: str = ""

    def refusal(self, value: Any) -> str:
        """Say what to give instead of a value that is not allowed; "" if it is."""
        if self.choices and not (isinstance(value, str) and value in self.choices):
            return self.give or f"one of {', '.join(map(repr, self.choices))}"
        return self.give if self.fits is not None and not self.fits(value) else ""


def option(default: Any, doc: str, kinds: tuple[Kind, ...] = ALL, instead: str = "leave it out", **facts: Any) -> Any:
    """A field of a record of options: its default, and the facts of an `Option`."""
    return field(default=default, metadata={"option": Option(doc, kinds, instead, **facts)})
