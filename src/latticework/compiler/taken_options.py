"""Which options of `lw.compile` each kind of program takes: one table, checked before any work.

What a kind of program does not take is refused by name where it is not the default, and so is a value of another type.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from latticework.errors import UserError
from latticework.frontend import Circuit, Program
from latticework.interop.heir import HeirProgram
from latticework.model import Model
from latticework.owner import OwnerStages

MOST_MARGIN = 100  # times the range seen


class Kind(Enum):
    """A kind of program, and what it is called."""

    ARRAYS = "a program on arrays"
    CIRCUIT = "a circuit under CKKS"
    EXACT = "a circuit under BFV"
    HEIR = "a program of HEIR"

    @property
    def plural(self) -> str:
        """Several of them."""
        what, _, rest = self.value.removeprefix("a ").partition(" ")
        return f"{what}s {rest}"


ALL = tuple(Kind)
APPROXIMATE = (Kind.ARRAYS, Kind.CIRCUIT, Kind.HEIR)
CIRCUITS = (Kind.CIRCUIT, Kind.EXACT)
WRITTEN = (Kind.ARRAYS, *CIRCUITS)


@dataclass(frozen=True)
class CompileOption:
    """One option.

    kinds    programs that take it
    instead  what to do for others
    fits     whether a value is one; `give` says what is. None: whoever uses it says so
    """

    kinds: tuple[Kind, ...] = ALL
    instead: str = "leave it out"
    fits: Callable[[Any], bool] | None = None
    give: str = ""


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _none_or(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: value is None or isinstance(value, kinds)


def _is_margin(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not _is_flag(value)
    return is_number and bool(0 <= value <= MOST_MARGIN)


_FLAG = (_is_flag, "True or False")
_CALIBRATED = "functions are approximated on arrays alone: leave it out"
_EXACT = "results under CKKS are real numbers, and none wraps around: leave it out"
_LANES = "arrays have layouts and no lanes: leave it out"
_OWNER = "compute what comes before encryption and after decryption yourself: leave it out"
_MARGIN = (
    f"the part of the range seen by which functions are approximated beyond it on each side, from 0 to {MOST_MARGIN}, "
    "such as 0.5"
)
_BOOTSTRAPS = "it has no bootstraps: leave it out"

OPTIONS: dict[str, CompileOption] = {
    "scheme": CompileOption(),
    "example": CompileOption(APPROXIMATE, "declare shapes, and low= and high=, of inputs"),
    "weights": CompileOption(WRITTEN, "it was compiled by HEIR, with its weights in it: leave it out"),
    "calibrate": CompileOption(APPROXIMATE, "declare low= and high= of inputs"),
    "labels": CompileOption((Kind.ARRAYS,), _CALIBRATED),
    "precision_bits": CompileOption(APPROXIMATE, "its results are exact: leave it out"),
    "degree": CompileOption((Kind.ARRAYS,), _CALIBRATED),
    "agreement": CompileOption((Kind.ARRAYS,), _CALIBRATED),
    "tolerance": CompileOption((Kind.ARRAYS,), _CALIBRATED),
    "ring_degree": CompileOption(),
    "security_bits": CompileOption(),
    "insecure": CompileOption(ALL, "", *_FLAG),
    "cost_table": CompileOption(),
    "techniques": CompileOption(),
    "network": CompileOption(),
    "key_price": CompileOption(),
    "on_event": CompileOption(),
    "progress": CompileOption(),
    "plain_bits": CompileOption((Kind.EXACT,), _EXACT),
    "plain_modulus": CompileOption((Kind.EXACT,), _EXACT),
    "wraps": CompileOption((Kind.EXACT,), _EXACT, *_FLAG),
    "spare_levels": CompileOption(
        CIRCUITS, "results of programs on arrays are inputs of a later run by feed=, or encrypted anew: leave it out"
    ),
    "like": CompileOption(
        CIRCUITS, "parameters of programs on arrays follow from themselves, so clients of a new model make new keys: "
        "leave it out; or write it as a circuit", _none_or(Model), "the model of a compiled circuit",
    ),
    "feed": CompileOption(
        (Kind.ARRAYS,), "an input of a circuit that another one computes is declared by lanes=: leave it out"
    ),
    "feed_runs": CompileOption((Kind.ARRAYS,), "it says how often results are fed back by feed=: leave it out"),
    "owner": CompileOption((Kind.ARRAYS,), _OWNER, _none_or(OwnerStages), "latticework.owner.OwnerStages"),
    "scale_columns": CompileOption(
        (Kind.ARRAYS,), _OWNER, _none_or(bool, np.bool_), "True or False, or None to leave it to the program"
    ),
    "margin": CompileOption((Kind.ARRAYS,), _CALIBRATED, _is_margin, _MARGIN),
    "bootstrap": CompileOption((Kind.ARRAYS, Kind.HEIR), _BOOTSTRAPS),
    "bootstrap_set": CompileOption((Kind.ARRAYS, Kind.HEIR), _BOOTSTRAPS),
    "batch": CompileOption(WRITTEN, "it was compiled by HEIR, with its slots in it: leave it out"),
    "algorithm": CompileOption(CIRCUITS, _LANES),
    "effort": CompileOption(CIRCUITS, _LANES),
    "seed": CompileOption(CIRCUITS, _LANES),
}  # fmt: skip


def kind_of(program: Program | Circuit, scheme: str) -> Kind:
    """Of a program that is compiled for a scheme."""
    if isinstance(program, HeirProgram):
        return Kind.HEIR
    if isinstance(program, Circuit):
        return Kind.EXACT if scheme == "bfv" else Kind.CIRCUIT
    return Kind.ARRAYS


def check_taken(compile: Callable[..., Any], program: Program | Circuit, given: Mapping[str, Any]) -> None:
    """UserError for an option that this kind of program does not take, or that has a value of another type.

    compile  whose signature has the defaults
    given    options by name
    """
    kind = kind_of(program, given["scheme"])
    defaults = {name: each.default for name, each in inspect.signature(compile).parameters.items()}
    for name, option in OPTIONS.items():
        value = given[name]
        if _is_default(value, defaults[name]):
            continue
        if kind not in option.kinds:
            others = " and ".join(each.plural for each in option.kinds)
            raise UserError(
                f"compile: {name}= is for {others}; {program.name} is {kind.value}: {option.instead}", at=program.loc
            )
        if option.fits is not None and not option.fits(value):
            raise UserError(f"compile: {name}={_shown(value)}; give {option.give}", at=program.loc)


def _is_default(value: Any, default: Any) -> bool:
    """Whether nothing is said: the default itself, or no weights in another kind of list."""
    if value is None or isinstance(value, bool | int | float | str):
        return isinstance(value, bool) == isinstance(default, bool) and bool(value == default)
    return default == () and isinstance(value, Sized) and len(value) == 0


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
