"""Keys placed in a text of HEIR for a budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

from latticework.errors import BudgetError, UserError
from latticework.frontend.heir.evaluate_text import check_operations
from latticework.frontend.heir.heir_program import CIPHERTEXT, find_program, find_reachable, read_text
from latticework.frontend.heir.keys.bootstrap_rotations import bootstrap_indices
from latticework.frontend.heir.keys.check_keys import KeyCounts, check_keys
from latticework.frontend.heir.keys.key_live_ranges import KeyLives, ask_ahead, find_lives
from latticework.frontend.heir.keys.key_rules import barred_lives, mixed_lives, rules_of
from latticework.frontend.heir.keys.trace import BOOTSTRAP, KeyTracer, RotationUse, run_without_slots
from latticework.frontend.heir.keys.write import write_keys
from latticework.frontend.heir.parse import parse
from latticework.frontend.heir.reading_cost import carrying_out
from latticework.frontend.heir.syntax import HeirFunction, HeirOperation, HeirText, text_of
from latticework.lazy_dataclass import dataclass
from latticework.values.inputs.reading_budget import DEFAULTS, ReadingLimits, reading, told_as_damage

SETUP = "openfhe.setup_bootstrap"


@dataclass(frozen=True)
class KeyedText:
    """A text with keys.

    counts   what a run does with them;  budget  keys in memory at most;  keys  different ones
    program  the name of the function
    """

    text: str
    program: str
    counts: KeyCounts
    budget: int
    keys: int


def place_keys(
    path: str | PathLike[str],
    *,
    budget: int | None = None,
    ahead: int = 2,
    function: str | None = None,
    ring_degree: int | None = None,
    boot_levels: tuple[int, int] | None = None,
    boot_keys: tuple[int, ...] | None = None,
    limits: ReadingLimits = DEFAULTS,
) -> KeyedText:
    """Place loads of rotation keys in what `heir-opt --scheme-to-openfhe` prints, as few as the budget allows.

    budget       keys in memory at once, those on the way included; None: all that there are
    ahead        uses of keys before its own at which a key is asked for at the earliest; 0: it is not asked for ahead
    function     which program, if the file has several
    ring_degree  of the scheme, for bootstraps; what the text says if not given
    boot_levels  the level budgets of CoeffsToSlots and SlotsToCoeffs; what the text says if not given
    boot_keys    indices within a bootstrap; by the rules of OpenFHE 1.4, which later ones have changed, if not given
    limits       of what the text may have us do, which is not trusted
    raises       UserError naming file and line for what is not read; BudgetError for less than one operation takes
    """
    for what, number in (("budget", budget), ("ahead", ahead)):
        if number is not None and number < 0:
            raise UserError(f"{what}={number}; give 0 or more")
    source, name = read_text(path, limits)
    with told_as_damage(name), reading(limits, len(source)):
        text = parse(source, name)
    with carrying_out(text, limits):
        return _place_keys(source, text, budget, ahead, function, ring_degree, boot_levels, boot_keys)


def _place_keys(
    source: str, text: HeirText, budget: int | None, ahead: int, function: str | None, ring_degree: int | None,
    boot_levels: tuple[int, int] | None, boot_keys: tuple[int, ...] | None,
) -> KeyedText:  # fmt: skip
    main = _find_main(text, function)
    functions = find_reachable(text, [main])
    check_operations(text, functions)
    placed = next((op for f in functions for op in f.walk() if op.name.startswith("key_mgmt.")), None)
    if placed is not None:
        raise UserError(f"{text.name}:{placed.line}: {placed.name}: keys are placed already; give the text before")
    boots = [op for f in functions for op in f.walk() if op.name == BOOTSTRAP]
    inner = () if boot_keys is None else boot_keys
    if boots and boot_keys is None:
        inner = _inner_indices(text, boots[0], ring_degree, boot_levels)
    tracer = KeyTracer(text, inner)
    run_without_slots(tracer, main)
    uses = tracer.uses
    keys = len({key for use in uses for key in use.keys})
    capacity = keys if budget is None else budget
    for use in uses:
        if len(use.keys) > capacity:
            op = use.site.operation
            raise BudgetError(
                f"{text.name}:{op.line}: {op.name} takes {len(use.keys)} keys at once, the budget is {capacity}; "
                f"give at least {max(len(one.keys) for one in uses)}"
            )
    lives = _lives(uses, capacity)
    whole = tracer.repeated_calls(capacity)
    if whole:
        by_call = KeyTracer(text, inner, whole)
        run_without_slots(by_call, main)
        other = _lives(by_call.uses, capacity)
        if other.loads < lives.loads:
            uses, lives = by_call.uses, other
    ask_ahead(lives, capacity, ahead)
    first = lives.requests.get(-1, [])
    made = write_keys(source, main, rules_of(uses, lives), first) if uses else source
    again = parse(made, text.name)
    counts = check_keys(again, again.functions[main.name], inner, capacity)
    assert counts.loads == lives.loads
    return KeyedText(made, main.name, counts, capacity, keys)


def _find_main(text: HeirText, name: str | None) -> HeirFunction:
    """The program: the function asked for, the one that client functions name, or the only one that is not called."""
    if name is not None and name in text.functions:
        return text.functions[name]
    called = {
        text_of(op.attributes, "callee") for f in text.functions.values() for op in f.walk() if op.name == "func.call"
    }
    is_evaluated = (f for f in text.functions.values() if "heir.interface" not in f.attributes and f.name not in called)
    found = [f for f in is_evaluated if any(kind.element == CIPHERTEXT for kind in f.types)]
    if name is None and len(found) > 1:
        raise UserError(f"{text.name}: several programs ({', '.join(f.name for f in found)}); say which by function=")
    return found[0] if name is None and found else find_program(text, name)


def _lives(uses: Sequence[RotationUse], capacity: int) -> KeyLives:
    return find_lives([use.keys for use in uses], capacity, barred_lives(uses), mixed_lives(uses))


def _inner_indices(
    text: HeirText, boot: HeirOperation, ring_degree: int | None, levels: tuple[int, int] | None
) -> tuple[int, ...]:
    """Return the key indices within a bootstrap, by what the text says of its ring and its set-up."""
    where = f"{text.name}:{boot.line}: {boot.name}"
    if ring_degree is None:
        stated: Any = next((op.attributes.get("ringDim") for op in _all(text, "openfhe.gen_params")), 0)
        slots: Any = text.attributes.get("scheme.actual_slot_count", 0)
        ring_degree = int(stated or 2 * slots)
    if levels is None:
        found = next(iter(_all(text, SETUP)), None)
        if found is None:
            raise UserError(
                f"{where}: the text has no {SETUP}, which says how; give boot_levels=3,3, as it will be set up"
            )
        levels = int(found.attributes["levelBudgetEncode"]), int(found.attributes["levelBudgetDecode"])
    if ring_degree < 4 or ring_degree & (ring_degree - 1):
        raise UserError(f"{where}: a ring degree of {ring_degree}; give ring_degree=, a power of two")
    slots = ring_degree // 2
    if not all(1 <= n <= slots.bit_length() - 1 for n in levels):
        raise UserError(f"{where}: level budgets {levels[0]} and {levels[1]}; each is 1 to {slots.bit_length() - 1}")
    return bootstrap_indices(slots, slots, *levels)


def _all(text: HeirText, name: str) -> Iterator[HeirOperation]:
    return (op for function in text.functions.values() for op in function.walk() if op.name == name)
