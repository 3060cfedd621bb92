"""Phrases that the text and the page share."""

from __future__ import annotations

from latticework.cost import OperationCounts
from latticework.report.data import Contents, KeyRow, LayoutChoice, LayoutStep, OutputRow, Security
from latticework.report.quantities import count, duration, rate, small

_OPERATIONS = (
    ("rotations", "rotations"),
    ("relinearisations", "relinearizations"),
    ("key switches, all", "key_switches"),
    ("hoisted decompositions", "hoists"),
    ("ciphertext \N{MULTIPLICATION SIGN} ciphertext", "ciphertext_products"),
    ("ciphertext \N{MULTIPLICATION SIGN} plaintext", "plaintext_products"),
    ("ciphertext \N{MULTIPLICATION SIGN} integer", "integer_products"),
    ("rescales", "rescales"),
    ("divisions by P", "mod_downs"),
    ("additions", "additions"),
    ("constants encoded", "encodes"),
)


def operation_rows(counts: OperationCounts) -> list[tuple[str, int]]:
    """(name, count) of every kind of operation."""
    return [(name, getattr(counts, field)) for name, field in _OPERATIONS]


def security_text(security: Security) -> str:
    """The security line."""
    limit = "no known limit" if security.limit_bits is None else f"limit {security.limit_bits}"
    verdict = "INSECURE" if security.insecure else f"{security.bits}-bit classical, ternary secret"
    return f"{verdict}; N = {security.ring_degree}, log2(QP) = {security.log2_qp:.1f} ({limit})"


def insecure_warning(security: Security) -> str:
    """The banner of a parameter set that was asked for with insecure=True."""
    limit = (
        f"no modulus is known to give {security.bits}-bit security at this ring degree"
        if security.limit_bits is None
        else f"{security.bits}-bit security allows {security.limit_bits}"
    )
    return (
        f"INSECURE: compiled with insecure=True. log2(QP) = {security.log2_qp:.1f} at N = {security.ring_degree}; "
        f"{limit}. Anyone may be able to read what is encrypted. Only for tests with data that are not secret."
    )


def choice_text(choice: LayoutChoice) -> str:
    """What was searched."""
    return f"{count(choice.explored)} placements priced, sending at {rate(choice.bits_a_second)}"


def made_text(step: LayoutStep) -> str:
    """Tensors with a name of the user's own, and how they are made."""
    names = ", ".join(step.names)
    return names if step.operation in step.names else f"{names} ({step.operation})"


def vectors_text(vectors: int) -> str:
    """How many ciphertexts a tensor takes."""
    return "1 ciphertext" if vectors == 1 else f"{count(vectors)} ciphertexts"


def behind_text(step: LayoutStep) -> str:
    """What the best other layout of a tensor would have meant."""
    if abs(step.behind) < 1e-9:
        return "as good here"
    if step.behind < 0:
        return f"{duration(-step.behind)} ahead here, behind in the end"
    return f"{duration(step.behind)} behind"


def key_text(key: KeyRow) -> str:
    """A key by name: rotation +5."""
    return key.kind if key.steps is None else f"{key.kind} {key.steps:+d}"


def precision_text(report: Contents) -> str:
    """What was asked of outputs."""
    if report.plain_modulus:
        return f"exact, on integers modulo {count(report.plain_modulus)} (BFV)"
    return f"{report.precision_bits:g} bits asked"


def error_heads(report: Contents) -> tuple[str, str]:
    """What stands over the two columns on errors."""
    return ("error", "noise budget left") if report.plain_modulus else ("error bound", "worst case")


def error_text(report: Contents, output: OutputRow) -> str:
    """How far off an output may be."""
    if report.plain_modulus:
        return "none"
    proved = f"{small(output.error_bound)} for every accepted input" if output.is_proved else "not proved for others"
    return f"{small(output.usual_error)} for inputs like calibration's, {proved}"


def worst_case(report: Contents, output: OutputRow) -> str:
    """The worst case of an output's error, or how far it is from being wrong, if the code that makes it is at hand."""
    if report.plain_modulus:
        return "not known" if output.budget_bits is None else f"{output.budget_bits:.0f} bits"
    return "not known" if output.worst_case is None else small(output.worst_case)
