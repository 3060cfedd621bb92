"""The keywords of `lw.compile` for type checkers and editors.

Made of `option_records.py` by `python tools/write_options.py`, which also compares them with --check.
"""

# fmt: off

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from latticework.compiler.options.techniques import Techniques
from latticework.ir import PassEvent
from latticework.model import Model
from latticework.plan.client_steps import OwnerStages
from latticework.plan.parameters import BootstrapSet


class CompileKeywords(TypedDict, total=False):
    """The keywords of `lw.compile`."""

    example: Any
    """Inputs, for shapes that are not annotated; also calibration data if there are no others."""
    weights: Any
    """Arrays for the parameters without annotation, in order or by name. Default: ()."""
    calibrate: Any
    """Data like what will be encrypted: an array (samples, ...), a tuple, or a dictionary by name; for an input
    of shape (B, ...) also rows, from which batches of B are made, repeated if they are fewer. Functions are
    approximated on the ranges seen, and inputs far outside are refused. Columns of frames are taken by the names
    that the program brings (of an estimator fitted on a frame), else their own names become those that frames are
    encrypted by. Without data inputs are taken to lie in [-1, 1], and functions need their own range=."""
    labels: Any
    """One a row of `calibrate`, to score the first output by, before and after functions are approximated:
    integers are classes, and so are texts that an estimator has for them; their score is the accuracy (the place
    of the largest number in the last axis; of one number a row whether it exceeds 1/2, or 0 where results of the
    program itself leave [0, 1]); floats are what the output should be, and the score is R^2. Scores are in the
    report and `model.scores`."""
    precision_bits: float
    """On inputs like those of calibration every output is within 2^-precision_bits of the program itself,
    relative to the largest output in calibration: errors of functions and of encryption together. Functions get
    polynomials of the degrees that this takes; if none of up to 1023 does, or if no ring has the levels,
    compiling says what degrees give. A degree that the program gives by degree= is taken as it is, with an
    ApproximationWarning that says what it loses, where it loses more. Default: 12."""
    agreement: float | None
    """Share of decisions, as 0.995, that are to stay what the program itself decides, on every fourth sample,
    which is held back from calibration: a degree for each function, at the least levels and products. Decisions
    are what the owner of an imported classifier makes of results, or else the place of the largest number in the
    last axis of the first output. `precision_bits` then is of noise alone."""
    tolerance: float | None
    """Largest error that functions may make in the first output, in its own unit, on all samples that are held
    back: degrees are chosen as for agreement=."""
    scheme: str
    """"ckks": real numbers, approximately; "bfv": integers, exactly, of circuits and queries only. Default:
    'ckks'."""
    ring_degree: int | None
    """N, a power of two; the smallest that fits if not given."""
    security_bits: int
    """128, 192 or 256: bits of security that the parameters have. Default: 128."""
    insecure: bool
    """Allow a ring_degree that is too small for security_bits; every report says so. Default: False."""
    bootstrap: str
    """"auto": values are refreshed on the way where a program spends more levels than a ring holds, or, if it is
    no circuit, where that is predicted to be quicker; "never". Default: 'auto'."""
    batch: int | str | None
    """Rows that one run computes side by side in the slots: a number (rounded up to a power of two), or "fill"
    for as many as fit. A row is one whole input of the program as declared; where the program has an axis of rows
    of its own, a run takes so many times as many. `encrypt` takes any number of rows; a run takes as long as that
    of one row, with the same instructions and as many keys, which the rows share. Circuits that bootstrap take
    none."""
    progress: bool
    """After two seconds, tell on a terminal or in a notebook how far it is; elsewhere by a line on standard error
    every 30 s. Default: True."""
    degree: int | Sequence[int] | None
    """Of every function to which the program gives none, as if it did; signs keep their gaps. A list has one for
    each of these functions, in the order of the program."""
    objective: str
    """What is to be small: "latency", predicted seconds of a run and of sending; "throughput", seconds of a
    server for a row, of runs that are full, where batch= is then the fewest rows; "bytes", of a row, keys
    included. Layouts are chosen by it, and how rows of a batch lie. Default: 'latency'."""
    margin: float
    """Part of the range of a function's argument in calibration by which the range that it is approximated on
    goes further on each side. More makes it rarer that new inputs leave it, for higher degrees; clients accept no
    more for it. Default: 0.1."""
    scale_columns: bool | None
    """The client brings each column (element of the last axis) of an input to [-1, 1] by its own range in
    calibration, and the program undoes that; accepted ranges are then of single columns. None: inputs of imported
    models whose columns differ, where there are as many rows as columns. It is free where linear operations come
    first."""
    owner: OwnerStages | None
    """What the owner computes before encryption and after decryption, in place of what an imported model brings:
    steps of latticework.owner; `calibrate` and `example` are then what the owner has."""
    feed: Mapping[str, str] | None
    """{input: output}: what `server.inputs(w=result)` gives to the next run without decryption, so the output
    lies where the input does, at its level and scale; "result" is the only output."""
    feed_runs: int
    """Runs one after the other that calibration follows from each of its samples, every one fed with the results
    of the one before: the ranges of inputs and functions hold what is found, and results of so many runs have an
    error bound. Default: 1."""
    bootstrap_set: BootstrapSet | str | None
    """The bootstrapping set to compile for, whatever others would take, by name ("A14": see
    docs/bootstrapping.md) or one of your own. Those whose names begin with T are for tests, and take
    insecure=True."""
    integers: int | None
    """Bits of integers, 2 to 64, for circuits of sums and products: computed modulo as many primes as the largest
    result takes, which is exact. Inputs are signed; low= and high= may be anything within -2^(bits - 1) and
    2^bits - 1. Batches that need no rotation and no product of a product need no evaluation keys."""
    plain_bits: int
    """Of the plaintext modulus t of BFV: integers are exact between -t/2 and t/2 and wrap around beyond. Default:
    20."""
    plain_modulus: int | None
    """T itself."""
    wraps: bool
    """Results modulo t are meant: no RangeWarning where they may be larger, and they are certain. Default:
    False."""
    spare_levels: int
    """Products in a row that other circuits may go on with, on this one's results. Default: 0."""
    like: Model | Path | str | None
    """An old model, or its plan file, whose parameters are to be used: a model that was trained again keeps the
    secret key and evaluation keys, and the client file where that is true of it (docs/upgrading.md); and results
    of circuits are inputs of others."""
    algorithm: str
    """By which operations of a circuit get their lanes: "search", "annealing" (as Coyote does) or "scalar" (one
    operation at a time); "tensors": as operations on arrays, which "search" takes too where they are cheaper.
    Default: 'search'."""
    effort: str
    """"fast", "normal" or "max": how long lanes are searched for. Default: 'normal'."""
    seed: int
    """Of random choices of that search. Default: 0."""
    cost_table: Path | str | None
    """A file of `latticework measure` to predict times and choose by; the table of the package if not given, so
    that results do not depend on the machine."""
    network: str | float
    """Between client and server: "lan" (1 Gbit/s), "wan" (100 Mbit/s) or bits per second; where it is slow inputs
    and outputs take fewer ciphertexts, if need be for more work. Default: 'lan'."""
    key_price: float
    """Seconds of a run that one gigabyte less of stored keys is worth: linear maps are carried out with fewer
    keys where that takes less than this; see docs/keys.md. Default: 0.0."""
    techniques: Techniques
    """What the compiler may use; leaving some out shows what they give, and changes no result. Default:
    Techniques()."""
    passes: Mapping[str, Sequence[Any]] | None
    """{"after vectors": [a_pass]}: passes of your own, lw.ir.Pass, that run after a stage, and are verified
    there; one that changes results is refused, unless the list under "changes results" names it. See
    docs/ir.md."""
    keep_ir: bool
    """Keep what `model.ir(stage)` and `lw.compile_ir` need: the program, its calibration data and its vectors.
    Default: False."""
    on_event: Callable[[PassEvent], None] | None
    """Called after every pass."""
