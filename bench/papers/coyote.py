"""Coyote (ASPLOS 2023): scalar circuits in BFV, N = 8192."""

from __future__ import annotations

from bench.coyote.published import LARGE, table1, tables
from bench.papers.evaluation import Cell, Line, Paper, Section, Verdict
from bench.papers.results import Result

OURS, COMPILED = Result("coyote-run-times"), Result("coyote")
DATA = tables()["coyote"]
SPEED_REASON = "the same two rotations and one product; the ratio depends on how long each library takes for them"


def paper() -> Paper:
    """All of its evaluation."""
    return Paper(
        "Coyote", "ASPLOS 2023; SEAL 3.7, BFV, N = 8192, 20-bit plaintext modulus",
        (_counts(), _by_hand(), _speedups(), _spread(), _polynomials(), _layouts(), _moves()),
    )  # fmt: skip


def _counts() -> Section:
    lines = []
    for name, theirs in table1().items():
        cells = (
            Cell(theirs.rotations + (theirs.blends or 0), OURS.ours(name, "rotations + blends")),
            Cell(theirs.muls, OURS.ours(name, "ciphertext products")),
            Cell(theirs.adds, _additions(name), is_fact=True),
            Cell(theirs.compile_seconds, COMPILED.ours(name, "compile")),
        )
        lines.append(Line(name, cells))
    return Section(
        "Table 1", ("rotations + blends", "ciphertext products", "additions (shown)", "compile, s"), tuple(lines),
        f"{OURS}; compile times: {COMPILED}",
        "Ours has at most as many client ciphertexts and slots as the class of the row. Its ideal speed-ups are no "
        "measurements. mm.16 is one product of matrices here, not 64 blocks, with 31 "
        "products with constants; ours adds where theirs blends.",
    )  # fmt: skip


def _additions(name: str) -> float:
    found: float = OURS.rows[name, "rotations + blends"]["details"]["vector"]["adds"]
    return found


def _by_hand() -> Section:
    lines = []
    why = "the paper does not print its experts' code, and ours by hand takes longer than what is compiled"
    for name, coyote, expert in DATA["table2"]:
        ours = OURS.ratio(f"{name}.un", "run, beside code by hand")
        lines.append(Line(name, (Cell(coyote / expert, ours),), why, Verdict.NOT_COMPARABLE))
    return Section("Table 2", ("time by that of code by hand",), tuple(lines), str(OURS))


def _speedups() -> Section:
    lines = []
    for name, _, limited, seconds, exact in DATA["table3"]:
        ours = OURS.ours(name, "speed-up over scalar code")
        compiling = Cell(seconds, COMPILED.ours(name, "compile"), is_fact=True)
        cells = (Cell(max(limited, exact), ours, higher=True), compiling)
        line = Line(name, cells)
        lines.append(Line(name, cells, SPEED_REASON) if line.verdict is Verdict.LOST else line)
    scalar, vector = DATA["blocked_mm16_s"]["scalar"], DATA["blocked_mm16_s"]["vector"]
    lines.append(
        Line("mm.16.blocked", (Cell(scalar / vector, OURS.ours(LARGE, "speed-up over scalar code"), higher=True),))
    )
    return Section(
        "Table 3 and the text", ("times faster than scalar code", "compile without time-out, s (shown)"), tuple(lines),
        f"{OURS}; compile times: {COMPILED}", "Of the paper's two columns the better one.",
    )  # fmt: skip


def _spread() -> Section:
    def least_and_most(names: list[str]) -> tuple[float, float]:
        found = [OURS.ours(name, "speed-up over scalar code") or 0.0 for name in names]
        return min(found), max(found)

    classes = ("un", "partially", "fully")
    distances = least_and_most([f"dist.{n}.{c}" for n in (3, 4, 5) for c in classes])
    products = least_and_most([f"mm.{n}.{c}" for n in (2, 3) for c in classes])
    lines = (
        Line("distances of points, the least", (Cell(1.5, distances[0], higher=True),)),
        Line("products of matrices, the most", (Cell(3.5, products[1], higher=True),)),
    )
    return Section("Figure 6, whose ends alone the text states", ("times faster than scalar code",), lines, str(OURS))


def _polynomials() -> Section:
    deep, shallow = Result("coyote-polynomials"), Result("coyote-polynomials-depth-5")
    most = DATA["polynomials"]["speedup_max"]
    metric, lines = "speed-up over scalar code, geometric mean", []
    for depth, found in ((5, shallow), (10, deep)):
        for regime in ("full, one operation", "full, both operations", "sparse"):
            case = f"{regime}, depth {depth}"
            lines.append(Line(case, (Cell(most, found.ours(case, metric), higher=True),)))
    return Section(
        "Figure 7, random polynomials", ("times faster than scalar code",), tuple(lines), f"{shallow}; {deep}",
        "The text states only that none exceeds 1.4; ours are geometric means of five trees, deeper ones in rings "
        "of up to 32768.",
    )  # fmt: skip


def _layouts() -> Section:
    found = Result("coyote-layouts")
    lines = tuple(
        Line(case, (Cell(rotations + blends, found.ours(f"mm.3 {case}", "rotations + blends")),))
        for case, rotations, blends in tables()["coyote_repository"]["figure8"]
    )
    ratio = found.cell("mm.3", "rotations of individual by those of together")
    why = "a ratio of two layouts, of which neither is a merit"
    lines += (Line("rotations of individual by those of together", (ratio,), why, Verdict.NOT_COMPARABLE),)
    return Section(
        "Figure 8, layouts of the inputs of mm.3", ("rotations + blends",), lines, str(found),
        "Counts of the authors' repository; the figure has no numbers.",
    )  # fmt: skip


def _moves() -> Section:
    found = Result("coyote-effort")
    why = "the paper draws a trend without figures; ours is the same: more moves find no worse code"
    lines = []
    for name in ("un", "partially", "fully"):
        costs = [found.ours(f"dist.5.{name}, {n} moves a round", "cost after 150 rounds, median of 5 seeds") or 0.0
                 for n in (10000, 15000, 20000)]  # fmt: skip
        lines.append(
            Line(f"dist.5.{name}", (Cell(None, costs[2] / costs[0], is_fact=True),), why, Verdict.NOT_COMPARABLE)
        )
    aligned = Result("coyote-alignment")
    shorter = sum(row["ours"] < row["reference"] for row in aligned.content["rows"])
    lines.append(Line(
        f"exact alignment, of {len(aligned.content['rows'])} kernels",
        (Cell(None, float(shorter), is_fact=True),), why, Verdict.NOT_COMPARABLE,
    ))  # fmt: skip
    return Section(
        "Studies of the search",
        ("cost of 20,000 moves by that of 10,000; kernels made shorter",),
        tuple(lines),
        f"{found}; {aligned}",
    )
