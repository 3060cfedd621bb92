"""The page of performance over commits: a table for each processor, with a curve for each case, in one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bench.performance.records import LAST, LIMIT, Change, Record, compare

WIDTH, HEIGHT, MARGIN = 220, 28, 3
STYLE = """body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#222}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:right}
th:first-child,td:first-child{text-align:left}.slower{color:#b00020;font-weight:600}.faster{color:#1b6e2e}
polyline{fill:none;stroke:#2c5aa0;stroke-width:1.5}circle{fill:#2c5aa0}p{max-width:60em}"""
TITLE = "Performance over commits"
INTRODUCTION = f"""<p>Processor time of each case, divided by that of a calibration loop that runs before and after
it in the same process: medians. The change compares the newest commit with the median of up to {LAST} records before
it of the same processor; from {100 * LIMIT:g} % on it is marked as slower. <em>Spread</em> is the distance between the
quartiles of the rounds, as a share of the median: a change below it says little. Curves begin at zero.</p>"""


def render(records: Sequence[Record]) -> str:
    """The page as HTML."""
    processors = dict.fromkeys(record["cpu"] for record in records)
    tables = [table(cpu, [record for record in records if record["cpu"] == cpu]) for cpu in processors]
    about = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"/>'
    about += f"<title>{TITLE}</title><style>{STYLE}</style>"
    head = f'<!doctype html>\n<html lang="en"><head>{about}</head>'
    content = "\n".join(tables) or "<p>There are no records yet.</p>"
    return f"{head}\n<body><h1>{TITLE}</h1>\n{INTRODUCTION}\n{content}\n</body></html>\n"


def table(cpu: str, records: Sequence[Record]) -> str:
    """The records of one processor."""
    newest = records[-1]
    names = ", ".join(f"{escape(record['commit'])} ({escape(record['date'][:10])})" for record in records)
    rows = "\n".join(row(change, newest, records) for change in compare(records, newest))
    columns = ("case", "milliseconds", "loops", "spread", "change", "over commits")
    head = "<tr>" + "".join(f"<th>{name}</th>" for name in columns) + "</tr>"
    loop = f"One calibration loop took {1e3 * newest['calibration']:.3g} ms, Python {escape(newest['python'])}."
    told = f"<h2>{escape(cpu)}</h2>\n<p>Commits: {names}. {loop}</p>"
    return f'{told}\n<div class="wide"><table>\n{head}\n{rows}\n</table></div>'


def row(change: Change, newest: Record, records: Sequence[Record]) -> str:
    """One case."""
    figures = newest["cases"][change.case]
    kind = "slower" if change.is_slower else "faster" if change.share <= -LIMIT else ""
    said = "" if change.before is None else f"{100 * change.share:+.1f} %"
    cells = (f"{1e3 * figures['seconds']:.4g}", f"{figures['ratio']:.4g}", f"{100 * figures['spread']:.1f} %")
    curve = sparkline([record["cases"].get(change.case, {}).get("ratio") for record in records])
    numbers = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><td>{escape(change.case)}</td>{numbers}<td class="{kind}">{said}</td><td>{curve}</td></tr>'


def sparkline(ratios: Sequence[float | None]) -> str:
    """A curve from zero to the largest ratio; commits without the case are left out."""
    known = [(place, ratio) for place, ratio in enumerate(ratios) if ratio is not None]
    if not known:
        return ""
    most, across = max(ratio for _, ratio in known) or 1.0, max(len(ratios) - 1, 1)
    points = [
        (MARGIN + (WIDTH - 2 * MARGIN) * place / across, HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * ratio / most)
        for place, ratio in known
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    label = escape(", ".join(f"{ratio:.4g}" for _, ratio in known))
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{label}"><polyline points="{line}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/></svg>'
    )
