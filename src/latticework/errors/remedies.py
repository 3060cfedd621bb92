"""Remedies by concept: what cannot be computed on secrets as it stands, and what to do instead, for every importer.

An importer maps the names of its library to these concepts (`name_remedies`), and messages take the sentence that fits
where the user is: in a program on arrays, in a circuit, or before a model of another package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from latticework.lazy_dataclass import dataclass

# Data to calibrate the comparisons of trees with: rows that are close to a threshold are refused.
CALIBRATE_APART = "calibrate=rows[program.keeps_apart(rows)]"
_POLYNOMIAL = (
    "write it as a polynomial: circuits have + - *, ** by small whole numbers, and / by public numbers in CKKS"
)


@dataclass(frozen=True, slots=True)
class Remedy:
    """A kind of computation that is refused: what is wrong with it, and what to do.

    why      what is wrong, as a clause
    outside  what to do without writing a program: mostly before encryption, or after decryption
    program  what a program on arrays (lw.program) writes instead; "" where `outside` is all there is
    circuit  what a circuit (lw.circuit) writes instead; "" where `outside` is all there is
    """

    why: str
    outside: str
    program: str = ""
    circuit: str = _POLYNOMIAL

    @property
    def for_programs(self) -> str:
        """The sentence for the writer of a program on arrays."""
        return f"{self.why}: {self.program}; or {self.outside}" if self.program else f"{self.why}: {self.outside}"

    @property
    def for_models(self) -> str:
        """The sentence for the owner of a model of another package."""
        return f"{self.why}: {self.instead}"

    @property
    def instead(self) -> str:
        """The advice for the owner of a model, without what is wrong."""
        return f"{self.outside}; in a program (lw.program), {self.program}" if self.program else self.outside

    def add(self, more: str) -> Remedy:
        """The remedy with more to do outside, as one library has it."""
        return replace(self, outside=f"{self.outside} ({more})")

    @property
    def for_circuits(self) -> str:
        """The sentence for the writer of a circuit."""
        return f"{self.why}: {self.circuit or self.outside}"


_STEP = "no polynomial follows a step"
_BIT = (
    'compile it with scheme="bfv" (whole numbers, which compare), or encrypt the bit of the comparison as an input of '
    "its own, and choose with lw.select(bit, if_one, if_zero)"
)
_COUNT = (
    "np.sum(lw.greater(x, edge, gap=...)) counts those above a public edge, and the difference of two such sums those "
    "between edges"
)
_INVERSE = (
    "compute with the inverse as an input of its own, or approximate it by a polynomial or by iterations "
    "y = y * (2 - x * y)"
)
_INFERENCE = "export the model for inference (of PyTorch, call module.eval() first)"
_REAL = "secrets are real numbers"

REMEDIES: dict[str, Remedy] = {
    # which of two secrets is larger
    "comparison": Remedy(f"secrets cannot be compared without a gap, since {_STEP}",
        "return the numbers and compare after decryption",
        "lw.greater(x, y, gap=...) and lw.sign(x, gap=...) compare, lw.sigmoid(k * (x - y)) is a soft step, and "
        "lw.where(bit, a, b) chooses by what they give", _BIT),
    "branch": Remedy("which way it goes depends on secrets, and nobody knows them here", "decide before encryption",
        "compute both outcomes and choose by lw.where(bit, a, b), with bit = lw.greater(x, y, gap=...) or a soft "
        "step, lw.sigmoid(k * (x - y)); loops are lw.for_loop",
        "compute both ways and choose with lw.select(bit, if_one, if_zero), where bit is an encrypted 0 or 1; a "
        "loop needs a bound that is known when the circuit is compiled"),
    "order": Remedy(f"the order of secrets is what comparisons tell, and {_STEP}",
        "return the values and order them after decryption",
        f"np.minimum(a, b) and np.maximum(a, b) put two in order, and more in rounds; {_COUNT}", _BIT),
    "median": Remedy("a median takes the order of secrets", "return the values and take it after decryption",
        f"the median of three is np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c)); of more, {_COUNT}",
        _BIT),
    "percentile": Remedy("percentiles take the order of secrets", "return the values and take it after decryption",
        f"percentiles of normal data follow from np.mean(x) and np.std(x); of others, {_COUNT}", _BIT),
    "place": Remedy(f"which one is ahead is a comparison, and {_STEP}",
        "return the scores and take the place after decryption",
        "lw.argmax(x, gap=...) is the place of the largest, of -x that of the smallest, if it is ahead by the gap",
        _BIT),
    "largest": Remedy("which one is the largest takes comparisons", "return the values and take it after decryption",
        "np.maximum(a, b) is the larger of two, np.minimum(a, b) the smaller: apply it to halves, over and over; "
        "whether any is above a public edge is 1 - np.prod(1 - lw.greater(x, edge, gap=...))", _BIT),
    "count": Remedy("how often values occur takes comparisons", "return the numbers and count after decryption",
        f"{_COUNT}; with above = np.stack([np.sum(lw.greater(x, edge, gap=...)) for edge in edges]) a histogram is "
        "above[:-1] - above[1:]"),
    "threshold": Remedy(f"it compares with many thresholds, and {_STEP}",
        "apply it before encryption, or return the values and do it after decryption",
        "with public edges it is np.sum(lw.greater(x[..., None], edges, gap=...), axis=-1), each of the comparisons "
        "right for what keeps the gap from its edge", _BIT),
    # values, places and shapes that depend on secrets
    "value": Remedy("its value is secret", "return the values and do it after decryption",
        "go on computing with arrays", ""),
    "index": Remedy("which element it is has to be known when the program is compiled",
        "choose before encryption or after decryption",
        "use a public number, or np.sum(x * bits) with bits that are 0 or 1", ""),
    "selection": Remedy("how many values it returns depends on secrets, and shapes are public",
        "return all values and choose after decryption",
        "x * bits with bits = lw.greater(x, y, gap=...) keeps the shape", _BIT),
    "set": Remedy("which values are equal is secret", "return the values and do it after decryption"),
    "missing": Remedy("which values are missing is secret, and NaN cannot be encrypted",
        "fill them in before encryption", circuit=""),
    "new array": Remedy("the shape of a secret is public",
        "make a public array, np.zeros(x.shape) or np.full(x.shape, value)"),
    "public result": Remedy("its results are public numbers or settings",
        "call it on a public array of the same shape, np.zeros(x.shape)"),
    "mutation": Remedy("values are immutable here",
        "build a new one: x = x + y instead of x += y, x * (1 - mask) + new * mask by a public 0/1 mask, np.where, "
        "np.pad or np.concatenate", circuit=""),
    "counter": Remedy("an index exists only while the program runs",
        "carry a counter array instead (start at 0.0, return counter + 1)"),
    # kinds of numbers
    "complex": Remedy(_REAL, "leave it out"),
    "dtype": Remedy(f"{_REAL}, and rounding has no encrypted counterpart", "leave it out, and convert after decryption",
        circuit=""),
    "rounding": Remedy("rounding is a step at every whole number, which no polynomial follows",
        "keep real numbers, and round after decryption", "lw.approximate(function)(x) follows it on its range, roughly",
        'in scheme="bfv" whole numbers have // and % by public ones; round real ones after decryption'),
    "range": Remedy("its range is too wide", "declare a narrower range of the number (low=, high=)"),
    "bits": Remedy("bits of a secret are not known in programs on arrays",
        "write a circuit on whole numbers (lw.circuit, docs/circuits.md)",
        circuit='compile it with scheme="bfv", where whole numbers have & | ^ ~ << >>'),
    "text": Remedy("texts cannot be encrypted",
        "make numbers of them before encryption, of sparse rows few columns (TruncatedSVD), and encrypt those"),
    "category": Remedy("categories are names, and no numbers to compute with",
        "encode them before encryption, as OneHotEncoder does"),
    # algebra
    "function": Remedy("it has no counterpart on secrets", "compute it before encryption or after decryption",
        "lw.approximate(function)(x) follows a function of one number on its range"),
    "division": Remedy("circuits divide by public numbers alone", "return both and divide after decryption",
        circuit=_INVERSE),
    "inverse": Remedy("it divides by what is secret, step by step", "return the matrix and do it after decryption",
        "iterate a known number of times, for an inverse y = y @ (2 * np.eye(n) - x @ y)", _INVERSE),
    "determinant": Remedy("it divides by what is secret, step by step", "return the matrix and do it after decryption",
        "a determinant of 2 x 2 is x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0]"),
    "eigenvalue": Remedy("it iterates until secrets agree, which nobody can see",
        "return x.T @ x (np.cov(x), if it is centred) and do it after decryption"),
    "fourier": Remedy("programs compute on real numbers", "transform before encryption or after decryption",
        "with a = 2 * np.pi * np.outer(np.arange(n), np.arange(n // 2 + 1)) / n, x @ np.cos(a) is the real part of "
        "rfft(x), and -(x @ np.sin(a)) the imaginary part"),
    "inverse fourier": Remedy("programs compute on real numbers", "transform before encryption or after decryption",
        "multiply real and imaginary parts by public matrices, (re @ np.cos(a) - im @ np.sin(a)) / n with a = 2 * "
        "np.pi * np.outer(np.arange(n), np.arange(n)) / n"),
    "depth": Remedy("it takes more levels than its ring has", "ask for less precision",
        "compile two programs, between which the client decrypts and encrypts again",
        "compile two circuits, between which the client decrypts and encrypts again"),
    # models
    "random": Remedy("it draws random numbers", f"{_INFERENCE}, or give them as an input"),
    "training": Remedy("it belongs to training", _INFERENCE),
    "batch statistics": Remedy("it takes the statistics of the batch, as in training",
        f"{_INFERENCE}, and keep running statistics (track_running_stats=True)"),
    "three axes": Remedy("convolutions and pools slide along one axis or two", "fold the third into channels"),
    "sequence": Remedy("sequences and optional values have no encrypted counterpart",
        "export the model so that it computes on tensors"),
    "training samples": Remedy(
        "its results need all training samples, so that training samples would be the server's program and results "
        "would tell them", "fit NearestCentroid, or an SVC or SVR, which keep some of them only"),
    "taken apart": Remedy("it is a part of attention or of an activation that was taken apart",
        "export it without run_decompositions()"),
}  # fmt: skip


def name_remedies(names: Mapping[str, str], prefix: str = "") -> dict[str, Remedy]:
    """The remedy of each name of a library.

    names   concepts, and which names of the library, separated by spaces, belong to each
    prefix  what all names begin with
    """
    return {prefix + name: REMEDIES[concept] for concept, listed in names.items() for name in listed.split()}
