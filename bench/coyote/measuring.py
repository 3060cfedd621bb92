"""A case compiled, run encrypted in turns with scalar code on the same parameters, and checked."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import latticework as lw
from bench.coyote.by_hand import ByHand
from bench.coyote.cases import Case
from bench.coyote.outcomes import Outcome
from bench.coyote.published import table2
from bench.coyote.scalar import ScalarCode
from latticework import bfv
from latticework.errors import DecryptionError, LevelError
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.schema.schema import Plan

RING_DEGREE, PLAIN_BITS = 8192, 20
SEED = 1  # of the inputs
Clock = Callable[[], float]
SHORT_SECONDS, MOST_RUNS = 0.2, 40  # short runs are repeated until they took so long together
IN_A_ROW, ROW_SECONDS = 5, 0.02  # runs of a side in each turn, as the paper's harness has iterations; fewer if long
MOST_ATTEMPTS = 4  # parameters for scalar code, each for one more product in a row
LONG_SECONDS = 2.0  # scalar code that takes longer runs once


@dataclass(frozen=True)
class How:
    """How cases are compiled and run.

    runs     of each side at least;  0: nothing is encrypted, and results are simulated
    threads  of both sides; 0: one per core
    """

    effort: str = "normal"
    algorithm: str = "search"
    seed: int = 0
    runs: int = 5
    threads: int = 0
    ring_degree: int | None = RING_DEGREE


def measure(case: Case, how: How) -> Outcome:
    """A case; what went wrong is part of the outcome."""
    found = Outcome(case)
    try:
        _measure(found, how)
    except Exception as error:  # one row must not take the others with it
        found.failure = f"{type(error).__name__}: {error}".splitlines()[0]
    finally:
        gc.collect()
    return found


def _measure(found: Outcome, how: How) -> None:
    model = compiled(found, how)
    case, plan = found.case, model.plan
    inputs = case.inputs(SEED)
    parameters = parameters_of(plan)
    expected = case.expected(inputs, parameters.plain_modulus)
    if not how.runs:
        found.is_right = flat(model.simulate(**inputs), parameters.plain_modulus) == expected
        return
    client = model.client(threads=how.threads)
    server = model.server(client.keygen().public(), threads=how.threads)
    scalar, singly = scalar_code(case, parameters, inputs, how)
    if scalar.parameters is not parameters:
        found.facts["scalar code's own parameters"] = repr(scalar.parameters)
    encrypted = client.encrypt(**inputs)
    sides: list[Callable[[], Any]] = [partial(server, encrypted), partial(scalar.run, singly)]
    hand = None
    if has_experts(case.name):
        hand = ByHand(case.name, parameters, how.threads)
        sides.append(partial(hand.run, hand.encrypt(inputs)))
    results, times = in_turns(sides, how.runs, IN_A_ROW, clock_of(how))
    found.vector, found.scalar = times[:2]
    found.was_encrypted = True
    vector_is_right = flat(client.decrypt(results[0]), parameters.plain_modulus) == expected
    found.is_right = vector_is_right and scalar.decrypt(results[1]) == case.expected(inputs, scalar.modulus)
    if how.ring_degree is not None and plan.chain.ring_degree > how.ring_degree:
        found.facts["scalar code in the smaller ring, ms"] = small_scalar(case, inputs, how)
    if hand is not None:
        found.by_hand, found.by_hand_rotations = times[2], hand.rotations
        found.is_right = found.is_right and hand.decrypt(results[2]) == expected


def scalar_code(case: Case, parameters: bfv.Parameters, inputs: Any, how: How) -> tuple[ScalarCode, Any]:
    """Scalar code on the vector code's parameters, or on the next that hold it, and its encrypted inputs.

    As it is written it may be deeper than what is compiled, and then takes more noise.
    raises  DecryptionError if no parameters do
    """
    depth = case.counts.depth
    for attempt in range(MOST_ATTEMPTS):
        code = ScalarCode(case, parameters, how.threads)
        encrypted = code.encrypt(inputs)
        if case.counts.depth <= 1:  # never deeper than what is compiled
            break
        try:
            code.decrypt(code.run(encrypted))
            break
        except DecryptionError:
            if attempt + 1 == MOST_ATTEMPTS:
                raise
        parameters = bfv.Parameters.choose(plain_bits=PLAIN_BITS, depth=depth + attempt)
    return code, encrypted


def small_scalar(case: Case, inputs: Any, how: How) -> float | None:
    """Milliseconds of scalar code at the ring degree that was asked for, where only vector code does not fit it."""
    try:
        parameters = bfv.Parameters.choose(how.ring_degree, plain_bits=PLAIN_BITS, depth=case.counts.depth)
    except LevelError:
        return None
    code = ScalarCode(case, parameters, how.threads)
    _, times = in_turns([partial(code.run, code.encrypt(inputs))], how.runs, IN_A_ROW, clock_of(how))
    return round(1e3 * times[0], 4)


def compiled(found: Outcome, how: How) -> lw.Model:
    """The model; its time and counts go to the outcome."""
    circuit = found.case.circuit

    def compile_for(ring_degree: int | None) -> lw.Model:
        return lw.compile(
            circuit, scheme="bfv", plain_bits=PLAIN_BITS, ring_degree=ring_degree, effort=how.effort,
            algorithm=how.algorithm, seed=how.seed,
        )  # fmt: skip

    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # results are compared modulo the plaintext modulus
        try:
            model = compile_for(how.ring_degree)
        except LevelError:  # too deep, masks included
            started = time.perf_counter()
            model = compile_for(None)
    found.compile_seconds = time.perf_counter() - started
    plan = model.plan
    cost = estimate(plan, CostModel.load())
    found.predicted = cost.warm_seconds
    found.ciphertexts = sum(i.pack.count for i in plan.client.secret_inputs)
    found.slots = sum(slots_of(i.pack) for i in plan.client.secret_inputs)
    found.counts, found.facts = counts_of(plan, cost.counts), {"parameters": repr(parameters_of(plan))}
    if plan.circuit is not None:
        found.facts |= {"method": plan.circuit.method, "ways, ms": {w.name: 1e3 * w.seconds for w in plan.circuit.ways}}
    return model


def counts_of(plan: Plan, executed: Any) -> dict[str, int]:
    """Operations of the vector code; of a circuit that became tensors, those that are executed."""
    vector = None if plan.circuit is None else plan.circuit.vector
    if vector is None:
        return {
            "adds": executed.additions,
            "muls": executed.ciphertext_products,
            "rotations": executed.rotations,
            "blends": 0,
            "masks": 0,
            "mul_constants": executed.plaintext_products,
            "add_constants": 0,
            "negs": 0,
        }
    return {name: int(getattr(vector, name)) for name in vector.__slots__ if name != "inputs"}


def slots_of(pack: Any) -> int:
    """Slots of a client's ciphertexts that hold something."""
    return int(np.count_nonzero(pack.element_of_slot() >= 0))


def parameters_of(plan: Plan) -> bfv.Parameters:
    """Those of the plan, for code that is not compiled."""
    return bfv.Parameters.of_chain(plan.chain)


def flat(results: Any, modulus: int) -> list[int]:
    """Decrypted or simulated results as integers nearest to zero."""
    found: list[int] = []
    for result in results if isinstance(results, (tuple, list)) else [results]:
        revealed = result.reveal() if hasattr(result, "reveal") else result
        found += [int(x) for x in np.ravel(np.asarray(revealed, object))]
    return [(x + modulus // 2) % modulus - modulus // 2 for x in found]


def has_experts(name: str) -> bool:
    """Whether there is code by hand."""
    kernel, _, replicated = name.rpartition(".")
    return kernel in table2() and replicated in ("un", "fully")


def clock_of(how: How) -> Clock:
    """Processor time of this thread if it does all the work, so that others may use the machine; else of the wall."""
    return time.thread_time if how.threads == 1 else time.perf_counter


def in_turns(
    sides: list[Callable[[], Any]], runs: int, in_a_row: int = 1, clock: Clock = time.perf_counter
) -> tuple[list[Any], list[float]]:
    """Last results and median seconds of the sides, which take turns after a first run each.

    The first runs do not count, except of a side after the first one that takes long, which then is its only run.

    in_a_row  runs of each side in a turn, at most, as long as they are short
    """
    results, times, rows = [], [], []
    for number, side in enumerate(sides):
        seconds, result = timed(side, 1, clock)
        results.append(result)
        times.append([seconds] if number and seconds > LONG_SECONDS else [])
        rows.append(max(1, min(in_a_row, int(ROW_SECONDS / max(seconds, 1e-9)))))
    short = [number for number, column in enumerate(times) if not column]

    def total() -> float:
        return sum(rows[i] * sum(times[i]) for i in short)

    while len(times[0]) < runs or (total() < SHORT_SECONDS and len(times[0]) < MOST_RUNS):
        for number in short:
            seconds, results[number] = timed(sides[number], rows[number], clock)
            times[number].append(seconds)
    return results, [median(column) for column in times]


def timed(action: Callable[[], Any], runs: int, clock: Clock) -> tuple[float, Any]:
    """Seconds of one of so many runs in a row, and the last result."""
    started = clock()
    for _ in range(runs):
        result = action()
    return (clock() - started) / runs, result
