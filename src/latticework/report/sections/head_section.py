"""Head of a report: security, precision, levels, time, memory, keys; and its notes."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.errors.shown import count_noun
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.estimate import CostEstimate
from latticework.plan.cost import ClientCosts
from latticework.plan.schema.schema import ClientSpec
from latticework.report.blocks import Section, Words
from latticework.report.quantities import bits_text, count, duration, relative_bits, size
from latticework.report.sections.chain_section import LevelRow, LevelUse
from latticework.report.sections.interface_section import OutputRow
from latticework.report.sections.key_section import KeyRow

MOST_SINGLE = 1 << 60  # of a plaintext modulus

Fact = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Security:
    """The security of the parameters.

    bits   security level asked for;  limit_bits  largest log2(QP) for it, None where the table has no entry
    """

    ring_degree: int
    log2_qp: float
    limit_bits: int | None
    bits: int
    insecure: bool

    def fact(self) -> Fact:
        """The verdict, and what it rests on."""
        limit = "no known limit" if self.limit_bits is None else f"limit {self.limit_bits}"
        verdict = "INSECURE" if self.insecure else f"{self.bits}-bit classical, ternary secret"
        return "Security", verdict, f"N = {count(self.ring_degree)}, log2(QP) = {self.log2_qp:.1f}, {limit}"

    def warning(self) -> str:
        """The banner of a parameter set that was asked for with insecure=True; else nothing."""
        if not self.insecure:
            return ""
        limit = (
            f"no modulus is known to give {self.bits}-bit security at this ring degree"
            if self.limit_bits is None
            else f"{self.bits}-bit security allows {self.limit_bits}"
        )
        return (
            f"INSECURE: compiled with insecure=True. log2(QP) = {self.log2_qp:.1f} at N = {self.ring_degree}; "
            f"{limit}. Anyone may be able to read what is encrypted. Only for tests with data that are not secret."
        )


@dataclass(frozen=True)
class RowCosts:
    """The cost of a row of a batch, of a run that is full.

    count            rows that a run holds
    seconds          of later runs; None for a client file
    encrypt_seconds, decrypt_seconds, input_bytes, result_bytes  at the client, predicted
    """

    count: int
    seconds: float | None
    encrypt_seconds: float
    decrypt_seconds: float
    input_bytes: float
    result_bytes: float

    def fact(self) -> Fact:
        """The number of rows, and what one takes, as a fact."""
        run = "" if self.seconds is None else f"{duration(self.seconds)} of a run, "
        said = (
            f"{run}{duration(self.encrypt_seconds)} to encrypt, {duration(self.decrypt_seconds)} to decrypt, "
            f"{size(round(self.input_bytes))} there, {size(round(self.result_bytes))} back"
        )
        return "A row", f"1 of {count(self.count)} rows in a run", said


def row_costs(spec: ClientSpec, taken: ClientCosts, run: float | None) -> RowCosts | None:
    """A run's shares of one row; None where it holds but one input of the program."""
    if spec.rows == 1:
        return None
    rows = spec.rows * (spec.batch.rows if spec.batch is not None and spec.batch.inputs else 1)
    seconds = taken.encrypt_seconds / rows, taken.decrypt_seconds / rows
    sizes = taken.input_bytes / rows, taken.result_bytes / rows
    return RowCosts(rows, None if run is None else run / rows, *seconds, *sizes)


def precision_fact(precision_bits: float, plain_modulus: int, outputs: Sequence[OutputRow]) -> Fact:
    """The precision of results, for inputs like those of calibration, and what was asked, as a fact."""
    if plain_modulus > MOST_SINGLE:
        return "Precision", "exact", f"on integers of {plain_modulus.bit_length() - 1} bits (BFV, plaintext moduli)"
    if plain_modulus:
        return "Precision", "exact", f"on integers modulo {count(plain_modulus)} (BFV)"
    bits = [relative_bits(o.usual_error, o.magnitude) for o in outputs]
    known = [b for b in bits if b is not None]
    return "Precision", bits_text(min(known)) if known else "not known", f"{precision_bits:g} bits asked"


def level_fact(use: LevelUse, levels: Sequence[LevelRow], special: Sequence[float], *, is_exact: bool) -> Fact:
    """Levels, or of exact integers the modulus."""
    primes = f"{sum(len(r.limbs) for r in levels)} primes and {len(special)} special"
    if is_exact:
        return "Modulus", f"{levels[0].log2_modulus:.0f} bits", primes
    return "Levels", use.spent_text(), f"{use.from_to()}: {primes}"


def run_facts(cost: CostEstimate) -> list[Fact]:
    """Time and memory of a run."""
    first = f"{duration(cost.first_seconds)} first run; predicted, one thread"
    memory = f"at peak, predicted; keys {size(cost.memory.keys)} of it"
    return [("Time", f"{duration(cost.warm_seconds)} later runs", first), ("Memory", size(cost.memory.total), memory)]


def key_fact(keys: Sequence[KeyRow]) -> Fact:
    """The number of evaluation keys and their bytes, as a fact."""
    stored, resident = (sum(k.stored_bytes for k in keys), sum(k.resident_bytes for k in keys))
    return "Evaluation keys", count_noun(len(keys), "key"), f"{size(stored)} to send, {size(resident)} in memory"


def notes_section(notes: tuple[str, ...]) -> Section:
    """Make the section of notes on what the numbers rest on."""
    return Section("Notes", (Words(notes, "list", data={"notes": notes}),))
