"""A folder of keys that are made and written one after the other, and gone on with where an earlier process ended.

In order, each step durable before the next: the unfinished file of evaluation keys, with room for all of them; the
secret key; of BFV its ledger; the public key; the evaluation keys, and their file's name. So a folder with a secret key
and an unfinished file of its key set was left in the midst of this, and one with a secret key and none is complete.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from latticework.errors import LeftoverWarning
from latticework.runtime.keys.key_sets import (
    EVALUATION_FILE,
    PUBLIC_FILE,
    SECRET_FILE,
    Keys,
    PublicKeys,
    has_ledger,
    make_folder,
    refuse_existing_key,
)
from latticework.runtime.ledger.refused_results import RefusalLedger, ledger_beside, refuse_existing_ledger
from latticework.values.extension import _core

# Where a server of the same process reads keys from the file: bytes of them in memory, threads that read ahead.
READ_BYTES, READERS = 1 << 30, 1
OnKey = Callable[[bool, int, int, Any], None]  # whether the file had it, its number, of how many, its spec


def is_begun(folder: Path) -> bool:
    """Whether a folder holds keys whose making was interrupted, the secret one included.

    raises  FormatError for a secret key that is damaged
    """
    secret = folder / SECRET_FILE
    if not secret.exists():
        return False
    owner = _core.UnfinishedKeys.owner(folder / EVALUATION_FILE)
    return (
        owner is not None
        and owner == _core.ContainerReader(str(secret), kinds=[_core.FileKind.SECRET_KEY]).header["key_set"]
    )


def sweep(folder: Path) -> list[str]:
    """Remove what ended processes left in a folder and nothing can go on with; the names.

    raises  OSError if another process is making keys there
    """
    names = _core.remove_leftovers(folder)
    if not is_begun(folder) and _core.UnfinishedKeys.remove_file(folder / EVALUATION_FILE):
        names.append(f"{EVALUATION_FILE}.partial")
    return names


def write_keys(folder: Path, context: _core.Context, specs: Sequence[Any], on_key: OnKey) -> Keys:
    """Make keys in a folder, at most one evaluation key of them in memory.

    What was begun goes on: under the secret key of the folder, with the evaluation keys that are whole, which is
    verified. A key of which a part was written is made anew, from fresh seeds.
    warns   LeftoverWarning for files that were removed
    raises  FileExistsError if the folder holds a secret key whose keys are complete; SecurityError and OSError, that
            of a full disk included, before any key is made; ParameterMismatchError for keys begun for another program
    """
    for name in sweep(folder) if folder.is_dir() else ():
        warnings.warn(
            LeftoverWarning(f"removed {folder / name}, which a process that was ended had been writing"), stacklevel=2
        )
    begun = is_begun(folder)
    if not begun:
        refuse_existing_key(folder)
        refuse_existing_ledger(ledger_beside(folder / SECRET_FILE))
    make_folder(folder, 0o700)
    generator = _core.KeyGenerator(context)
    secret_file, evaluation_file = folder / SECRET_FILE, folder / EVALUATION_FILE
    secret = _core.load_secret_key(secret_file, context) if begun else generator.secret_key()
    public = generator.public_key(secret)  # anew, from a fresh seed, as it takes no time
    unfinished = _core.UnfinishedKeys(evaluation_file, secret.key_set, specs, context, continues=begun)
    if not begun:
        try:
            _core.save_secret_key(secret_file, secret, context)  # of two writers at once, one is refused here
        except BaseException:
            unfinished.remove()  # nothing is in it yet
            raise
    ledger = _ledger_of(secret, secret_file, context)
    _core.save_public_key(folder / PUBLIC_FILE, public)
    num_kept = 0

    def report_key(number: int, count: int, spec: Any) -> None:
        nonlocal num_kept
        was_there, num_kept = unfinished.num_kept > num_kept, unfinished.num_kept
        on_key(was_there, number, count, spec)

    generator.write_evaluation_keys(secret, unfinished, report_key)
    mapped = _core.MappedKeys(evaluation_file, context, READ_BYTES, readers=READERS)
    return Keys(secret, PublicKeys(mapped, public), context, ledger)


def _ledger_of(secret: _core.SecretKey, file: Path, context: _core.Context) -> RefusalLedger | None:
    """The ledger of a key that was just written, or whose keys are gone on with."""
    if not has_ledger(context):
        return None
    beside = ledger_beside(file)
    if beside.exists():
        return RefusalLedger(secret.key_set, beside)
    ledger = RefusalLedger(secret.key_set)
    ledger.write(beside)
    return ledger
