"""A report as JSON, for programs: every figure of the text, unrounded.

One object. Keys stay; later versions may add some. Seconds and bytes are plain numbers, what does not apply or is not
known is null, and so are numbers that are not finite.

  format           version of this description: 1
  name             of the program
  security         ring_degree, log2_qp, limit_bits, bits, insecure
  precision_bits   asked for;  plain_modulus: t of exact integers, else null
  levels           spent, first (of inputs), last (of outputs), chain (levels of the modulus chain), and the chain:
                   moduli (level, limbs, prime_bits, scale, log2_modulus, digits), special_bits, digits
  inputs           name, shape, layout, words (the layout in a sentence), slots, vectors (ciphertexts), level, low,
                   high, limit (of public integers), bytes
  outputs          name, shape, layout, words, slots, vectors, level, bytes, usual_error (bound for inputs like those
                   of calibration), error_bound (for every accepted input if is_proved), worst_case (by the worst
                   noise), magnitude (largest in calibration), approximation (part of usual_error by approximating
                   functions), shift (what that changes on calibration data), budget_bits (if exact),
                   is_proved, conditions (what has to hold for error_bound beside that an input is accepted, in words)
  keys             kind, steps (of rotations), level, uses, log2_qp, stored_bytes, resident_bytes
  client           predicted for one thread: keygen_seconds, encrypt_seconds, decrypt_seconds; memory: keygen_bytes,
                   encrypt_bytes, decrypt_bytes; sizes: input_bytes, result_bytes, key_bytes, file_bytes
  owner            what is computed in the clear; null where nothing is: before (name of what is given, of: the
                   encrypted input, shape, steps in words), after (name of the result, of: the decrypted output, ...),
                   ranges (accepted: given, column, name, low, high), learned (weights in the client's file)
  row              of a batch, of a full run; null where a run holds one: count (rows of a run), seconds (of later runs;
                   null in client files), encrypt_seconds, decrypt_seconds, input_bytes, result_bytes
  notes            sentences on what the numbers rest on
and, but for client files, which hold no code:
  time             predicted seconds on one thread: later_runs, encoding, memory (from the system), first_run (the sum
                   of these), key_loading (once before), by_kind (of later runs), table (of costs: where it is from)
  memory           predicted bytes at peak: values (ciphertexts and scratch), keys, constants, total
  lines            where, text, seconds (of later runs), encode_seconds (the first run adds), by_kind, levels (highest,
                   lowest), operations (text, seconds, encode_seconds, levels); seconds add up to later_runs
  operations       how often each kind runs, loops multiplied out;  instructions: of the code
  timeline         kind, op, level, lines (where, text), seconds, trips, instructions, in the order of the code;
                   bootstrap: number of the call that it is part of, else null
  bootstraps       null where there are none: calls (where, text, slots, ciphertexts, real, iterations, level,
                   target_level, times, seconds, encode_seconds), number (of ciphertexts in a run), seconds (of later
                   runs), keys that serve them alone (num_keys, stored_bytes, resident_bytes), failure_log2, weighed
                   (chains compared: name, iterations, ring_degree, levels, seconds of a run, is_placed or roughly
                   estimated, reached bits where those are too few, chosen)
  loops            those that bootstrap: where, text, values (name, levels: op, where, level, from the start of an
                   iteration to its end)
  approximations   one object a function;  loss: what given degrees lose, in words;  scores: measure, rows, exact,
                   approximated, against labels; null if there were none
  layouts          layout, words, shape, tensors
  layout_choice    explored, bits_a_second, steps, endings; null if the plan does not say
  circuit          the schedule of a circuit of scalars; null for programs on arrays
  under_budget     null where no budget of memory was given; of a server with it, in bytes: budget_bytes; values of
                   runs at the same time, most_runs that there is room for; tables; constants (budget_bytes, bytes,
                   all_bytes; how many whole, rounded, anew; seconds of a run);
                   keys (budget_bytes, peak_bytes, all_bytes, row_bytes; loads of rows, loaded_bytes, is_exact, stalls,
                   stall_seconds); peak_bytes of all, smallest_bytes, set_by (op, where); seconds of a run, and
                   resident_seconds with everything in memory; lines that read keys (where, text, used, loads, stalls,
                   stall_seconds); over_time (start, seconds, waiting, where, text, op, bootstrap: a number;
                   most_bytes, held_bytes, being_read, kept, unneeded; loads, stalls); key_loops (trips, start,
                   alike_start, alike_end, end: seconds of over_time, turns in between told as one; depth); curve
                   (budget_bytes, seconds, peak_bytes, key_bytes, constant_bytes, loads, stalls, stall_seconds)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

from latticework.packing.pack import PackMap
from latticework.report.data import Contents, Execution, Line, Moment
from latticework.report.layout_words import layout_words
from latticework.report.memory import memory_data
from latticework.report.wording import family_seconds

FORMAT = 1
_RESHAPED = ("levels", "level_use", "special_bits", "digits", "plain_modulus", "execution")


def render_json(report: Contents) -> str:
    """The report as JSON text; what names hold of others' text is escaped by JSON itself."""
    return json.dumps(report_data(report), indent=1, allow_nan=False) + "\n"


def report_data(report: Contents) -> dict[str, Any]:
    """The object, as dictionaries and lists."""
    use = report.level_use
    data = {"format": FORMAT, **{f.name: getattr(report, f.name) for f in fields(Contents) if f.name not in _RESHAPED}}
    data["plain_modulus"] = report.plain_modulus or None
    data["levels"] = {
        "spent": use.spent, "first": use.first, "last": use.last, "chain": use.chain, "moduli": report.levels,
        "special_bits": report.special_bits, "digits": report.digits,
    }  # fmt: skip
    if report.execution is not None:
        data.update(_execution(report.execution))
    plain: dict[str, Any] = _plain(data)
    return plain


def _execution(execution: Execution) -> dict[str, Any]:
    cost = execution.estimate
    return {
        "time": {
            "later_runs": cost.warm_seconds, "encoding": cost.encode_seconds, "memory": cost.fresh_seconds,
            "first_run": cost.first_seconds, "key_loading": cost.key_load_seconds,
            "by_kind": family_seconds(execution), "table": execution.table,
        },
        "memory": {
            "values": cost.memory.values, "keys": cost.memory.keys, "constants": cost.memory.constants,
            "total": cost.memory.total,
        },
        "lines": [_rename(line) for line in execution.lines],
        "operations": cost.counts,
        "instructions": execution.instructions,
        "timeline": [_rename(moment) for moment in execution.timeline],
        "bootstraps": execution.bootstraps,
        "loops": execution.loops,
        "approximations": execution.approximations,
        "loss": execution.loss,
        "scores": execution.scores,
        "layouts": [
            {"layout": g.layout, "words": layout_words(g.pack), "shape": g.shape, "tensors": g.tensors}
            for g in execution.layouts
        ],
        "layout_choice": execution.choice,
        "circuit": execution.circuit,
        "under_budget": None if execution.under_budget is None else memory_data(execution.under_budget),
    }  # fmt: skip


def _rename(item: Line | Moment) -> dict[str, Any]:
    """The fields of a dataclass, families of operations as kinds."""
    names = {"by_family": "by_kind", "family": "kind"}
    return {names.get(f.name, f.name): getattr(item, f.name) for f in fields(item)}


def _plain(value: Any) -> Any:
    if isinstance(value, PackMap):
        return str(value)
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
