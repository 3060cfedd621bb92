"""Techniques that the compiler may use to make a program fast; each can be left out, to see what it gives."""

from __future__ import annotations

from dataclasses import fields
from typing import Literal, get_args

from latticework.errors import UserError
from latticework.lazy_dataclass import dataclass

Rescaling = Literal["least-time", "waterline", "proactive"]
LEAST_TIME, WATERLINE, PROACTIVE = get_args(Rescaling)
RotationKeys = Literal["least-cost", "iterated", "powers-of-two"]
LEAST_COST, ITERATED, POWERS_OF_TWO = get_args(RotationKeys)


_RULES = {"rescaling": get_args(Rescaling), "rotation_keys": get_args(RotationKeys)}  # the default of each first


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Techniques:
    """Techniques that `lw.compile` may use. All by default; what a program computes does not depend on them.

    layout_search         layouts are searched; else every tensor lies in order, and operands are moved to where all
                          loops of an operation lie in order
    rolls                 layouts offered to the search may be rolled
    measured_costs      the search goes by predicted seconds; else by counts, as Rotom does: 4 for a rotation, 10 for
                          a product, 0.5 for an addition
    client_copies         a client may send a tensor with its elements repeated in slots that would be empty
    spread_sums           copies of a result may share out the sums of a linear map, and are added up by rotations
    baby_steps            diagonals of a linear map by baby steps and giant steps; else one rotation for each
    tuned_widths          how many baby steps follows from the cost table; else the power of two with which there are
                          the fewest steps
    horner_giants         giant steps may be taken one on top of the other, in Horner's form, where this takes fewer
                          keys; else each has its own
    shared_keys           strategies of linear maps are chosen for a whole program, so that they share keys with
                          each other and with bootstraps; else for each map by itself
    hoisting              rotations of one value share its decomposition, and sums of rotations one division
    complex_packing       linear maps of real values, and sums of their products, may use the imaginary halves of slots
    matrix_products       linear maps that multiply whole vectors with numbers are products of a matrix with them; else
                          each number is encoded as a vector
    merged_maps           runs of linear operations become fewer linear maps
    giant_products        of products of secret matrices one factor is rotated by baby steps, and sums by giant steps
    folded_recurrences    loops that are linear in what is encrypted become matrices, where that is quicker
    inverse_products      Newton's steps to an inverse are a product of powers, of half their levels
    hoisted_invariants    what is the same in every iteration of a loop that bootstraps is made once, public factors of
                          such values included
    reassociated          and so are products of such values that were factors one after the other; sums of products are
                          factored, and matrices multiplied before what loops carry
    shared_babies         linear maps of one value are carried out as one: they share its baby steps
    shared_giants         linear maps that are added up are carried out as one: they share giant steps
    shared_bootstraps     bootstraps of one kind are one block of a plan; else each is written out where it stands
    lazy_relinearization  sums of products are relinearised once;  lazy_rescaling  and rescaled once
    rescaling             when values come down to lower levels: "least-time", before they are computed with, where that
                          takes less by the cost table; "waterline", where they meet a lower one, as in EVA (PLDI'20);
                          "proactive", always before they are computed with, and products before they are added up,
                          which Hecate's rule (CGO'22) comes to where every prime of the chain is the scale
    rotation_keys         which keys rotations get: "least-cost", each its own, or "iterated" where keys have a price
                          and this is cheaper: baby steps of linear maps are made one of the other by one key, as in
                          ARK's Min-KS (MICRO'22); "powers-of-two", every rotation is made of rotations by signed powers
                          of two, as where few keys serve all programs, without hoisting
    """

    layout_search: bool = True
    rolls: bool = True
    measured_costs: bool = True
    client_copies: bool = True
    spread_sums: bool = True
    baby_steps: bool = True
    tuned_widths: bool = True
    horner_giants: bool = True
    shared_keys: bool = True
    hoisting: bool = True
    complex_packing: bool = True
    matrix_products: bool = True
    merged_maps: bool = True
    giant_products: bool = True
    folded_recurrences: bool = True
    inverse_products: bool = True
    hoisted_invariants: bool = True
    reassociated: bool = True
    shared_babies: bool = True
    shared_giants: bool = True
    shared_bootstraps: bool = True
    lazy_relinearization: bool = True
    lazy_rescaling: bool = True
    rescaling: Rescaling = LEAST_TIME
    rotation_keys: RotationKeys = LEAST_COST

    def __post_init__(self) -> None:
        """Only rules that there are."""
        for name, rules in _RULES.items():
            if (given := getattr(self, name)) not in rules:
                raise UserError(f"Techniques: {name}={given!r}; give one of {', '.join(rules)}")

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Those that can be left out."""
        return tuple(f.name for f in fields(cls) if isinstance(f.default, bool))

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of those that are not used."""
        return tuple(name for name in self.names() if not getattr(self, name))

    def __repr__(self) -> str:
        """Only what is left out, and an unusual rule: it is the default of an argument, which `help` shows."""
        changed = [f"{name}=False" for name in self.left_out]
        changed += [f"{name}={given!r}" for name, rules in _RULES.items() if (given := getattr(self, name)) != rules[0]]
        return f"Techniques({', '.join(changed)})"


ALL = Techniques()
UNPACKED = Techniques(complex_packing=False)  # where nothing is known of whether values are real
ALONE = Techniques(complex_packing=False, shared_bootstraps=False)  # the same of one operation by itself
