"""`decrypt`: the outputs of a run."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from latticework.commands.array_files import array_bytes, check_form, write_arrays
from latticework.commands.command_files import STANDARD, deliver, name, prepare_stream, source
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.commands.key_files import key_files, load_secret_key
from latticework.errors.escaping import plain_text
from latticework.plan.schema.conditions import condition_words, uncertain_conditions
from latticework.runtime.client.client import Client
from latticework.runtime.client.postprocess import FinishedValue
from latticework.runtime.exchange.decrypted import OwnerValue

MOST_LISTED = 8


def decrypt(
    talk: CommandOutput,
    client: Path,
    outputs: Path,
    record: Path | None,
    keys: Path | None,
    writing: Mapping[str, Any],
    refusals: Mapping[str, Any],
    opening: Mapping[str, Any],
) -> Outcome:
    """Decrypt the outputs of a run, print or write them; see the table of commands."""
    output: Path | None = writing["output"]
    if output is not None:
        check_form(output)
        read = [client, outputs, *key_files(keys), *([] if record is None else [record])]
        prepare_stream(talk, output, force=writing["force"], inputs=read)
    owner = Client.load(client, **opening)
    load_secret_key(owner, keys, refusals["ledger"])
    if record is not None:
        owner.load_clipped(record)
    allow = refusals["allow_refusals"]
    allowed = {} if allow is None else {"allow_refusals": allow}
    with talk.step("decrypt"):
        values = name_values(owner.decrypt(owner.load_encrypted(source(outputs)), **allowed))
    arrays = {key: value.as_array() for key, value in values.items()}
    facts = {
        "output": None if output is None else str(output),
        "outputs": {key: _facts(value, shown=output is None) for key, value in values.items()},
    }
    for key, value in values.items():
        if _is_doubtful(value):
            talk.warn(f"{key}: {value.doubt()}")
    if output is None:
        shown = (f"{plain_text(key)}{_precision(value)} =\n{_show(value)}" for key, value in values.items())
        return Outcome(facts, body="\n".join(shown))
    _, data = deliver(output, lambda: write_arrays(output, arrays), lambda: array_bytes(arrays))
    who = "" if output == STANDARD else ", readable by you only"
    bounds = (
        f"{plain_text(key)}{said}" for key, value in values.items() if value.conditions and (said := _precision(value))
    )
    return Outcome(facts, (*bounds, f"wrote {name(output)}{who}; do not publish it"), data=data)


def _is_doubtful(value: OwnerValue) -> bool:
    """Whether more has to be said of it than which inputs its bound is for."""
    is_unsure = isinstance(value, FinishedValue) and value.num_unsure > 0
    return is_unsure or not isfinite(value.error_bound) or bool(uncertain_conditions(value.conditions))


def name_values(values: Any) -> dict[str, OwnerValue]:
    """Decrypted values by output name."""
    if isinstance(values, OwnerValue):
        return {"result": values}
    if isinstance(values, tuple):
        values = {f"result{i}": value for i, value in enumerate(values)}
    nested = {name: name_values(value) for name, value in values.items()}  # of circuits, whose results may be nested
    return {
        name if inner == "result" else f"{name}.{inner}": owned
        for name, several in nested.items()
        for inner, owned in several.items()
    }


def _show(value: OwnerValue) -> str:
    """Numbers as NumPy writes them; dictionaries a line each; a mark at each decision that is not certain."""
    found, certain = value.reveal(), value.is_certain
    if not isinstance(found, np.ndarray):
        return "\n".join(plain_text(str(row)) for row in (found if isinstance(found, list) else [found]))
    is_wide = found.dtype == object and all(isinstance(n, int) for n in found.flat)
    if (found.dtype.kind in "iufb" or is_wide) and (certain.all() or not isinstance(value, FinishedValue)):
        return np.array2string(found, precision=6, suppress_small=True) + _list_uncertain(certain)
    marked = [f"{label}{'' if sure else ' (NOT CERTAIN)'}" for label, sure in zip(*_flat(found, certain), strict=True)]
    return plain_text(", ".join(marked))


def _list_uncertain(certain: np.ndarray[Any, Any]) -> str:
    """Places of some of the numbers that are not certain; "" where all are alike."""
    places = [str(place.tolist()) for place in np.argwhere(~certain)] if certain.any() else []
    more = f" and {len(places) - MOST_LISTED} more" if len(places) > MOST_LISTED else ""
    return f"\nNOT CERTAIN at {', '.join(places[:MOST_LISTED])}{more}" if places else ""


def _flat(found: np.ndarray[Any, Any], certain: np.ndarray[Any, Any]) -> tuple[list[Any], list[Any]]:
    return found.reshape(-1).tolist(), np.broadcast_to(certain, found.shape).reshape(-1).tolist()


def _precision(value: OwnerValue) -> str:
    """A value's error bound in words, or that there is none; nothing for exact integers."""
    if not isfinite(value.error_bound):
        return "" if value.is_certain.any() or isinstance(value, FinishedValue) else " (NOT CERTAIN)"
    if value.error_bound == 0:
        return ""
    for_which = f", {condition_words(value.conditions)}" if value.conditions else ""
    return f" (each within {value.error_bound:.2g}{for_which})"


def _facts(value: OwnerValue, *, shown: bool) -> dict[str, Any]:
    """Facts that --json tells of an output; its values where they are not written to a file."""
    bound = value.error_bound if isfinite(value.error_bound) else None
    facts = {
        "shape": list(value.shape), "error_bound": bound, "is_proved": value.is_proved, "rounds": value.rounds,
    }  # fmt: skip
    if value.conditions:
        facts["conditions"] = [str(each) for each in value.conditions]
    if isinstance(value, FinishedValue) or value.is_certain.ndim or uncertain_conditions(value.conditions):
        facts["certain"] = value.is_certain.tolist()
    found = value.reveal()
    return facts | ({"values": _as_json(found.tolist() if isinstance(found, np.ndarray) else found)} if shown else {})


def _as_json(found: Any) -> Any:
    """Results with null in the place of numbers that are not finite, which JSON has not: how it ends tells nothing."""
    if isinstance(found, dict):
        return {key: _as_json(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_as_json(value) for value in found]
    return None if isinstance(found, float) and not isfinite(found) else found
