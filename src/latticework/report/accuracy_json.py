"""The report on accuracy as JSON, for programs: every figure of the text, unrounded.

One object. Keys stay; later versions may add some. What does not apply is null, and so are numbers that are not finite.

  format          version of this description: 1
  name            of the program;  precision_bits  asked for
  rows            of the data, numbered from 0;  unit  "row", or "run" of the program
  measure         of scores: "accuracy" or "R^2"; null without labels
  decision        what is compared, in words;  tolerance  within which numbers agree
  seed            of the simulated noise
  refused         numbers of the rows that clients refuse, or of which the program itself has no finite result
  columns         float, approximated, simulated, encrypted: name, rows (numbers), score, float_score (of the program
                  itself on these rows), agreement (with the column before), differing (numbers of rows), error
                  (largest), relative (to the largest output of calibration), first_off (null, or where, text, name,
                  error, moves, allowed, row)
  lines           values in program order: where, text, name, low, high (reached by the program itself), calibrated
                  (largest magnitude), errors (approximated, simulated, encrypted), function: null, or function, low,
                  high (of arguments), interval, counts (of arguments by equal parts of it), outside (rows), may_leave,
                  leaving (estimated share of inputs), degree (of each polynomial in a row), given, max_error,
                  reached_error, effect (on results, to the largest of calibration), share, step (null, or degree,
                  max_error, levels, products, seconds, larger_ring)
  noise_effect, noise_share  of encryption;  effect_runs  that effects were looked for in
  unlike          rows that are unlike calibration: kind, rows, said
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

from latticework.report.accuracy_data import AccuracyContents

FORMAT = 1


def render_accuracy_json(report: AccuracyContents) -> str:
    """The report as JSON text."""
    return json.dumps(accuracy_data(report), indent=1, allow_nan=False) + "\n"


def accuracy_data(report: AccuracyContents) -> dict[str, Any]:
    """The same as plain data."""
    found = {f.name: _plain(getattr(report, f.name)) for f in fields(report)}
    return {"format": FORMAT, **found, "refused": list(report.refused)}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.repr}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value
