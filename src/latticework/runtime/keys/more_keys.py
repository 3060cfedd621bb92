"""Evaluation keys that are added to those that are there, of the same secret key: what a new program lacks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from latticework.errors import ParameterMismatchError
from latticework.plan.schema.schema import ClientSpec
from latticework.runtime.keys.key_sets import EVALUATION_FILE, PublicKeys, file_in
from latticework.values.extension import _core
from latticework.values.packing.key_manifest import KeySpec, missing_keys


def list_missing(
    spec: ClientSpec, held: PublicKeys | str | Path, secret: _core.SecretKey, context: _core.Context
) -> list[KeySpec]:
    """Evaluation keys of a program that none of those held serves.

    held    keys, or their file or its folder;  secret  that they are of
    raises  ParameterMismatchError for keys of other parameters, or of another secret key
    """
    if isinstance(held, PublicKeys):
        keys: Any = held.evaluation
    else:
        keys = _core.EvaluationKeyFile(file_in(held, EVALUATION_FILE), context)
    if keys.parameters != context.parameters.fingerprint:
        raise ParameterMismatchError(
            f"program {spec.name}: the keys that are there are of other parameters: compile with like= the model that "
            "they are of, or make all keys anew"
        )
    if keys.key_set != secret.key_set:
        raise ParameterMismatchError(
            f"program {spec.name}: the keys that are there are of key set {keys.key_set.hex()[:16]}, and the client "
            f"has the secret key of {secret.key_set.hex()[:16]}: load_keys(folder) of theirs"
        )
    return missing_keys(spec.manifest.specs, _read_specs(keys.specs), spec.chain.covers)


def add_keys(spec: ClientSpec, context: _core.Context, held: str | Path, more: str | Path) -> tuple[int, int]:
    """Add keys to the file of those that a server has; both are in memory meanwhile.

    spec     of a program that the keys are for: a plan's `client`
    held     the file, or its folder, which is replaced when the new one is whole
    returns  how many were added, and how many there are
    raises   ParameterMismatchError for keys of other parameters or another secret key; FormatError for damaged ones
    """
    file = file_in(held, EVALUATION_FILE)
    there, new = (_core.load_evaluation_keys(each, context) for each in (file, file_in(more, EVALUATION_FILE)))
    if not missing_keys(_read_specs(new.specs), _read_specs(there.specs), spec.chain.covers):
        return 0, len(there)
    both = there.merged(new)
    _core.save_evaluation_keys(file, both)
    return len(new), len(both)


def _read_specs(given: Sequence[Any]) -> list[KeySpec]:
    return [KeySpec(**each) for each in given]
