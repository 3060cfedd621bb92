"""Phrases that the text and the page share."""

from __future__ import annotations

from math import isfinite

from latticework.analysis.estimate import CostEstimate, OperationCounts
from latticework.cost import ClientCosts
from latticework.report.data import (
    ApproximationRow,
    Contents,
    Execution,
    KeyRow,
    LayoutChoice,
    LayoutEnding,
    LayoutStep,
    LevelUse,
    Line,
    OutputRow,
    RowCosts,
    Security,
)
from latticework.report.families import FAMILIES, LABELS
from latticework.report.quantities import count, difference, duration, rate, real, relative_bits, share, size, small

BROKEN_DOWN = 0.1  # share of a run from which on a line is shown operation by operation

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
    """(name, count) of every kind of operation; bootstraps, which consist of the others, where there are any."""
    found = [(name, getattr(counts, field)) for name, field in _OPERATIONS]
    return found + [("bootstraps, of all of these", counts.bootstraps)] * bool(counts.bootstraps)


def time_rows(cost: CostEstimate) -> list[tuple[str, float]]:
    """(name, seconds) of all that a run takes: the only times of a whole run that a report states."""
    return [
        ("later runs", cost.warm_seconds),
        ("encoding constants, in the first run only", cost.encode_seconds),
        ("memory from the system, in the first run only", cost.fresh_seconds),
        ("first run", cost.first_seconds),
        ("loading the keys, once before the first run", cost.key_load_seconds),
    ]


CLIENT_HEADS = ("step", "time", "memory", "bytes")


def client_rows(costs: ClientCosts) -> list[tuple[str, str, str, str]]:
    """What each step of the client takes, and what it sends, gets or keeps."""
    steps = [
        ("making keys, once", costs.keygen_seconds, costs.keygen_bytes, costs.key_bytes, "to send"),
        ("encryption", costs.encrypt_seconds, costs.encrypt_bytes, costs.input_bytes, "to send"),
        ("decryption", costs.decrypt_seconds, costs.decrypt_bytes, costs.result_bytes, "to get"),
    ]
    rows = [(step, duration(s), size(memory), f"{size(moved)} {where}") for step, s, memory, moved, where in steps]
    return [*rows, ("client file", "", "", f"{size(costs.file_bytes)} to keep")]


def family_seconds(execution: Execution) -> dict[str, float]:
    """Seconds of a later run by family of operations."""
    totals = {family: sum(line.by_family.get(family, 0.0) for line in execution.lines) for family in FAMILIES}
    return {family: seconds for family, seconds in totals.items() if seconds > 0}


def family_rows(execution: Execution) -> list[tuple[str, str, str, str]]:
    """(family, its name, time, share) of a later run."""
    whole = execution.estimate.warm_seconds
    return [(f, LABELS[f], duration(s), share(s, whole)) for f, s in family_seconds(execution).items()]


def is_broken_down(line: Line, execution: Execution) -> bool:
    """Whether a line is shown operation by operation."""
    return bool(line.operations) and line.seconds >= BROKEN_DOWN * execution.estimate.warm_seconds


def levels_of_line(levels: tuple[int, int] | None) -> str:
    """5-3, or 5."""
    if levels is None:
        return ""
    return str(levels[0]) if levels[0] == levels[1] else f"{levels[0]}-{levels[1]}"


def spent_text(use: LevelUse) -> str:
    """How many levels a program takes."""
    return f"{use.spent} spent" if use.refreshed is None else f"{use.refreshed} left by bootstraps"


def level_use_text(use: LevelUse) -> str:
    """From where to where, and of how many."""
    return f"inputs at level {use.first}, outputs at level {use.last}; the modulus chain has {use.chain}"


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
    return f"{count(choice.explored)} placements compared, sending at {rate(choice.bits_a_second)}"


def ending_rows(choice: LayoutChoice) -> list[list[str]]:
    """(which, time, levels, ciphertexts) of every way that nothing beats, compared with the chosen one."""
    return [
        ["chosen" if e.chosen else "other", _slower(e), _more(e.levels), _more(e.ciphertexts)] for e in choice.endings
    ]


ENDING_HEADS = ("way", "time with sending", "levels", "ciphertexts sent and received")
ENDINGS_SAID = (
    "Ways to lay out the whole program of which none is better in time, levels and ciphertexts at once, compared with "
    "the one that was chosen. The search compares them before the parameters are known; every level makes a whole "
    "program slower, so one with fewer levels can be chosen that takes a little longer here."
)


def _slower(ending: LayoutEnding) -> str:
    if abs(ending.slower) < 5e-4:
        return "the same"
    return f"{difference(ending.slower)} {'more' if ending.slower > 0 else 'less'}"


def _more(number: int) -> str:
    return "the same" if number == 0 else f"{count(abs(number))} {'more' if number > 0 else 'fewer'}"


def made_text(step: LayoutStep) -> str:
    """Tensors with a name of the user's own, and how they are made."""
    names = ", ".join(step.names)
    return names if step.operation in step.names else f"{names} ({step.operation})"


def vectors_text(vectors: int) -> str:
    """How many ciphertexts a tensor takes."""
    return "1 ciphertext" if vectors == 1 else f"{count(vectors)} ciphertexts"


def behind_text(step: LayoutStep) -> str:
    """What the best other layout of a tensor would have meant for the whole program."""
    if abs(step.behind) < 5e-4:
        return "as good here"
    if step.behind < 0:
        return f"{difference(step.behind)} faster up to here, slower in the end"
    return f"{difference(step.behind)} slower"


def key_text(key: KeyRow) -> str:
    """A key by name: rotation +5."""
    return key.kind if key.steps is None else f"{key.kind} {key.steps:+d}"


def precision_text(report: Contents) -> str:
    """What was asked of outputs."""
    if report.plain_modulus:
        return f"exact, on integers modulo {count(report.plain_modulus)} (BFV)"
    return f"{report.precision_bits:g} bits asked"


def error_rows(report: Contents, output: OutputRow) -> list[tuple[str, str]]:
    """(what, how much) of all that is known of an output's error."""
    if report.plain_modulus:
        left = "not known" if output.budget_bits is None else f"{output.budget_bits:.0f} bits"
        return [("error", "none"), ("noise budget left", left)]
    usual = f"at most {small(output.usual_error)}{_bits_right(output.usual_error, output.magnitude)}"
    proved = f"at most {small(output.error_bound)}" if output.is_proved else "not proved"
    proved += ", by what the notes say" if output.conditions else ""
    rows = [
        ("error, for inputs like those of calibration", usual),
        ("error, for every accepted input", proved),
        ("error, by the worst noise", worst_case(output)),
    ]
    if output.approximation:
        part = f"up to {small(output.approximation)}, and {small(output.shift)} on the calibration data"
        rows.insert(1, ("of it by approximating functions", part))
    return rows


def degree_text(row: ApproximationRow) -> str:
    """A degree, and whether the user gave it."""
    return f"{row.degree}, given" if row.given else f"{row.degree}, composed" if row.form else str(row.degree)


def approximation_words(execution: Execution) -> list[str]:
    """What approximating functions means for results, in sentences."""
    scores = [] if execution.scores is None else [f"{execution.scores}."]
    forms = [f"{a.function} at {a.where} is {a.form}." for a in execution.approximations if a.form]
    return [*forms, *scores, *([execution.loss + "."] if execution.loss else [])]


def _bits_right(error: float, magnitude: float) -> str:
    bits = relative_bits(error, magnitude)
    if bits is None:
        return ""
    return f" = {bits_text(bits)} of {real(magnitude)}"


def bits_text(bits: float) -> str:
    """Bits that an error leaves right."""
    return f"{bits:.1f} bits" if bits > 0 else "no bit"


def worst_case(output: OutputRow) -> str:
    """What an output's error cannot exceed whatever the noise, where that says something."""
    if output.worst_case is None:
        return "not known"
    if not isfinite(output.worst_case) or output.worst_case >= output.magnitude > 0:
        return "no useful bound"
    return f"at most {small(output.worst_case)}"


def row_text(row: RowCosts) -> str:
    """What one row of a batch takes."""
    run = "" if row.seconds is None else f"{duration(row.seconds)} of a run, "
    return (
        f"{run}{duration(row.encrypt_seconds)} to encrypt, {duration(row.decrypt_seconds)} to decrypt, "
        f"{size(round(row.input_bytes))} there, {size(round(row.result_bytes))} back"
    )
