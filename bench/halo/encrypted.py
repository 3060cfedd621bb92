"""One program run encrypted, in a process of its own: what is told as soon as it is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.compiling import peak_bytes
from bench.halo.cases import Case, CompiledCase, Size, compiled_case
from bench.halo.published import shown_size
from bench.halo.scores import Quality, outputs_of
from bench.memory import available_bytes, constant_bytes, server_bytes
from bench.usage import Usage, usage
from latticework.errors import UserError
from latticework.plan.analysis.estimate import CostEstimate
from latticework.plan.cost import CostModel
from latticework.runtime.events import Event
from latticework.runtime.exchange.encrypted import Encrypted

CALL = "call"  # of the block of a bootstrap
MEMORY_SHARE = 0.85  # of what the machine has left, that a run may take
SPARE_SHARE = 0.9  # of the time left, that a run is expected to take at most
TRIALS = range(1, 13)  # iterations of a first run, of which the fewest that encode all constants are taken


@dataclass(frozen=True)
class Conditions:
    """How a row is run.

    threads        1: time is that of the processor, so others may use the machine
    cost_table     of `latticework measure`; that of the package if None
    limit_seconds  of a row, from the start of its process
    """

    threads: int = 1
    cost_table: Path | None = None
    limit_seconds: float = 900.0

    @property
    def costs(self) -> CostModel:
        """Prices on so many threads."""
        return CostModel.load(self.cost_table).on(self.threads)

    def seconds(self, taken: Usage) -> float:
        """Of a run, as it is compared with what was predicted."""
        return taken.user_seconds + taken.system_seconds if self.threads == 1 else taken.seconds


@dataclass(frozen=True)
class CompileFigures:
    """seconds  of processor time by stage;  key_bytes  stored;  constant_bytes  of all that are encoded."""

    seconds: dict[str, float]
    plan_bytes: int
    key_bytes: int
    constant_bytes: int


@dataclass(frozen=True)
class RunFigures:
    """A run, and what of it was predicted.

    size       iterations that were run, of those asked for;  why_fewer  if they are not the same
    is_first   the only run, which encoded constants and got memory;  first  seconds of the first run, as predicted too
    targets    bootstraps by level above the floor
    share      of the time, that bootstraps took; predicted_share  as was predicted
    """

    size: Size
    why_fewer: str | None
    bootstraps: int
    targets: dict[int, int]
    is_first: bool
    predicted: float
    measured: float
    wall: float
    first: tuple[float, float]
    share: float
    predicted_share: float
    quality: Quality
    setup_seconds: dict[str, float]
    peak_bytes: int
    note: str | None


class BootstrapClock:
    """Listens to a run: bootstraps done, and the seconds of their calls; a call within one is part of it."""

    def __init__(self) -> None:
        self.bootstraps = 0
        self._calls: list[tuple[float, float]] = []

    def __call__(self, event: Event) -> None:
        """One instruction, told when it is done, so after what it calls."""
        self.bootstraps = event.bootstraps
        if event.op != CALL:
            return
        while self._calls and self._calls[-1][0] >= event.start:
            self._calls.pop()
        self._calls.append((event.start, event.end))

    @property
    def seconds(self) -> float:
        """Of all calls."""
        return sum(end - start for start, end in self._calls)


class Deployed:
    """A program with a client's keys, its inputs encrypted."""

    def __init__(self, made: CompiledCase, conditions: Conditions, cost: CostEstimate) -> None:
        clock = [time.perf_counter()]
        self.made, self.conditions = made, conditions
        self.client = made.model.client(threads=conditions.threads)
        keys = self.client.keygen()
        clock.append(time.perf_counter())
        self.memory = server_bytes(cost, constant_bytes(cost, MEMORY_SHARE))
        self.server = made.model.server(keys.public(), memory=self.memory, threads=conditions.threads)
        self.sent = self.client.encrypt_part(**made.case.inputs)
        clock.append(time.perf_counter())
        self.setup_seconds = {"keys": clock[1] - clock[0], "encrypt": clock[2] - clock[1]}

    def run(self, size: Size) -> tuple[Encrypted, Usage, BootstrapClock]:
        """Run, numbers of iterations given to the server alone."""
        clock, integers = BootstrapClock(), self.made.case.trips(size) if self.made.case.run_time else {}
        started = usage()
        found = self.server(self.sent, on_event=clock, **integers)
        return found, usage() - started, clock

    def decrypted(self, result: Encrypted) -> tuple[list[npt.NDArray[np.float64]], list[float]]:
        """Outputs, and their error bounds."""
        found = self.client.decrypt(result)
        parts = found if isinstance(found, tuple) else (found,)
        return outputs_of(tuple(part.reveal() for part in parts)), [part.error_bound for part in parts]


def run_encrypted(case: Case, conditions: Conditions) -> Iterator[CompileFigures | RunFigures]:
    """Compile, make keys, encrypt, run, decrypt: of two runs the later one tells more.

    raises  UserError, also where the run would not fit memory, or not one iteration the time
    """
    started = time.monotonic()
    made = compiled_case(case)
    costs = conditions.costs
    cost = made.cost(costs)
    yield CompileFigures(made.seconds, made.plan_bytes, cost.bytes.keys_stored, cost.bytes.constants)
    _check_room(cost)
    deployed = Deployed(made, conditions, cost)

    def left() -> float:
        return conditions.limit_seconds - (time.monotonic() - started)

    way = _at_run_time if case.run_time else _known
    yield from way(deployed, costs, left)


def _known(deployed: Deployed, costs: CostModel, left: Callable[[], float]) -> Iterator[RunFigures]:
    """All iterations; again with constants encoded, where there is time for it."""
    made = deployed.made
    size, cost = made.case.size, made.cost(costs)
    if cost.first_seconds > left():
        raise UserError(
            f"not run: {cost.first_seconds:.0f} s are predicted, {left():.0f} are left; allow more by --limit"
        )
    result, taken, clock = deployed.run(size)
    first = cost.first_seconds, deployed.conditions.seconds(taken)
    yield _figures(deployed, cost, size, None, first, True, first[0], result, taken, clock)
    if taken.seconds < SPARE_SHARE * left():
        yield _figures(deployed, cost, size, None, first, False, cost.warm_seconds, *deployed.run(size))


def _at_run_time(deployed: Deployed, costs: CostModel, left: Callable[[], float]) -> Iterator[RunFigures]:
    """A few iterations first, which tells how many of those asked for there is time for."""
    made = deployed.made
    wanted = made.case.size
    few = fewest_like(wanted, lambda size: made.cost(costs, size).encode_seconds)
    cost = made.cost(costs, few)
    if cost.first_seconds > left():
        raise UserError(
            f"not run: {cost.first_seconds:.0f} s are predicted for a run of {shown_size(few)}, {left():.0f} are left"
        )
    result, taken, clock = deployed.run(few)
    first = cost.first_seconds, deployed.conditions.seconds(taken)
    slower = max(taken.seconds / cost.first_seconds, 0.1)
    there = SPARE_SHARE * left()

    encoded = cost.encode_seconds

    def predicted(size: Size) -> float:
        """With the constants that the first run had no need of."""
        whole = made.cost(costs, size)
        return whole.warm_seconds + max(whole.encode_seconds - encoded, 0.0)

    size = most_within(wanted, lambda size: slower * predicted(size), there)
    whole = slower * predicted(wanted)
    reason = None if size == wanted else f"{shown_size(wanted)} would take {whole:.0f} s, of {there:.0f} that are left"
    yield _figures(deployed, cost, few, reason, first, True, first[0], result, taken, clock)
    if size is not None:
        cost = made.cost(costs, size)
        yield _figures(deployed, cost, size, reason, first, False, predicted(size), *deployed.run(size))


def _figures(
    deployed: Deployed, cost: CostEstimate, size: Size, why_fewer: str | None, first: tuple[float, float],
    is_first: bool, predicted: float, result: Encrypted, taken: Usage, clock: BootstrapClock,
) -> RunFigures:  # fmt: skip
    made = deployed.made
    found, bounds = deployed.decrypted(result)
    note = None
    if cost.memory.constants > deployed.memory:
        whole, there = cost.memory.constants / 2**30, deployed.memory / 2**30
        note = f"encodes constants in every run: they take {whole:.1f} GiB, and there are {there:.1f}"
    return RunFigures(
        size=size, why_fewer=why_fewer, bootstraps=clock.bootstraps, targets=made.targets(cost), is_first=is_first,
        predicted=predicted, measured=deployed.conditions.seconds(taken), wall=taken.seconds, first=first,
        share=clock.seconds / taken.seconds, predicted_share=made.share(cost),
        quality=made.quality(size, found, bounds), setup_seconds=deployed.setup_seconds, peak_bytes=peak_bytes(),
        note=note,
    )  # fmt: skip


def fewest_like(wanted: Size, encoding: Callable[[Size], float]) -> Size:
    """Iterations of the outer loop after which as many constants are encoded as after all, or nearly."""
    sizes = [(number, *wanted[1:]) for number in TRIALS if number < wanted[0]] + [wanted]
    encoded = {size: encoding(size) for size in sizes}
    most = max((encoded[size] for size in sizes[:-1]), default=0.0)
    return next(size for size in sizes if encoded[size] >= min(encoded[wanted], most))


def most_within(wanted: Size, seconds: Callable[[Size], float], limit_seconds: float) -> Size | None:
    """The most iterations of the outer loop, up to those wanted, that take no longer; None if not even one does."""
    for number in range(wanted[0], 0, -1):
        size = (number, *wanted[1:])
        if seconds(size) <= limit_seconds:
            return size
    return None


def _check_room(cost: CostEstimate) -> None:
    needed, there = cost.memory.values + cost.memory.keys, available_bytes()
    if needed > MEMORY_SHARE * there:
        raise UserError(
            f"not run: ciphertexts and keys need {needed / 2**30:.1f} GiB, of {there / 2**30:.1f} GiB that the machine "
            "has left"
        )
