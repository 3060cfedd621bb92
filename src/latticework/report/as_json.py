"""A report as JSON, for programs: every figure of the text, unrounded.

One object. Keys stay; later versions may add some. Seconds and bytes are plain numbers, what does not apply or is not
known is null, and so are numbers that are not finite.

  format           version of this description: 1
  name             of the program
  security         ring_degree, log2_qp, limit_bits, bits, insecure
  precision_bits   asked for;  plain_modulus: t of exact integers, the product of several, else null
  levels           spent, first (of inputs), last (of outputs), chain (levels of the modulus chain), and the chain:
                   moduli (level, limbs, prime_bits, scale, log2_modulus, digits), special_bits, digits
  inputs           name, shape, layout, words (the layout in a sentence), slots, vectors (ciphertexts), level, low,
                   high, limit (of public integers), bytes
  arguments        of circuits, where ciphertexts hold several values that users give: name, shape, input, low, high,
                   bits (digits of each number)
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
  kept             of the model that it was compiled like (like=); null where there was none: program (its name),
                   interface (names its client file), keeps (of "secret key", "evaluation keys", "client file"), why
                   (the client file is another, in words), new_keys, num_keys (in all), notes (on what was relaxed)
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
  layout_choice    explored, bits_a_second (1e18: sending was left out), steps, endings; null if the plan does not say
  rows_choice      ways to compute rows of a batch that were compared: objective, bits_a_second, ways (slots of a row,
                   rows, ring_degree, num_keys, key_bytes, sent_bytes, returned_bytes, seconds of a run; refused, why
                   there is no plan; behind, times as long by its layouts, where none was made; chosen); null where
                   there was no choice
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

from latticework.report.blocks import Document, Fold, ReportBlock, SideBySide
from latticework.values.packing.pack import PackMap

FORMAT = 1


def render_json(document: Document) -> str:
    """The report as JSON text; what names hold of others' text is escaped by JSON itself."""
    return json.dumps(document_data(document), indent=1, allow_nan=False) + "\n"


def document_data(document: Document) -> dict[str, Any]:
    """The object, as dictionaries and lists: what all blocks of all sections add to it."""
    return {"format": FORMAT} | blocks_data([document.figures, *(b for s in document.sections for b in s.blocks)])


def blocks_data(blocks: Sequence[ReportBlock]) -> dict[str, Any]:
    """Nested data that the blocks add to the JSON form."""
    found: dict[str, Any] = {}
    for path, value in _entries(blocks):
        *parents, name = path.split(".")
        inside = found
        for parent in parents:
            inside = inside.setdefault(parent, {})
        plain = plain_data(value)
        if isinstance(inside.get(name), dict) and isinstance(plain, dict):
            inside[name] |= plain
        else:
            inside[name] = plain
    return found


def _entries(blocks: Sequence[ReportBlock]) -> Iterator[tuple[str, Any]]:
    for block in blocks:
        yield from block.data.items()
        if isinstance(block, Fold | SideBySide):
            yield from _entries(block.blocks)


def plain_data(value: Any) -> Any:
    """A record as dictionaries, lists, numbers and text: its fields by name, but those that no repr shows."""
    if isinstance(value, PackMap):
        return str(value)
    if is_dataclass(value):
        shown = ((f.metadata.get("key", f.name), getattr(value, f.name)) for f in fields(value) if f.repr)
        return {key: plain_data(item) for key, item in shown}
    if isinstance(value, Mapping):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain_data(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
