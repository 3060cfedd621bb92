"""Errors for a program that spends more levels than a ring holds: which lines, what fits, and what to do."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from latticework.compiler.accuracy.levels import find_longest_path, least_costs
from latticework.compiler.levels.critical_path import LoopSpending, Spent, loops_by_levels, spent_by_line
from latticework.compiler.options.compile_options import CompileOptions
from latticework.errors.remedies import REMEDIES
from latticework.ir import Loc, Module
from latticework.ir.lines import loop_around
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import MAX_RING_LOG2, Need, TooDeepError, levels_held, ring_that_holds, select_chain

SHOWN_LINES = 3
SHOWN_TEXT = 24  # characters of a line
EXPECTED_NOISE_BITS = 12  # by which scales exceed the precision, where no plan has been measured


def find_too_deep(name: str, at: Loc, module: Module, options: CompileOptions) -> TooDeepError | None:
    """The error for a program on arrays that no ring allowed holds without bootstraps, before anything is laid out.

    module  with polynomials in the place of functions
    returns None where the levels that are plain to see, fewer than plans spend as a rule, fit
    """
    wanted, ring = options.parameters, options.ring_degree
    if wanted.insecure and ring is not None:
        return None
    path = find_longest_path(module, partial(least_costs, module, {}))
    need = Need(path.levels + options.expert.spare_levels, 1, 0, 0)  # at the least scale that there is
    if need.depth <= levels_held(need, ring or 1 << MAX_RING_LOG2, wanted.security_bits):
        return None
    try:
        select_chain(need, ring_degree=ring, security_bits=wanted.security_bits)
        return None
    except TooDeepError as error:
        need = error.need
    lines = spent_by_line(path.ops)
    copies = {op: op.attrs.get("static_trip") or op.attrs.get("at_most") or 0 for op in module.walk() if op.regions}
    return too_deep(
        SpentLevels(need, lines, loops_by_levels(module, copies, lines), is_bound=True), name, at,
        precision_bits=options.precision_bits, ring_degree=ring, security_bits=wanted.security_bits,
    )  # fmt: skip


@dataclass(frozen=True)
class SpentLevels:
    """The levels of a program that no ring has room for.

    need   of a ring;  lines  that spend the levels;  loops  that do, and become copies
    is_bound  plans may need more
    """

    need: Need
    lines: list[Spent]
    loops: list[LoopSpending]
    is_bound: bool = False


def too_deep(
    spent: SpentLevels,
    name: str,
    at: Loc,
    *,
    precision_bits: float,
    ring_degree: int | None,
    security_bits: int,
) -> TooDeepError:
    """The error for the user, at the loop or the line that spends most.

    at  the program's own line, where no line spends levels
    """
    need, lines = spent.need, spent.lines
    need = replace(need, scale_bits=max(need.scale_bits, round(precision_bits) + EXPECTED_NOISE_BITS))
    ring = ring_degree or 1 << MAX_RING_LOG2
    held = min(levels_held(need, ring, security_bits), need.depth - 1)
    where = f"ring_degree={ring_degree}" if ring_degree else f"the largest ring, N=2^{MAX_RING_LOG2},"
    others = () if ring_degree else (ring >> 1, ring >> 2)
    smaller = "".join(f", N=2^{n.bit_length() - 1} {levels_held(need, n, security_bits)}" for n in others)
    loop = _loop(spent.loops, lines, need.depth, held)
    message = (
        f"{name} spends {'at least ' * spent.is_bound}{need.depth} level{'s one after another' * (need.depth > 1)}; "
        f"{where} holds {f'about {held}' if held else 'none'} at precision_bits={precision_bits:g} and "
        f"{security_bits}-bit security"
        f"{smaller}. Spent by {list_lines(lines)}{loop.said}"
    )
    remedies = list(loop.remedies)
    larger = ring_that_holds(need, security_bits)
    if ring_degree is not None and larger is not None and larger > ring_degree:
        remedies.insert(0, f"leave ring_degree out, or give {larger}")
    less = precision_bits - (need.scale_bits - _scale_that_fits(need, ring, security_bits))
    if 1 <= less < precision_bits:
        remedies.append(f"ask for precision_bits={less:g}")
    if any(s.polynomials for s in lines):
        remedies.append("approximate functions by lower degrees")
    if held:
        remedies.append(REMEDIES["depth"].program)
    advice = ", or ".join(remedies) or "use a smaller security_bits"
    error = TooDeepError(f"{message}: {advice}", at=loop.at or (lines[0].loc if lines else at))
    error.need = spent.need
    return error


def list_lines(lines: list[Spent]) -> str:
    """The lines that spend most, each with its part."""
    shown = [f"line {s.loc.line} ({_text(s.loc)}) {s.levels}" for s in lines[:SHOWN_LINES]]
    rest = sum(s.levels for s in lines[SHOWN_LINES:])
    return ", ".join(shown) + (f", others {rest}" if rest else "")


def _text(loc: Loc) -> str:
    return loc.text if len(loc.text) <= SHOWN_TEXT else loc.text[: SHOWN_TEXT - 3] + "..."


@dataclass(frozen=True)
class SpendingLoop:
    """The loop that spends most of the levels: its line, what to say of it, and what would help."""

    at: Loc | None = None
    said: str = ""
    remedies: tuple[str, ...] = ()


def _loop(loops: list[LoopSpending], lines: list[Spent], depth: int, held: int) -> SpendingLoop:
    """Return how many iterations of lw.for_loop fit; of unrolled Python loops, how many operations of a line."""
    if loops and 2 * loops[0].levels >= depth:
        loop = loops[0]
        fits = max(0, (held - (depth - loop.levels)) * loop.iterations // loop.levels)
        message = f"; about {fits} of the {loop.iterations} iterations of the loop in line {loop.loc.line} fit"
        return SpendingLoop(loop.loc, message, (f"make at most {fits}",) if fits else ())
    return unrolled_loop(lines, depth, held)


def unrolled_loop(lines: list[Spent], depth: int, held: int) -> SpendingLoop:
    """Python's loop around the line that spends most, if there is one, and how many operations of the line fit."""
    around = loop_around(lines[0].loc) if lines and lines[0].operations > 1 else None
    if around is None:
        return SpendingLoop()
    first = lines[0]
    levels = sum(s.levels for s in lines if loop_around(s.loc) is around)
    fits = max(0, (held - (depth - levels)) * first.operations // levels)
    message = (
        f"; about {fits} of the {first.operations} operations of line {first.loc.line}, in the loop of line "
        f"{around.line}, fit"
    )
    return SpendingLoop(around, message, ("make fewer iterations",))


def _scale_that_fits(need: Need, ring_degree: int, security_bits: int) -> int:
    """The largest scale at which a ring holds the levels of a need; 0 if there is none."""
    for bits in range(need.scale_bits, 0, -1):
        if levels_held(replace(need, scale_bits=bits), ring_degree, security_bits) >= need.depth:
            return bits
    return 0
