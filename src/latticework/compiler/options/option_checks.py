"""The checks of what users give to `lw.compile`, before any work; what one option has to be alone is in its record.

What a kind of program does not take is refused by name where it is not the default, and so is a value of another type.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from latticework.compiler.options.compile_options import FILL, NEVER, CompileOptions
from latticework.compiler.options.option import Kind
from latticework.compiler.options.option_records import DEFAULTS, OPTIONS, PrecisionOptions, is_number, is_whole
from latticework.compiler.options.techniques import Techniques
from latticework.errors import PrecisionError, RangeError, SecurityError, TraceError, UserError
from latticework.errors.near_names import hint_near
from latticework.errors.rounded_numbers import write_value
from latticework.frontend import Circuit, Program
from latticework.frontend.heir import HeirProgram
from latticework.frontend.queries import SlotProgram
from latticework.functions.approximation.degree_limits import MAX_DEGREE
from latticework.model import Model
from latticework.plan.client_steps import OwnerStages
from latticework.plan.cost import CostModel
from latticework.plan.cost.networks import NETWORKS
from latticework.plan.parameters import (
    BOOTSTRAP_SETS,
    MAX_SLOTS,
    BootstrapSet,
    bootstrap_chain,
    modulus_limit_bits,
    security_levels,
)
from latticework.values.inputs.importable_models import find_importer
from latticework.values.inputs.keras_models import find_keras_way

MAX_PRECISION_BITS = 40
# Options that hold objects of ours -> their class, and what to give.
OBJECTS = {
    "like": (Model, "a compiled model, or its plan file"),
    "owner": (OwnerStages, "latticework.owner.OwnerStages"),
}


def check_options(program: Program | Circuit, given: Mapping[str, Any]) -> CompileOptions:
    """The options that a user gives for a program.

    given   by keyword
    raises  TypeError for a keyword that there is not; TraceError for what is no program; UserError and its kinds for
            values, and for options that this kind of program does not take; FormatError for a cost table that is none
    """
    for name in given:
        if name not in OPTIONS:
            hint = hint_near(name, OPTIONS, "=")
            raise TypeError(f"compile() got an unexpected keyword argument '{name}'{hint}")
    if not isinstance(program, Program | Circuit):
        if way := find_keras_way(program):
            raise TraceError(f"compile: {way}")
        if importer := find_importer(program):
            what = _shorten(program) if isinstance(program, str | Path) else type(program).__name__
            raise TraceError(
                f"compile: {what} is {importer.what}, and no program yet: give "
                f"lw.compile({importer.call}, calibrate=rows), with rows like those that will be encrypted"
            )
        raise TraceError(
            f"compile: {program!r} is not a program; decorate the function with @lw.program, or with @lw.circuit"
        )
    options = CompileOptions.of(given)
    if isinstance(options.expert.like, str | Path):
        options = options.override(like=Model.load(options.expert.like))
    _check_parameters(options)
    _check_like(program, options)
    _check_scheme(program, options.parameters.scheme)
    _check_taken(program, options)
    _check_integers(options)
    _check_goal(options)
    _check_bootstraps(options)
    _check_batch(options)
    _check_prices(options)
    _check_chosen_set(options)
    expert = options.expert
    options = replace(options, costs=CostModel.load(expert.cost_table).with_key_price(float(expert.key_price)))
    return options.override(
        precision_bits=float(options.precision.precision_bits), margin=float(expert.margin), seed=int(expert.seed),
        spare_levels=int(expert.spare_levels), feed_runs=int(expert.feed_runs), wraps=bool(expert.wraps),
    )  # fmt: skip


def kind_of(program: Program | Circuit, scheme: str) -> Kind:
    """Return the kind of a program that is compiled for a scheme."""
    if isinstance(program, HeirProgram):
        return Kind.HEIR
    if isinstance(program, SlotProgram):
        return Kind.SLOTS
    if isinstance(program, Circuit):
        return Kind.EXACT if scheme == "bfv" else Kind.CIRCUIT
    return Kind.ARRAYS


def _check_parameters(options: CompileOptions) -> None:
    given, bits, techniques = options.parameters, options.precision.precision_bits, options.expert.techniques
    if not isinstance(techniques, Techniques):
        raise UserError(f"compile: techniques={techniques!r}; give lw.Techniques(...), by keyword what to leave out")
    if not is_number(bits):
        raise PrecisionError(f"compile: precision_bits={bits!r}; give a number from 1 to {MAX_PRECISION_BITS}")
    if not 1 <= bits <= MAX_PRECISION_BITS:
        raise PrecisionError(f"compile: precision_bits={bits}; give 1 to {MAX_PRECISION_BITS}")
    if given.security_bits not in security_levels():
        raise UserError(f"compile: security_bits={given.security_bits!r}; choose one of {security_levels()}")
    if given.ring_degree is None:
        return
    try:
        degree = operator.index(given.ring_degree)
    except TypeError:
        raise UserError(f"compile: ring_degree={given.ring_degree!r} is not an integer; give a power of two") from None
    if degree & (degree - 1) or not 1 << 10 <= degree <= 1 << 17:
        raise UserError(f"compile: ring_degree={write_value(degree)} is not a power of two from 1024 to 131072")
    if not given.insecure and modulus_limit_bits(degree, given.security_bits) is None:
        raise UserError(
            f"compile: ring_degree={degree} cannot give {given.security_bits}-bit security; use a larger one"
        )


def _check_like(program: Program | Circuit, options: CompileOptions) -> None:
    """UserError for parameters that are asked for beside those of an old model, and are others."""
    given, like = options.parameters, options.expert.like
    if not isinstance(like, Model):
        return
    chain = like.plan.chain
    if isinstance(program, Program) and not program.is_exact and chain.scheme != "ckks":
        raise UserError(
            f"compile: {program.name} is a program on arrays, and the model given as like= is of {chain.scheme}: give "
            "one of a program on arrays",
            at=program.loc,
        )
    if chain.has_wide_integers:
        raise UserError(
            "compile: the model given as like= computes integers modulo several primes (integers=), and no other "
            "circuit shares its parameters: leave like= out",
            at=program.loc,
        )
    if not chain.special:
        raise UserError(
            "compile: the model given as like= has no special primes in its parameters (num_special=0), and so "
            "no evaluation keys for others; leave like= out",
            at=program.loc,
        )
    for name, asked, there in (
        ("ring_degree", given.ring_degree, chain.ring_degree),
        (
            "security_bits",
            given.security_bits if given.security_bits > chain.security_bits else None,
            chain.security_bits,
        ),
    ):
        if asked is not None and asked != there:
            raise UserError(f"compile: {name}={asked}, but the model given as like= has {there}; leave one of them out")


def _check_scheme(program: Program | Circuit, scheme: str) -> None:
    if give := OPTIONS["scheme"].refusal(scheme):
        raise UserError(f"compile: scheme={scheme!r}; give {give}")
    if scheme == "ckks" and program.is_exact:
        raise UserError(
            f"compile: {program.name} computes on integers, which are exact under BFV alone; give scheme='bfv'",
            at=program.loc,
        )
    if scheme != "ckks" and isinstance(program, Program) and not program.is_exact:
        raise UserError(
            f"compile: programs on arrays run on CKKS, not {scheme!r}; write {program.name} as a circuit on numbers "
            "(@lw.circuit) to compute exactly on integers",
            at=program.loc,
        )


def _check_taken(program: Program | Circuit, options: CompileOptions) -> None:
    """UserError for an option that this kind of program does not take, or whose value is none."""
    kind = kind_of(program, options.parameters.scheme)
    for name, option in OPTIONS.items():
        value = options.of_keyword(name)
        if _is_default(value, DEFAULTS[name]):
            continue
        if kind not in option.kinds:
            others = " and ".join(each.plural for each in option.kinds)
            raise UserError(
                f"compile: {name}= is for {others}; {program.name} is {kind.value}: {option.instead}", at=program.loc
            )
        held, give = OBJECTS.get(name, (object, ""))
        give = option.refusal(value) if isinstance(value, held) else give
        if give:
            raise UserError(f"compile: {name}={_shorten(value)}; give {give}", at=program.loc)
    if options.data.labels is not None and options.samples is None:
        raise UserError(
            "compile: labels= is given without calibrate=; labels belong to rows of calibration data", at=program.loc
        )


def _is_default(value: Any, default: Any) -> bool:
    """Whether nothing is said: the default itself, or no weights in another kind of list."""
    if value is None or isinstance(value, bool | int | float | str):
        return isinstance(value, bool) == isinstance(default, bool) and bool(value == default)
    return default == () and isinstance(value, Sized) and len(value) == 0


def _shorten(value: Any) -> str:
    text = write_value(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _check_integers(options: CompileOptions) -> None:
    """UserError for options that say something else of integers than `integers=`."""
    given = options.expert.integers
    if given is None:
        return
    for name, why in (
        ("plain_modulus", "it takes several plaintext moduli, whose size plain_bits= may say"),
        ("wraps", "results are exact, and none wraps around"),
        ("like", "its results are not inputs of other circuits, and parameters are its own"),
        ("spare_levels", "its results are not inputs of other circuits"),
        ("passes", "stages are of one plaintext modulus, and it takes several"),
        ("keep_ir", "stages are of one plaintext modulus, and it takes several"),
    ):
        if not _is_default(options.of_keyword(name), DEFAULTS[name]):
            raise UserError(f"compile: integers={given} and {name}= are given: {why}; leave {name}= out")


def _check_goal(options: CompileOptions) -> None:
    """UserError and RangeError for what cannot be asked of degrees."""
    degree, precision = options.expert.degree, options.precision
    given = {"degree": degree, "agreement": precision.agreement, "tolerance": precision.tolerance}
    names = [f"{name}=" for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise UserError(
            "compile: agreement= and tolerance= choose degrees, and degree= gives them; of "
            f"{' and '.join(names)} leave all but one out"
        )
    if degree is not None:
        each_of: Sequence[Any] = degree if isinstance(degree, list | tuple) and len(degree) > 0 else [degree]
        if not all(is_whole(each) and 1 <= each <= MAX_DEGREE for each in each_of):
            raise RangeError(
                f"compile: degree={write_value(degree)}; give a whole number from 1 to {MAX_DEGREE}, or a list "
                "of them, one for every function"
            )
    elif names:
        _check_measured_goal(precision, names[0])
        if options.data.calibrate is None:
            raise UserError(f"compile: {names[0]} is measured on calibration samples; give calibrate=, some hundreds")


def _check_measured_goal(precision: PrecisionOptions, name: str) -> None:
    agreement, tolerance = precision.agreement, precision.tolerance
    if agreement is not None and not (is_number(agreement) and 0.5 <= agreement <= 1):
        raise UserError(f"compile: agreement={write_value(agreement)}; give a share from 0.5 to 1, such as 0.995")
    if tolerance is not None and not (is_number(tolerance) and 0 < tolerance < np.inf):
        raise UserError(
            f"compile: tolerance={write_value(tolerance)}; give the largest error that results may have, a number "
            "above 0 in their own unit"
        )


def _check_bootstraps(options: CompileOptions) -> None:
    """UserError where options of bootstraps are none, or contradict each other."""
    wanted, bootstrap_set = options.running.bootstrap, options.expert.bootstrap_set
    if bootstrap_set is None:
        return
    if wanted == NEVER:
        raise UserError(f"compile: bootstrap_set= is given, and bootstrap={NEVER!r}; leave one of them out")
    if not isinstance(bootstrap_set, str | BootstrapSet):
        raise UserError(
            f"compile: bootstrap_set={write_value(bootstrap_set)}; give the name of a set, such as 'A14', or an "
            "latticework.plan.parameters.BootstrapSet"
        )
    if isinstance(bootstrap_set, str) and bootstrap_set not in BOOTSTRAP_SETS:
        raise UserError(f"compile: bootstrap_set={bootstrap_set!r}; there are {', '.join(BOOTSTRAP_SETS)}")


def _check_chosen_set(options: CompileOptions) -> None:
    """Refuse a bootstrapping set that the user named where it does not fit what else was asked for.

    raises  SecurityError for one that is not secure, unless `insecure`; UserError if it is of another ring
    """
    chosen, given = options.chosen_set, options.parameters
    if chosen is None:
        return
    chain = bootstrap_chain(chosen)
    named = f"bootstrap_set={chosen.name!r}"
    if chain.insecure and not given.insecure:
        raise SecurityError(
            f"compile: {named} is for tests: log2(QP) = {chain.log2_qp:.0f} at N=2^{chosen.log2_degree} is not secure. "
            "Give insecure=True with data that are not secret, or leave bootstrap_set out"
        )
    if not chain.insecure and given.security_bits > chain.security_bits:
        raise SecurityError(
            f"compile: {named} has {chain.security_bits}-bit security, not security_bits={given.security_bits}; for "
            f"the sparse secret of bootstraps no other limits are known: use security_bits={chain.security_bits}"
        )
    if given.ring_degree is not None and given.ring_degree != chain.ring_degree:
        raise UserError(
            f"compile: {named} has ring_degree={chain.ring_degree}, not ring_degree={given.ring_degree}; leave one of "
            "them out"
        )


def _check_batch(options: CompileOptions) -> None:
    batch = options.running.batch
    if batch is None:
        return
    if not (isinstance(batch, str) and batch == FILL) and not (is_whole(batch) and 1 <= int(batch) <= MAX_SLOTS):
        raise UserError(
            f"compile: batch={write_value(batch)}; give how many rows one run computes, from 1 to {MAX_SLOTS}, or "
            f"{FILL!r} for as many as fit the slots"
        )


def _check_prices(options: CompileOptions) -> None:
    """UserError for a network and a price of keys that are none."""
    network, price = options.expert.network, options.expert.key_price
    is_rate = not isinstance(network, str) and is_number(network) and 0 < network < np.inf
    if not is_rate and not (isinstance(network, str) and network in NETWORKS):
        names = ", ".join(map(repr, NETWORKS))
        raise UserError(f"compile: network={network!r}; give {names}, or a number of bits per second such as 2.5e8")
    if not is_number(price) or not 0 <= price < np.inf:
        raise UserError(f"compile: key_price={write_value(price)}; give seconds per gigabyte of keys, 0 or more")
