"""Prove that the float64 transforms of `cpu` and of GPUs compute with exact integers, for every degree and prime.

    python tools/prove_ranges.py [--root DIR]

A residue is an integer held in a double. Sums and differences are exact while they stay below 2^53. The product of x
and a factor w modulo q takes the quotient c = rint(x * fl(w / q)), which is only approximate, and then x w - h and
h - c q with h = fl(x w), which have to be exact, as does their sum x w - c q. So all that can go wrong is size. The
script walks through the passes of both transforms, as listed in cpp/backend/cpu/ntt_ranges.hpp, with a bound on the
magnitude of each value of a butterfly network, in units of q and in exact fractions, and fails if a bound does not
hold: in the largest intermediate, or in the range of residues at rest (cpp/backend/cpu/prime.hpp). Kernels of GPUs
reduce by stages (cpp/backend/gpu/ntt_ranges.hpp), and round a quotient by two additions, which takes it up to 2^51.
Where they compute with integers, those of primes below 2^50 (cpp/backend/gpu/u64_lazy.hpp) have to fit 64 bits.
Exit status 1 on failure.
"""

import argparse
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path

ULP = Fraction(1, 2**53)  # the largest relative error of one rounding
HALF = Fraction(1, 2)
LOG_DEGREES = range(4, 18)  # from 5 on for vectors of eight words
REST = {47: Fraction(9, 16), 49: Fraction(19, 32), 50: Fraction(11, 16)}  # at rest, in units of q, for q < 2^bits
KERNELS = Path(__file__).resolve().parents[1] / "cpp" / "backend" / "kernels.def"
POINTWISE = re.compile(r"^LW_(?:UNARY|BINARY|ACCUMULATE|SCALAR|BINARY_SCALAR)\((\w+)\)", re.MULTILINE)


class RangeError(Exception):
    """A bound that does not hold."""


@dataclass(frozen=True)
class Ranges:
    """One row of a table of NttRanges, under the names it has there."""

    bits: int
    tail_stages: int
    forward8: int
    forward4: int
    forward_tail: int
    inverse_tail: int
    inverse4: int
    inverse8: int


def read_ranges(source: str) -> list[Ranges]:
    """The rows of all tables of NttRanges; its fields have to be those of Ranges, in the same order."""
    struct = re.search(r"struct NttRanges \{(.*?)\};", source, re.DOTALL)
    tables = re.findall(r"kNttRanges(\d)\[\] = \{\n(.*?)\n\};", source, re.DOTALL)
    if struct is None or not tables:
        raise RangeError("struct NttRanges and its tables are not where they were")
    if re.findall(r"(\w+)[,;]", struct[1]) != [field.name for field in fields(Ranges)]:
        raise RangeError("the fields of NttRanges are not those that this script knows")
    found = []
    for words, table in tables:
        for row in table.splitlines():
            ranges = Ranges(*[int(number, 0) for number in re.findall(r"\w+", row)])
            if 1 << ranges.tail_stages != int(words):
                raise RangeError(f"tails of {ranges.tail_stages} stages are not those of vectors of {words} words")
            found.append(ranges)
    return found


def passes(log_degree: int, tail_stages: int) -> list[int]:
    """Stages of each pass before the tails: ntt_passes."""
    stages = log_degree - tail_stages
    if stages % 3 == 1:
        return [3] * ((stages - 4) // 3) + [2, 2]
    return [3] * (stages // 3) + [2] * (stages % 3 // 2)


@dataclass(frozen=True)
class StageRanges:
    """One row of the table of gpu::NttRanges, under the names it has there."""

    bits: int
    forward: int
    inverse: int


def read_stage_ranges(source: str) -> list[StageRanges]:
    """The rows of the table; its fields have to be those of StageRanges, in the same order."""
    struct = re.search(r"struct NttRanges \{(.*?)\};", source, re.DOTALL)
    table = re.search(r"kNttRanges\[\] = \{\n(.*?)\n\};", source, re.DOTALL)
    if struct is None or table is None:
        raise RangeError("struct NttRanges of GPUs and its table are not where they were")
    if re.findall(r"(\w+)[,;]", struct[1]) != [field.name for field in fields(StageRanges)]:
        raise RangeError("the fields of NttRanges of GPUs are not those that this script knows")
    return [StageRanges(*[int(number, 0) for number in re.findall(r"\w+", row)]) for row in table[1].splitlines()]


class Arithmetic:
    """Bounds on magnitudes, in units of any q < 2^bits; remembers the largest."""

    def __init__(self, bits: int, most_quotient: int = 2**53, rounds_last: bool = True) -> None:
        self.limit = Fraction(2**53, 2**bits)  # exact below this
        self.q = Fraction(2**bits)
        self.most_quotient = most_quotient  # that is rounded to an integer next to it
        self.roundings = 2 + rounds_last  # of the quotient of a product, before it becomes an integer
        self.largest = Fraction(0)

    def exact(self, bound: Fraction) -> Fraction:
        """The bound itself, if integers up to it are exact."""
        self.largest = max(self.largest, bound)
        if bound >= self.limit:
            raise RangeError(f"a value can reach {float(bound):.2f} q, and 2^53 is {float(self.limit):.0f} q")
        return bound

    def add(self, a: Fraction, b: Fraction) -> Fraction:
        """a + b or a - b."""
        return self.exact(a + b)

    def reduce(self, x: Fraction) -> Fraction:
        """x - rint(x * fl(1/q)) q: a rounding less in the quotient."""
        return self.exact(HALF + x * ((1 + ULP) ** (self.roundings - 1) - 1))

    def product(self, x: Fraction, w: Fraction = HALF, roundings: int | None = None) -> Fraction:
        """x w - c q, where c = rint(x w / q) after `roundings` roundings, by default those of fl(x w) fl(1/q)."""
        quotient = x * w * self.q
        if roundings is None:
            roundings = self.roundings
        if quotient * (1 + ULP) ** roundings > self.most_quotient:
            raise RangeError(f"a quotient can reach {float(quotient / self.most_quotient):.2f} of what is rounded")
        rest = self.exact(HALF + quotient * ((1 + ULP) ** roundings - 1))
        self.exact(rest + quotient * ULP)  # h - c q: off by the rounding of h
        return rest


def reduce_some(arithmetic: Arithmetic, values: list[Fraction], mask: int) -> None:
    """Reduce value i in place for every bit i of the mask."""
    for i in range(len(values)):
        if mask >> i & 1:
            values[i] = arithmetic.reduce(values[i])


def forward(arithmetic: Arithmetic, start: Fraction, stages: int, mask: int) -> Fraction:
    """The largest of the values after a pass whose inputs all are within `start`."""
    values = [start] * 2**stages
    reduce_some(arithmetic, values, mask)
    for stage in range(stages):
        step = len(values) >> (stage + 1)
        for i in range(len(values)):
            if not i & step:
                values[i] = values[i + step] = arithmetic.add(values[i], arithmetic.product(values[i + step]))
    return max(values)


def inverse(arithmetic: Arithmetic, start: Fraction, stages: int, mask: int, degree: int | None) -> Fraction:
    """The same for an inverse pass. With a degree it is the last one, whose last stage also divides by that: sums are
    multiplied by 1/N, which is -(q - 1)/N modulo q, and differences by a factor of any size, then reduced.
    """
    values = [start] * 2**stages
    for stage in range(stages):
        step = 1 << stage
        for i in range(len(values)):
            if not i & step:
                total = arithmetic.add(values[i], values[i + step])
                values[i], values[i + step] = total, arithmetic.product(total)
                if degree is not None and stage == stages - 1:
                    values[i] = arithmetic.product(total, Fraction(1, degree))
                    values[i + step] = arithmetic.reduce(values[i + step])
    if degree is None:
        reduce_some(arithmetic, values, mask)
    return max(values)


def require_rest(result: Fraction, bits: int, what: str) -> None:
    """Raise RangeError if a result is outside the range of residues at rest."""
    if result > REST[bits]:
        raise RangeError(f"{what}: a result can reach {float(result):.4f} q, beyond {REST[bits]} q")


def prove_forward(ranges: Ranges, log_degree: int) -> Fraction:
    """The largest intermediate of a forward transform, in units of q."""
    arithmetic = Arithmetic(ranges.bits)
    masks = {3: ranges.forward8, 2: ranges.forward4}
    bound = REST[ranges.bits]
    for stages in passes(log_degree, ranges.tail_stages):
        bound = forward(arithmetic, bound, stages, masks[stages])
    bound = forward(arithmetic, bound, ranges.tail_stages, ranges.forward_tail)
    require_rest(arithmetic.reduce(bound), ranges.bits, "ntt")
    return arithmetic.largest


def prove_inverse(ranges: Ranges, log_degree: int) -> Fraction:
    """The largest intermediate of an inverse transform, in units of q."""
    arithmetic = Arithmetic(ranges.bits)
    masks = {3: ranges.inverse8, 2: ranges.inverse4}
    plan = [(ranges.tail_stages, ranges.inverse_tail)]
    plan += [(stages, masks[stages]) for stages in reversed(passes(log_degree, ranges.tail_stages))]
    bound = REST[ranges.bits]
    for number, (stages, mask) in enumerate(plan, 1):
        bound = inverse(arithmetic, bound, stages, mask, 2**log_degree if number == len(plan) else None)
    require_rest(bound, ranges.bits, "intt")
    return arithmetic.largest


def require_all(results: Mapping[str, Fraction]) -> None:
    """Require a result of every pointwise kernel of the table, by name."""
    proved = {name for names in results for name in names.split(", ")}
    if missing := sorted(set(POINTWISE.findall(KERNELS.read_text())) - proved):
        raise RangeError(f"nothing is proved of the pointwise kernels {', '.join(missing)}; add their results")


def prove_pointwise(bits: int) -> Fraction:
    """The largest intermediate of the pointwise kernels, whose operands and results are at rest."""
    arithmetic, rest = Arithmetic(bits), REST[bits]
    product = arithmetic.product(rest, rest)
    results = {
        "add, sub, neg, add_scalar": arithmetic.reduce(arithmetic.add(rest, rest)),
        "mul": product,
        "mul_add": arithmetic.reduce(arithmetic.add(product, rest)),
        "mul_scalar": arithmetic.product(rest, roundings=2),
        "sub_scale": arithmetic.product(arithmetic.add(rest, rest), roundings=2),
        "join of one limb": arithmetic.product(Fraction(2**50 - 1, 2 ** (bits + 1)), roundings=2),
    }
    require_all(results)
    for what, result in results.items():
        require_rest(result, bits, what)
    return arithmetic.largest


def gpu_arithmetic(bits: int) -> Arithmetic:
    """nearest_product of gpu/arithmetic.hpp rounds the exact product of two doubles to an integer, up to 2^51."""
    return Arithmetic(bits, 2**51, rounds_last=False)


def prove_gpu_forward(ranges: StageRanges, log_degree: int) -> Fraction:
    """The largest intermediate of a forward transform on a GPU, in units of q."""
    arithmetic = gpu_arithmetic(ranges.bits)
    bound = REST[ranges.bits]
    for log_span in reversed(range(log_degree)):
        first = arithmetic.reduce(bound) if ranges.forward >> log_span & 1 else bound
        bound = arithmetic.add(first, arithmetic.product(bound))
    require_rest(arithmetic.reduce(bound), ranges.bits, "ntt")
    return arithmetic.largest


def prove_gpu_inverse(ranges: StageRanges, log_degree: int) -> Fraction:
    """The largest intermediate of an inverse transform on a GPU, in units of q."""
    arithmetic = gpu_arithmetic(ranges.bits)
    bound = REST[ranges.bits]
    for log_span in range(log_degree - 1):
        total = arithmetic.add(bound, bound)
        product = arithmetic.product(total)
        bound = max(product, arithmetic.reduce(total) if ranges.inverse >> log_span & 1 else total)
    total = arithmetic.add(bound, bound)
    differences = arithmetic.reduce(arithmetic.product(total))
    require_rest(max(differences, arithmetic.product(total, Fraction(1, 2**log_degree))), ranges.bits, "intt")
    return arithmetic.largest


def prove_gpu_pointwise(bits: int) -> Fraction:
    """The largest intermediate of the pointwise kernels of a GPU, whose operands and results are at rest."""
    arithmetic, rest = gpu_arithmetic(bits), REST[bits]
    product, total = arithmetic.product(rest, rest), arithmetic.reduce(arithmetic.add(rest, rest))
    results = {
        "add, sub, neg, add_scalar": total,
        "mul, mul_scalar": product,
        "mul_add": arithmetic.reduce(arithmetic.add(product, rest)),
        "sub_scale": arithmetic.product(total),
    }
    require_all(results)
    for what, result in results.items():
        require_rest(result, bits, what)
    return arithmetic.largest


def gpu_proofs(rows: Sequence[StageRanges]) -> Iterator[str]:
    """One line for each row of the table. Raises RangeError at the first bound that does not hold."""
    for row in rows:
        largest = {"pointwise": prove_gpu_pointwise(row.bits)}
        for name, prove in {"ntt": prove_gpu_forward, "intt": prove_gpu_inverse}.items():
            try:
                largest[name] = max(prove(row, log_degree) for log_degree in LOG_DEGREES)
            except RangeError as fault:
                raise RangeError(f"{name} of GPUs, primes below 2^{row.bits}: {fault}") from None
        sizes = ", ".join(f"{name} {float(bound):.2f} q" for name, bound in largest.items())
        yield f"primes below 2^{row.bits}, GPUs: intermediates up to {sizes}; exact below {2 ** (53 - row.bits)} q"


def prove_lazy(lazy: str, tiles: str, cluster: str) -> str:
    """One line on the butterflies of integers, whose sums grow until their kernel ends, in units of q: products are
    below 2. The last pass of an inverse kernel reduces the first word of each thread, which was in sums alone; its
    other words have been products in that pass.
    """
    constants = {name: int(value) for name, value in re.findall(r"(kLazy\w+) = (\d+);", lazy)}
    radices = [(int(stages), int(tile)) for stages, tile in re.findall(r"RadixOf<(\d), (\d+)>", tiles)]
    found = re.search(r"RadixOfCluster : Radix(\d+)", cluster)
    if sorted(constants) != ["kLazyBits", "kLazyMultipleBits"] or len(radices) != 4 or found is None:
        raise RangeError("the integers of GPUs, or the tiles of their transforms, are not what they were")
    multiple, limit = 2 ** constants["kLazyMultipleBits"], 2 ** (64 - constants["kLazyBits"])
    across = int(found[1]).bit_length() - 1
    largest = 1 + 2 * max(LOG_DEGREES)
    for log_degree in LOG_DEGREES:
        kernels = [(stages, min(tile, log_degree)) for stages, tile in radices] + [(across, log_degree - across)]
        for stages, in_first in kernels:
            bound = 1
            for stage in range(log_degree):
                if stage == in_first:
                    bound = 2**stages
                if bound > multiple:
                    raise RangeError(f"integers of GPUs: a difference of {bound} q, to which {multiple} q are added")
                largest = max(largest, bound + multiple, 2 * bound)
                bound = max(2 * bound, 2)
    if largest > limit:
        raise RangeError(f"integers of GPUs: a word can reach {largest} q, and 2^64 is {limit} q")
    return f"primes below 2^{constants['kLazyBits']}, integers on GPUs: words up to {largest} q of {limit} q"


SAME_LINES = (  # of accumulator.hpp, which make_accumulator repeats
    "constexpr std::size_t kMostTerms = 256;",
    "constexpr double kRestRange = 11.0 / 16.0;",
    "const double low_room = 0x1p53 - std::max(initial, kRestRange * q) - 2.01 * q;",
    "const double by_quotient = 0x1p52 * q / product - 1;",
    "int k = std::max(0, std::ilogb(product) - 51);",
    "const double by_high = 0x1p51 * unit / (product + unit / 2);",
    "const double by_low = k == 0 ? by_high : low_room / (unit / 2);",
    "if (terms > best.terms) best = {0x1.8p52 * unit, terms, true};",
    "if (best.terms >= wanted || by_low < by_high) break;",
    "best.rough = sum / q * 0x1.8p-52 > 1.0 / 17.0;",
)


@dataclass(frozen=True)
class Accumulator:
    """What make_accumulator returns, with k in place of the start."""

    k: int
    terms: int
    rough: bool


def make_accumulator(wanted: int, product: float, initial: float, q: float) -> Accumulator:
    """The same operations as in accumulator.hpp, whose lines SAME_LINES names."""
    low_room = 2.0**53 - max(initial, 11 / 16 * q) - 2.01 * q
    by_quotient = 2.0**52 * q / product - 1
    k, terms = 0, 0
    for place in range(max(0, math.frexp(product)[1] - 1 - 51), 54):
        unit = 2.0**place
        by_high = 2.0**51 * unit / (product + unit / 2)
        by_low = low_room / (unit / 2) if place else by_high
        room = int(max(min(by_high, by_low, by_quotient, 256.0), 0.0))
        if room > terms:
            k, terms = place, room
        if terms >= wanted or by_low < by_high:
            break
    total = product * min(terms, wanted) + low_room
    return Accumulator(k, terms, total / q * 1.5 * 2.0**-52 > 1 / 17)


def require_same_lines(source: str) -> None:
    """Raise RangeError if accumulator.hpp is not what make_accumulator repeats."""
    for line in SAME_LINES:
        if line not in source:
            raise RangeError(f"accumulator.hpp has no line {line!r}; change make_accumulator here with it")


def prove_sum(wanted: int, product: float, initial: float, q: int) -> int:
    """Terms at once, for a sum of `wanted` products modulo q that begins within `initial`."""
    choice = make_accumulator(wanted, product, initial, q)
    terms, unit = min(choice.terms, wanted), Fraction(2**choice.k)
    if terms == 0:
        raise RangeError(f"not one product of {product:g} can be added modulo {q}")
    each, rest = Fraction(product), REST[50 if q >= 2**49 else 49]
    if terms * (each + unit / 2) > 2**51 * unit:
        raise RangeError("the high word can leave the binade in which it is a multiple of 2^k")
    begin = max(Fraction(initial), rest * q)  # of the first part, and of what goes on from a residue
    low = begin + (terms * unit / 2 if choice.k else 0)
    total = terms * each + begin
    quotient = total / q * ((1 + ULP) ** 3 - 1) + HALF  # |S/q - c|: S, 1/q and their product are rounded
    if total / q > 2**52 + 2**48:
        raise RangeError("the quotient is too large for an exact integer with room to round")
    if low + quotient * q > 2**53:  # H - c q = (S - c q) - low
        raise RangeError(f"H - c q can reach {float((low + quotient * q) / 2**53):.3f} of 2^53")
    result = quotient if not choice.rough else HALF + quotient * ((1 + ULP) ** 2 - 1)
    if result > rest:
        raise RangeError(f"a sum can reach {float(result):.4f} q, beyond {rest} q")
    return terms


def prove_sums() -> str:
    """Products of residues at rest, and joins of 1 to 240 limbs, for moduli of 15 to 50 bits. Factors are bounded by
    the powers of two above them.
    """
    terms: dict[tuple[int, int], int] = {}
    for bits in range(15, 51):
        for q in (2**bits - 1, 2 ** (bits - 1) + 1):
            at_rest = float((REST[50] if q >= 2**49 else REST[49]) * q) ** 2
            for wanted in (1, 2, 5, 8, 14, 16, 64, 240):
                at_once = prove_sum(wanted, at_rest, 0, q)
                terms[bits, wanted] = min(at_once, terms.get((bits, wanted), at_once))
                for source in range(15, 51):
                    quotient_part = (wanted + 1) / 2 * (q / 2)
                    separate = quotient_part <= 2.0**52
                    prove_sum(wanted + (not separate), 2.0**source / 2 * (q / 2), quotient_part * separate, q)
                    part = max(2.0**source / 2, (wanted + 1) / 2)
                    prove_sum(wanted + 1, part * (q / 2), 0, q)  # of GPUs: the quotient is one factor more
    longest = ", ".join(f"{terms[bits, 240]} at {bits} bits" for bits in (47, 48, 49, 50))
    return f"sums of products at rest: exact, with as many at once as {longest}"


def prove_centred() -> str:
    """x - rint(fl(x fl(1/q))) q is the centred residue of any x at rest: the integers next to q/2 are 1/(2q) away from
    a half in units of q, and the two roundings are smaller than that.
    """
    for bits in range(15, 51):
        q = Fraction(2**bits - 1)
        if (HALF + 1 / (2 * q)) * ((1 + ULP) ** 2 - 1) >= 1 / (2 * q):
            raise RangeError(f"a residue next to q/2 can be centred wrongly for q of {bits} bits")
    return "residues at rest: centred exactly"


def prove_streams(source: str) -> str:
    """Words x < 2^64 of a keystream, H + L with L < 2^32, whose residue is (H - c q) + L, c being rint of
    fl(fl(H + L) fl(1/q)): at rest for the primes that are not reduced once more, and exact before that for all.
    """
    small = re.search(r"is_small_\(p\.q < 0x1p(\d+)\)", source)
    if small is None:
        raise RangeError("seeded_simd.hpp does not say below which prime residues of words are reduced once more")
    rest = min(REST.values())
    for bits in range(1, 51):
        q = Fraction(2**bits)  # and above
        off = HALF + 2**64 / q * ((1 + ULP) ** 3 - 1)  # |x/q - c|: H + L, 1/q and their product are rounded
        if off * q + 2**32 > 2**53:  # |H - c q| = |r - L|
            raise RangeError(f"a word modulo a prime above 2^{bits} is not exact")
        if bits >= int(small[1]) and off > rest:
            raise RangeError(f"a word modulo a prime above 2^{bits} can leave {float(off):.4f} q, beyond {rest} q")
    return f"words of streams: exact, and at rest for primes from 2^{small[1]} on, below after one more reduction"


def proofs(rows: Sequence[Ranges]) -> Iterator[str]:
    """One line for each thing proved. Raises RangeError at the first that does not hold."""
    for row in rows:
        words = 1 << row.tail_stages
        largest = {"pointwise": prove_pointwise(row.bits)}
        for name, prove in {"ntt": prove_forward, "intt": prove_inverse}.items():
            try:
                degrees = range(row.tail_stages + 2, LOG_DEGREES.stop)  # with a pass before the tails
                largest[name] = max(prove(row, log_degree) for log_degree in degrees)
            except RangeError as fault:
                raise RangeError(f"{name} of {words} words, primes below 2^{row.bits}: {fault}") from None
        sizes = ", ".join(f"{name} {float(bound):.2f} q" for name, bound in largest.items())
        limit = f"exact below {2 ** (53 - row.bits)} q"
        yield f"primes below 2^{row.bits}, {words} words: intermediates up to {sizes}; {limit}"


def main() -> int:
    """Print what is proved; 1 if something is not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    try:
        for line in proofs(read_ranges((root / "cpp/backend/cpu/ntt_ranges.hpp").read_text())):
            print(line)
        for line in gpu_proofs(read_stage_ranges((root / "cpp/backend/gpu/ntt_ranges.hpp").read_text())):
            print(line)
        kernels = root / "cpp/backend/gpu/kernels"
        print(
            prove_lazy(
                (root / "cpp/backend/gpu/u64_lazy.hpp").read_text(),
                (kernels / "ntt_tile.hpp").read_text(),
                (kernels / "ntt_cluster.hpp").read_text(),
            )
        )
        require_same_lines((root / "cpp/backend/accumulator.hpp").read_text())
        streams = prove_streams((root / "cpp/backend/cpu/seeded_simd.hpp").read_text())
        print(prove_sums(), prove_centred(), streams, sep="\n")
    except RangeError as fault:
        print(f"ranges: {fault}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
