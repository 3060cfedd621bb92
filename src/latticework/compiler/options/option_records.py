"""All options of `lw.compile`: a record of each, and the table that they make.

To add an option, add its field here and run `python tools/write_options.py`; its value is then in the record. The
signature and the documentation of `lw.compile`, what type checkers and editors know of it, options of commands and
their names in messages, and which programs take it, all come from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latticework.compiler.options.option import (
    APPROXIMATE,
    ARRAYS,
    CIRCUITS,
    EXACT,
    TRACED,
    WRITTEN,
    CommandForm,
    Option,
    option,
)
from latticework.compiler.options.techniques import ALL, Techniques
from latticework.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from latticework.ir import PassEvent
    from latticework.model import Model
    from latticework.plan.client_steps import OwnerStages
    from latticework.plan.parameters import BootstrapSet

MOST_MARGIN = 100  # times the range seen
MAX_SPARE = 64
MOST_INTEGER_BITS = 64
BOTH = ("compile", "accuracy")  # commands
_CALIBRATED = "functions are approximated on arrays alone: leave it out"
_EXACT = "no result of it wraps around: leave it out"
_LANES = "arrays have layouts and no lanes: leave it out"
_OWNER = "compute what comes before encryption and after decryption yourself: leave it out"
_COUNT = f"a whole number from 0 to {MAX_SPARE}"
_BOOTSTRAPS = "it has no bootstraps: leave it out"
_MARGIN = (
    f"the part of the range seen by which functions are approximated beyond it on each side, from 0 to {MOST_MARGIN}, "
    "such as 0.5"
)


def is_flag(value: Any) -> bool:
    """Whether a value is True or False, of Python or NumPy."""
    return isinstance(value, bool) or (type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"))


def is_number(value: Any) -> bool:
    """Whether a value is a number, of Python or NumPy, and no flag."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of Python or NumPy, and no flag."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return is_whole(value) and bool(0 <= value <= MAX_SPARE)


# fmt: off
@dataclass(frozen=True, kw_only=True)
class Data:
    """Data that a program is compiled with: its parameters, and data like its inputs."""

    example: Any = option(
        None,
        "inputs, for shapes that are not annotated; also calibration data if there are no others",
        APPROXIMATE, "declare shapes, and low= and high=, of inputs",
        help=".npy or .npz with inputs that have no shape.", form=CommandForm.VALUES, commands=BOTH,
    )
    weights: Any = option(
        (),
        "arrays for the parameters without annotation, in order or by name",
        WRITTEN, "its weights are in it: leave it out",
        help=".npz with one array per weight, by parameter name.", form=CommandForm.ARRAYS, commands=BOTH,
    )
    calibrate: Any = option(
        None,
        "data like what will be encrypted: an array (samples, ...), a tuple, or a dictionary by name; for an input of "
        "shape (B, ...) also rows, from which batches of B are made, repeated if they are fewer. Functions are "
        "approximated on the ranges seen, and inputs far outside are refused. Columns of frames are taken by the names "
        "that the program brings (of an estimator fitted on a frame), else their own names become those that frames "
        "are encrypted by. Without data inputs are taken to lie in [-1, 1], and functions need their own range=",
        APPROXIMATE, "declare low= and high= of inputs", help=".npy, .npz, .csv or .parquet with data like the inputs.",
        form=CommandForm.VALUES, commands=BOTH,
    )
    labels: Any = option(
        None,
        "one a row of `calibrate`, to score the first output by, before and after functions are approximated: integers "
        "are classes, and so are texts that an estimator has for them; their score is the accuracy (the place of the "
        "largest number in the last axis; of one number a "
        "row whether it exceeds 1/2, or 0 where results of the program itself leave [0, 1]); floats are what the "
        "output should be, and the score is R^2. Scores are in the report and `model.scores`",
        ARRAYS, _CALIBRATED, help=".npy with a label for each row of calibrate, to score by.", form=CommandForm.VALUES,
    )


@dataclass(frozen=True, kw_only=True)
class PrecisionOptions:
    """Options on how close results come to those of the program itself."""

    precision_bits: float = option(
        12,
        "on inputs like those of calibration every output is within 2^-precision_bits of the program itself, relative "
        "to the largest output in calibration: errors of functions and of encryption together. Functions get "
        "polynomials of the degrees that this takes; if none of up to 1023 does, or if no ring has the levels, "
        "compiling says what degrees give. A degree that the program gives by degree= is taken as it is, with an "
        "ApproximationWarning that says what it loses, where it loses more",
        APPROXIMATE, "its results are exact: leave it out", help="Bits of every output, relative to the largest.",
        commands=BOTH,
    )
    agreement: float | None = option(
        None,
        "share of decisions, as 0.995, that are to stay what the program itself decides, on every fourth sample, which "
        "is held back from calibration: a degree for each function, at the least levels and products. Decisions are "
        "what the owner of an imported classifier makes of results, or else the place of the largest number in the "
        "last axis of the first output. `precision_bits` then is of noise alone",
        ARRAYS, _CALIBRATED, help="Share of decisions that are to stay, by which degrees are chosen: 0.995.",
        commands=BOTH,
    )
    tolerance: float | None = option(
        None,
        "largest error that functions may make in the first output, in its own unit, on all samples that are held "
        "back: degrees are chosen as for agreement=",
        ARRAYS, _CALIBRATED, help="Largest error of functions in the first output, by which degrees are chosen.",
        commands=BOTH,
    )


@dataclass(frozen=True, kw_only=True)
class ParameterOptions:
    """The scheme, and how secure it is."""

    scheme: str = option(
        "ckks",
        '"ckks": real numbers, approximately; "bfv": integers, exactly, of circuits and queries only',
        choices=("ckks", "bfv"), help="ckks, or bfv for exact integers.",
    )
    ring_degree: int | None = option(
        None,
        "N, a power of two; the smallest that fits if not given",
        help="N; the smallest that fits if not given.", commands=BOTH,
    )
    security_bits: int = option(
        128,
        "128, 192 or 256: bits of security that the parameters have",
        help="128, 192 or 256.", commands=BOTH,
    )
    insecure: bool = option(
        False,
        "allow a ring_degree that is too small for security_bits; every report says so",
        instead="", fits=is_flag, give="True or False", help="Allow a ring degree below the security asked for.",
        commands=BOTH,
    )


@dataclass(frozen=True, kw_only=True)
class Running:
    """Options on how the program runs: batches, bootstraps; and on what is shown while it is compiled."""

    bootstrap: str = option(
        "auto",
        '"auto": values are refreshed on the way where a program spends more levels than a ring holds, or, if it '
        'is no circuit, where that is predicted to be quicker; "never"',
        APPROXIMATE, _BOOTSTRAPS, choices=("auto", "never"), give="'auto' or 'never'",
        help="auto: where levels run out, or to be quicker; never.",
    )
    batch: int | str | None = option(
        None,
        'rows that one run computes side by side in the slots: a number (rounded up to a power of two), or "fill" for '
        "as many as fit. A row is one whole input of the program as declared; where the program has an axis of rows of "
        "its own, a run takes so many times as many. `encrypt` takes any number of rows; a run takes as long as that "
        "of one row, with the same instructions and as many keys, which the rows share. Circuits that bootstrap take "
        "none",
        WRITTEN, "its slots are full: leave it out; stacks of inputs are several runs",
        help="Rows that one run computes side by side, or fill for all that fit.", form=CommandForm.WHOLE_OR_NAME,
    )
    progress: bool = option(
        True,
        "after two seconds, tell on a terminal or in a notebook how far it is; elsewhere by a line on standard error "
        "every 30 s",
        in_python="commands show progress, by a line every 30 s where standard error is no terminal",
    )


@dataclass(frozen=True, kw_only=True)
class Expert:
    """Options that few programs need, in one record."""

    degree: int | Sequence[int] | None = option(
        None,
        "of every function to which the program gives none, as if it did; signs keep their gaps. A list has one for "
        "each of these functions, in the order of the program",
        ARRAYS, _CALIBRATED,
        help="Of every function to which the program gives none; or one for each of them, by commas.",
        form=CommandForm.WHOLES,
        commands=BOTH,
    )
    objective: str = option(
        "latency",
        'what is to be small: "latency", predicted seconds of a run and of sending; "throughput", seconds of a server '
        'for a row, of runs that are full, where batch= is then the fewest rows; "bytes", of a row, keys included. '
        "Layouts are chosen by it, and how rows of a batch lie",
        WRITTEN, "its layout is in it: leave it out",
        choices=("latency", "throughput", "bytes"), help="latency, throughput of rows, or bytes.",
    )
    margin: float = option(
        0.1,
        "part of the range of a function's argument in calibration by which the range that it is approximated on goes "
        "further on each side. More makes it rarer that new inputs leave it, for higher degrees; clients accept no "
        "more for it",
        ARRAYS, _CALIBRATED, fits=lambda value: is_number(value) and 0 <= value <= MOST_MARGIN, give=_MARGIN,
        help="Part of a range seen by which functions are approximated beyond it on each side.",
    )
    scale_columns: bool | None = option(
        None,
        "the client brings each column (element of the last axis) of an input to [-1, 1] by its own range in "
        "calibration, and the program undoes that; accepted ranges are then of single columns. None: inputs of "
        "imported models whose columns differ, where there are as many rows as columns. It is free where linear "
        "operations come first",
        ARRAYS, _OWNER, fits=lambda value: value is None or is_flag(value),
        give="True or False, or None to leave it to the program",
        help="Bring columns to their own ranges before encryption; of models by need.",
    )
    owner: OwnerStages | None = option(
        None,
        "what the owner computes before encryption and after decryption, in place of what an imported model brings: "
        "steps of latticework.owner; `calibrate` and `example` are then what the owner has",
        ARRAYS, _OWNER, in_python="models bring the steps of their owners",
    )
    feed: Mapping[str, str] | None = option(
        None,
        "{input: output}: what `server.inputs(w=result)` gives to the next run without decryption, so the output lies "
        'where the input does, at its level and scale; "result" is the only output',
        ARRAYS, "an input of a circuit that another one computes is declared by lanes=: leave it out",
        in_python="results become inputs of the next run in Python",
    )
    feed_runs: int = option(
        1,
        "runs one after the other that calibration follows from each of its samples, every one fed with the results of "
        "the one before: the ranges of inputs and functions hold what is found, and results of so many runs have an "
        "error bound",
        ARRAYS, "it says how often results are fed back by feed=: leave it out", fits=_is_count, give=_COUNT,
        in_python="results become inputs of the next run in Python",
    )
    bootstrap_set: BootstrapSet | str | None = option(
        None,
        'the bootstrapping set to compile for, whatever others would take, by name ("A14": see docs/bootstrapping.md) '
        "or one of your own. Those whose names begin with T are for tests, and take insecure=True",
        APPROXIMATE, _BOOTSTRAPS, help="The bootstrapping set to compile for, by name.",
    )
    integers: int | None = option(
        None,
        "bits of integers, 2 to 64, for circuits of sums and products: computed modulo as many primes as the largest "
        "result takes, which is exact. Inputs are signed; low= and high= may be anything within -2^(bits - 1) and "
        "2^bits - 1. Batches that need no rotation and no product of a product need no evaluation keys",
        EXACT, "wide integers are exact, under scheme='bfv' alone, in circuits: leave it out",
        fits=lambda value: value is None or (is_whole(value) and 2 <= value <= MOST_INTEGER_BITS),
        give=f"a whole number from 2 to {MOST_INTEGER_BITS}, such as 64",
        help="Bits of exact integers, up to 64.",
    )
    plain_bits: int = option(
        20,
        "of the plaintext modulus t of BFV: integers are exact between -t/2 and t/2 and wrap around beyond",
        EXACT, _EXACT, help="Of the plaintext modulus of BFV.",
    )
    plain_modulus: int | None = option(None, "t itself", EXACT, _EXACT, help="Of BFV itself: a prime.")
    wraps: bool = option(
        False,
        "results modulo t are meant: no RangeWarning where they may be larger, and they are certain",
        EXACT, _EXACT, fits=is_flag, give="True or False", help="Results modulo t are meant: no warning of large ones.",
        flag_only=True,
    )
    spare_levels: int = option(
        0,
        "products in a row that other circuits may go on with, on this one's results",
        CIRCUITS, "results of programs on arrays are inputs of a later run by feed=, or encrypted anew: leave it out",
        fits=_is_count, give=_COUNT, help="Products in a row that other circuits may do with the results.",
    )
    like: Model | Path | str | None = option(
        None,
        "an old model, or its plan file, whose parameters are to be used: a model that was trained again keeps the "
        "secret key and evaluation keys, and the client file where that is true of it (docs/upgrading.md); and results "
        "of circuits are inputs of others",
        TRACED, "it has no evaluation keys to keep: leave it out",
        help="Plan of an old model whose parameters and keys are kept.", form=CommandForm.PATH,
    )
    algorithm: str = option(
        "search",
        'by which operations of a circuit get their lanes: "search", "annealing" (as Coyote does) or "scalar" (one '
        'operation at a time); "tensors": as operations on arrays, which "search" takes too where they are cheaper',
        CIRCUITS, _LANES, choices=("search", "annealing", "scalar", "tensors"),
        help="Of circuits: search, annealing, scalar or tensors.",
    )
    effort: str = option(
        "normal",
        '"fast", "normal" or "max": how long lanes are searched for',
        CIRCUITS, _LANES, choices=("fast", "normal", "max"), help="Of the search for lanes: fast, normal or max.",
    )
    seed: int = option(
        0,
        "of random choices of that search",
        CIRCUITS, _LANES, fits=lambda value: is_whole(value) and 0 <= value < 1 << 63,
        give="a whole number of at least 0", help="Of the search for lanes.",
    )
    cost_table: Path | str | None = option(
        None,
        "a file of `latticework measure` to predict times and choose by; the table of the package if not given, so "
        "that results do not depend on the machine",
        help="Table of `measure`; the one that comes with the package if not given.",
        form=CommandForm.PATH, commands=BOTH,
    )
    network: str | float = option(
        "lan",
        'between client and server: "lan" (1 Gbit/s), "wan" (100 Mbit/s) or bits per second; where it is slow inputs '
        "and outputs take fewer ciphertexts, if need be for more work",
        help="lan, wan or bits per second: what sending costs.", form=CommandForm.NUMBER_OR_NAME,
    )
    key_price: float = option(
        0.0,
        "seconds of a run that one gigabyte less of stored keys is worth: linear maps are carried out with fewer keys "
        "where that takes less than this; see docs/keys.md",
        help="Seconds of a run that a gigabyte less of keys is worth.",
    )
    techniques: Techniques = option(
        ALL,
        "what the compiler may use; leaving some out shows what they give, and changes no result",
        in_python="for measuring what parts of the compiler give",
    )
    passes: Mapping[str, Sequence[Any]] | None = option(
        None,
        '{"after vectors": [a_pass]}: passes of your own, lw.ir.Pass, that run after a stage, and are verified there; '
        "one that changes results is refused, unless the list under \"changes results\" names it. See docs/ir.md",
        TRACED,
        in_python="passes are functions of Python",
    )
    keep_ir: bool = option(
        False,
        "keep what `model.ir(stage)` and `lw.compile_ir` need: the program, its calibration data and its vectors",
        TRACED,
        fits=is_flag, give="True or False", in_python="--dump writes what is kept",
    )
    on_event: Callable[[PassEvent], None] | None = option(
        None,
        "called after every pass",
        in_python="commands show progress, by a line every 30 s where standard error is no terminal",
    )


RECORDS: dict[str, type] = {
    "data": Data, "precision": PrecisionOptions, "parameters": ParameterOptions, "running": Running, "expert": Expert,
}
FIELDS: dict[str, Field[Any]] = {each.name: each for record in RECORDS.values() for each in fields(record)}
HOMES: dict[str, str] = {each.name: name for name, record in RECORDS.items() for each in fields(record)}
OPTIONS: dict[str, Option] = {name: each.metadata["option"] for name, each in FIELDS.items()}
DEFAULTS: dict[str, Any] = {name: each.default for name, each in FIELDS.items()}
