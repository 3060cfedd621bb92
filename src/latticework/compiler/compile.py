"""lw.compile: from a program and data to a model."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from latticework.accuracy import FunctionsTooDeepError, LevelRoom, with_pools
from latticework.approx.channel_samples import MARGIN
from latticework.assessment import Assessment
from latticework.compiler.bootstrap_options import (
    AUTO,
    NEVER,
    check_bootstrap,
    chosen_set,
    obstacle,
    with_remedy,
)
from latticework.compiler.bootstrapping import SPARE_BITS, BootstrapSearch, quickest
from latticework.compiler.circuits.compile import check_lane_options, compile_bfv, compile_ckks
from latticework.compiler.circuits.options import CircuitOptions
from latticework.compiler.collecting import collect_seldom
from latticework.compiler.conditions import warn_of_gaps
from latticework.compiler.degree_options import asked_degrees
from latticework.compiler.feeding import find_fed, later_samples
from latticework.compiler.leaving import warn_of_leaving
from latticework.compiler.owner_stages import (
    find_scalings,
    rescaled,
    scaled_samples,
    stages_of,
    through_stages,
    with_stages,
)
from latticework.compiler.packed import compile_packed
from latticework.compiler.pipeline import OnEvent, to_polynomials, to_tensors, to_vectors
from latticework.compiler.precision import PrecisionSearch
from latticework.compiler.rows import least_rows, planned_for_rows, rows_of
from latticework.compiler.stages import Vectors
from latticework.compiler.taken_options import check_taken
from latticework.cost import CostModel
from latticework.errors import ApproximationWarning, LevelError, PrecisionError, TraceError, UserError
from latticework.frontend import Circuit, Program
from latticework.frontend.annotations import Secret
from latticework.frontend.batching import batch_of
from latticework.frontend.owned import check_traced
from latticework.frontend.samples import assume_samples, repeated_rows, rows_given, samples_of
from latticework.frontend.tracing import user_line
from latticework.interop.heir import HeirProgram
from latticework.layout_cost import NETWORKS
from latticework.model import Model, Reference
from latticework.owner import OwnerStages
from latticework.params import (
    MAX_RING_LOG2,
    BootstrapSet,
    Need,
    bootstrapping_rings,
    levels_held,
    modulus_limit_bits,
    most_levels_left,
    security_levels,
)
from latticework.plan.schema import Plan
from latticework.progress import shows_progress
from latticework.techniques import ALL, Techniques
from latticework.user.columns import take_columns
from latticework.words.figures import write_value

MAX_PRECISION_BITS = 40
MAX_SPARE = 64
SCHEMES = ("ckks", "bfv")


@shows_progress
@collect_seldom()
def compile(
    program: Program | Circuit,
    *,
    scheme: str = "ckks",
    example: Any = None,
    weights: Any = (),
    calibrate: Any = None,
    labels: Any = None,
    precision_bits: float = 12,
    degree: int | Sequence[int] | None = None,
    agreement: float | None = None,
    tolerance: float | None = None,
    ring_degree: int | None = None,
    security_bits: int = 128,
    insecure: bool = False,
    cost_table: Path | str | None = None,
    techniques: Techniques = ALL,
    network: str | float = "lan",
    key_price: float = 0.0,
    on_event: OnEvent | None = None,
    progress: bool = True,
    plain_bits: int = 20,
    plain_modulus: int | None = None,
    wraps: bool = False,
    spare_levels: int = 0,
    like: Model | None = None,
    feed: Mapping[str, str] | None = None,
    feed_runs: int = 1,
    owner: OwnerStages | None = None,
    scale_columns: bool | None = None,
    margin: float = MARGIN,
    bootstrap: str = "auto",
    bootstrap_set: BootstrapSet | str | None = None,
    batch: int | str | None = None,
    algorithm: str = "search",
    effort: str = "normal",
    seed: int = 0,
) -> Model:
    """Compile a program or a circuit to run on encrypted inputs.

    scheme          "ckks": real numbers, approximately; "bfv": integers, exactly, of circuits only
    example         inputs, for shapes that are not annotated; also calibration data if there are no others
    weights         arrays for the parameters without annotation, in order or by name
    calibrate       data like what will be encrypted: an array (samples, ...), a tuple, or a dictionary by name; for an
                    input of shape (B, ...) also rows, from which batches of B are made, repeated if they are fewer.
                    Functions are approximated on the ranges seen, and inputs far outside are refused. Columns of frames
                    are taken by the names that the program brings (of an estimator fitted on a frame), else their own
                    names become those that frames are encrypted by. Without data
                    inputs are taken to lie in [-1, 1], and functions need their own range=
    labels          one a row of `calibrate`, to score the first output by, before and after functions are approximated:
                    integers are classes, whose score is the accuracy (the place of the largest number in the last axis;
                    of one number a row whether it exceeds 1/2, or 0 where results of the program itself leave [0, 1]);
                    floats are what the output should be, and the score is R^2. Scores are in the report and
                    `model.scores`
    precision_bits  on inputs like those of calibration every output is within 2^-precision_bits of the program itself,
                    relative to the largest output in calibration: errors of functions and of encryption together.
                    Functions get polynomials of the degrees that this takes; if none of up to 1023 does, or if no ring
                    has the levels, compiling says what degrees give. A degree that the program gives by degree= is
                    taken as it is, with an ApproximationWarning that says what it loses, where it loses more
    degree          of every function to which the program gives none, as if it did; signs keep their gaps. A list has
                    one for each of these functions, in the order of the program
    agreement       share of decisions, as 0.995, that are to stay what the program itself decides, on every fourth
                    sample, which is held back from calibration: a degree for each function, at the least levels and
                    products. Decisions are what the owner of an imported classifier makes of results, or else the place
                    of the largest number in the last axis of the first output. `precision_bits` then is of noise alone
    tolerance       largest error that functions may make in the first output, in its own unit, on all samples that are
                    held back: degrees are chosen as for agreement=
    ring_degree     N, a power of two; the smallest that fits if not given
    insecure        allow a ring_degree that is too small for security_bits; every report says so
    cost_table      a file of `latticework measure` to predict times and choose by; the table of the package if not
                    given, so that results do not depend on the machine
    techniques      what the compiler may use; leaving some out shows what they give, and changes no result
    network         between client and server: "lan" (1 Gbit/s), "wan" (100 Mbit/s) or bits per second; where it is slow
                    inputs and outputs take fewer ciphertexts, if need be for more work
    key_price       seconds of a run that one gigabyte less of stored keys is worth: linear maps are carried out with
                    fewer keys where that takes less than this; see docs/keys.md
    on_event        called after every pass
    progress        after two seconds, tell on a terminal or in a notebook how far it is; nowhere else
    plain_bits      of the plaintext modulus t of BFV: integers are exact between -t/2 and t/2 and wrap around beyond;
                    plain_modulus  t itself
    wraps           results modulo t are meant: no RangeWarning where they may be larger, and they are certain
    spare_levels    products in a row that other circuits may go on with, on this one's results
    like            a model whose parameters are to be used, so that results of one are inputs of the other
    margin          part of the range of a function's argument in calibration by which the range that it is approximated
                    on goes further on each side. More makes it rarer that new inputs leave it, for higher degrees;
                    clients accept no more for it
    bootstrap       "auto": values are refreshed on the way where a program spends more levels than a ring holds, or
                    where that is predicted to be quicker; "never"
    bootstrap_set   the bootstrapping set to compile for, whatever others would take, by name ("A14": see
                    docs/bootstrapping.md) or one of your own. Those whose names begin with T are for tests, and take
                    insecure=True
    batch           rows that one run computes side by side in the slots: a number (rounded up to a power of two), or
                    "fill" for as many as fit. A row is one whole input of the program as declared; where the program
                    has an axis of rows of its own, a run takes so many times as many. `encrypt` takes any number of
                    rows; a run takes as long as that of one row, with the same instructions and as many keys, which the
                    rows share. For programs without bootstraps
    feed            {input: output}: what `server.inputs(w=result)` gives to the next run without decryption, so the
                    output lies where the input does, at its level and scale; "result" is the only output
    feed_runs       runs one after the other that calibration follows from each of its samples, every one fed with the
                    results of the one before: the ranges of inputs and functions hold what is found, and results of so
                    many runs have an error bound
    owner           what the owner computes before encryption and after decryption, in place of what an imported model
                    brings: steps of latticework.owner; `calibrate` and `example` are then what the owner has
    scale_columns   the client brings each column (element of the last axis) of an input to [-1, 1] by its own range in
                    calibration, and the program undoes that; accepted ranges are then of single columns. None: inputs
                    of imported models whose columns differ, where there are as many rows as columns. It is free where
                    linear operations come first
    algorithm       by which operations of a circuit get their lanes: "search", "annealing" (as Coyote does) or
                    "scalar" (one operation at a time); "tensors": as operations on arrays, which "search" takes too
                    where they are cheaper;  effort  "fast", "normal" or "max";  seed  of its random choices
    raises          UserError and its kinds, naming the line of the program, before any key is made
    warns           ApproximationWarning, RangeWarning, EffortWarning
    """
    options = dict(locals())
    if not isinstance(program, Program | Circuit):
        raise TraceError(
            f"compile: {program!r} is not a program; decorate the function with @lw.program, or with @lw.circuit"
        )
    _check_options(precision_bits, ring_degree, security_bits, insecure, techniques)
    _check_scheme(program, scheme)
    check_taken(compile, program, options)
    asked = asked_degrees(degree, agreement, tolerance, calibrate)
    check_bootstrap(bootstrap, bootstrap_set)
    check_lane_options(algorithm, effort, seed)
    wanted_rows = rows_of(batch, bootstrap_set)
    bits_a_second = _bits_a_second(network)
    costs = CostModel.load(cost_table).with_key_price(_key_price(key_price))
    order = _given_names(program, owner)
    calibrate, columns = take_columns(_known_columns(program, owner), order, calibrate, "calibrate")
    example, columns = take_columns(columns, order, example, "example", is_one_run=True)
    if isinstance(program, Circuit):
        asked_of = CircuitOptions(
            weights, calibrate if calibrate is not None else example, float(precision_bits), ring_degree,
            security_bits, insecure, costs, techniques, bits_a_second, on_event, algorithm, effort, int(seed),
            plain_bits, plain_modulus, _whole("spare_levels", spare_levels), like, bool(wraps),
            wanted_rows,
        )  # fmt: skip
        with user_line(program.loc):
            model = compile_bfv(program, asked_of) if scheme == "bfv" else compile_ckks(program, asked_of)
        model.plan = replace(model.plan, client=model.plan.client.with_columns(columns))
        return model
    bootstrap = bootstrap if wanted_rows is None else NEVER
    chosen = chosen_set(bootstrap_set, ring_degree, security_bits, insecure)
    if isinstance(program, HeirProgram):
        packed, plan = compile_packed(
            program, calibrate if calibrate is not None else example, precision_bits=float(precision_bits),
            ring_degree=ring_degree, security_bits=security_bits, insecure=insecure, costs=costs,
            techniques=techniques, bits_a_second=bits_a_second, on_event=on_event, bootstrap=bootstrap, chosen=chosen,
        )  # fmt: skip
        reference = Reference(packed.vectors.placed, packed.vectors.positions)
        plan = replace(plan, client=plan.client.with_columns(columns))
        return Model(plan, reference, costs, allow_insecure=insecure)
    stages, changes, operator_at = stages_of(program, owner), program.changes, program.operator_at
    example, calibrate = (through_stages(program, stages, data) for data in (example, calibrate))
    module = to_tensors(program, weights, example)
    check_traced(program, stages, module)
    fed = find_fed(program, module, feed)
    data = calibrate if calibrate is not None else example
    axis = batch_of(module)
    samples = assume_samples(module) if data is None else samples_of(program, module, data, axis)
    if data is not None and (scalings := find_scalings(program, module, samples, fed, scale_columns)):
        shapes = {p.name: p.kind.shape for p in program.inputs if isinstance(p.kind, Secret)}
        for each in scalings:
            stages = stages.followed_by(each.name, shapes[each.name] or samples[0][each.name].shape, each.step)
        program, samples = rescaled(program, scalings), scaled_samples(samples, scalings)
        module = to_tensors(program, weights, example)
    num_given, program_itself = len(samples), module
    samples += later_samples(program, module, samples, fed, _whole("feed_runs", feed_runs))
    largest = Need(0, 1, ceil(precision_bits), 2), ring_degree or 1 << MAX_RING_LOG2, security_bits
    is_refreshed = chosen is not None or (bootstrap == AUTO and obstacle(ring_degree, security_bits) is None)
    plain = levels_held(*largest)
    room = None
    if is_refreshed and chosen is None:
        rings = [ring_degree] if ring_degree is not None else bootstrapping_rings()
        room = LevelRoom(None, plain, max(most_levels_left(precision_bits + SPARE_BITS, ring) for ring in rings))
    elif not is_refreshed and not (insecure and ring_degree is not None):
        room = LevelRoom(plain, plain)
    with user_line(program.loc):
        try:
            traced = to_polynomials(
                module, samples, precision_bits=float(precision_bits), room=room, labels=_labels(labels, data),
                num_given=num_given, num_rows=None if data is None else rows_given(program, module, data, axis),
                assumed=data is None, margin=float(margin), degrees=asked.options(stages, module),
                on_event=on_event, operator_at=operator_at,
            )  # fmt: skip
        except FunctionsTooDeepError as error:
            raise with_remedy(error, bootstrap, ring_degree, security_bits) from None
    traced = replace(traced, fed=fed)
    if traced.is_lossy and not asked.has_goal:
        warnings.warn(traced.loss, ApproximationWarning, stacklevel=4)

    def placed(*, scarce_levels: bool) -> Vectors:
        return to_vectors(
            traced.module, on_event, costs=costs, ring_degree=ring_degree, bits_a_second=bits_a_second,
            techniques=techniques, scarce_levels=scarce_levels, fed=traced.fed, rows=least_rows(wanted_rows),
        )  # fmt: skip

    def plan_of(vectors: Vectors) -> Plan:
        search = PrecisionSearch(program, traced, vectors, samples, float(precision_bits), on_event, costs, techniques)
        return search.best(ring_degree, security_bits, insecure)

    def planned(vectors: Vectors) -> tuple[Vectors, Plan]:
        if wanted_rows is None:
            return vectors, plan_of(vectors)
        return planned_for_rows(vectors, wanted_rows, plan_of, ring_degree, program.name, program.loc, on_event)

    def without_bootstraps() -> tuple[Vectors, Plan]:
        vectors = placed(scarce_levels=False)
        try:
            return planned(vectors)
        except LevelError:
            scarce = placed(scarce_levels=True)
            if scarce.depth >= vectors.depth:
                raise
            return planned(scarce)

    refreshed = BootstrapSearch(
        program, traced, samples, float(precision_bits), on_event, costs, techniques, bits_a_second, ring_degree,
        security_bits, chosen,
    )  # fmt: skip
    try:
        vectors, plan = refreshed.best() if chosen else quickest(without_bootstraps, refreshed, bootstrap)
    except (LevelError, PrecisionError) as error:
        raise with_pools(error, traced.stand_ins, operator_at) from None
    if axis is not None:
        few = 0 if data is None else repeated_rows(program, module, data, axis)
        plan = replace(plan, client=replace(plan.client, batch=replace(axis, calibrated=few)))
    plan = replace(plan, client=with_stages(plan.client, stages).with_columns(columns), changes=changes)
    plan = warn_of_leaving(plan, traced, margin, stacklevel=4)
    warn_of_gaps(plan, stacklevel=4)
    assessment = Assessment(
        program_itself, vectors.placed, vectors.positions, traced.stand_ins, [] if data is None else samples[:num_given]
    )
    return Model(plan, Reference(vectors.placed, vectors.positions, assessment), costs, allow_insecure=insecure)


def _known_columns(program: Program | Circuit, owner: OwnerStages | None) -> dict[str, tuple[str, ...]]:
    """Names of columns that the program brings, or that steps of the owner declare, by what the owner gives."""
    if isinstance(program, Circuit):
        return {}
    declared = {each.name: each.columns for each in stages_of(program, owner).given if each.columns}
    return {**program.columns, **declared}


def _given_names(program: Program | Circuit, owner: OwnerStages | None) -> list[str]:
    """What the owner calls the encrypted inputs, in the order of a tuple of data."""
    if isinstance(program, Circuit):
        return [p.name for p in program.inputs]
    return stages_of(program, owner).given_for(p.name for p in program.inputs if isinstance(p.kind, Secret))


def _labels(labels: Any, data: Any) -> Any:
    if labels is not None and data is None:
        raise UserError("compile: labels= is given without calibrate=; labels belong to rows of calibration data")
    return labels


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= MAX_SPARE:
        raise UserError(f"compile: {name}={write_value(value)}; give a whole number from 0 to {MAX_SPARE}")
    return int(value)


def _check_scheme(program: Program | Circuit, scheme: str) -> None:
    if scheme not in SCHEMES:
        raise UserError(f"compile: scheme={scheme!r}; give one of {', '.join(map(repr, SCHEMES))}")
    if scheme == "ckks" and isinstance(program, Circuit) and program.is_exact:
        raise UserError(
            f"compile: {program.name} computes on integers, which are exact under BFV alone; give scheme='bfv'",
            at=program.loc,
        )
    if scheme != "ckks" and isinstance(program, Program):
        raise UserError(
            f"compile: programs on arrays run on CKKS, not {scheme!r}; write {program.name} as a circuit on numbers "
            "(@lw.circuit) to compute exactly on integers",
            at=program.loc,
        )


def _bits_a_second(network: Any) -> float:
    """UserError if it is neither a network by name nor a rate."""
    if isinstance(network, str) and network in NETWORKS:
        return NETWORKS[network]
    is_number = isinstance(network, int | float | np.integer | np.floating) and not isinstance(network, bool)
    if not is_number or not 0 < network < float("inf"):
        names = ", ".join(repr(name) for name in NETWORKS)
        raise UserError(f"compile: network={network!r}; give {names}, or a number of bits per second such as 2.5e8")
    return float(network)


def _key_price(price: Any) -> float:
    is_number = isinstance(price, int | float | np.integer | np.floating) and not isinstance(price, bool)
    if not is_number or not 0 <= price < float("inf"):
        raise UserError(f"compile: key_price={write_value(price)}; give seconds per gigabyte of keys, 0 or more")
    return float(price)


def _check_options(
    precision_bits: float, ring_degree: int | None, security_bits: int, insecure: bool, techniques: Techniques
) -> None:
    if not isinstance(techniques, Techniques):
        raise UserError(f"compile: techniques={techniques!r}; give lw.Techniques(...), by keyword what to leave out")
    if isinstance(precision_bits, bool) or not isinstance(precision_bits, int | float | np.integer | np.floating):
        raise PrecisionError(
            f"compile: precision_bits={precision_bits!r}; give a number from 1 to {MAX_PRECISION_BITS}"
        )
    if not 1 <= precision_bits <= MAX_PRECISION_BITS:
        raise PrecisionError(f"compile: precision_bits={precision_bits}; give 1 to {MAX_PRECISION_BITS}")
    if security_bits not in security_levels():
        raise UserError(f"compile: security_bits={security_bits!r}; choose one of {security_levels()}")
    if ring_degree is None:
        return
    try:
        degree = operator.index(ring_degree)
    except TypeError:
        raise UserError(f"compile: ring_degree={ring_degree!r} is not an integer; give a power of two") from None
    if degree & (degree - 1) or not 1 << 10 <= degree <= 1 << 17:
        raise UserError(f"compile: ring_degree={write_value(degree)} is not a power of two from 1024 to 131072")
    if not insecure and modulus_limit_bits(degree, security_bits) is None:
        raise UserError(f"compile: ring_degree={degree} cannot give {security_bits}-bit security; use a larger one")
