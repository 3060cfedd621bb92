"""Refusals of a key set: how many results may be refused before its secret key decrypts no more.

Whether a result is refused depends on the secret key. Who makes up results and sees which are refused (by an answer
that stays away, a retry, a different page) learns about it with each; `SECURITY.md` says how much. So refusals are
counted over all processes that use a key, and end at a limit.

A decryption is recorded before it begins, durably, and again when it gave a result; what began and gave none is counted
as refused. Recording a refusal only when there is one would be cheaper, but then a process that dies in between, or a
disk that is full, lets it go uncounted, as often as somebody likes. The price is a write to the disk for each
decryption, and that an interrupted one counts. Decryptions of one key set go one after the other, so a record without
an answer is that of a process that has ended.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from latticework.errors import DecryptionError, DtypeError, RangeError, SecurityError
from latticework.runtime.ledger.records import LedgerCounts, LedgerFile

ALLOWED_REFUSALS = 4
SUFFIX = ".ledger"
_PRIVATE = "whether a result is refused depends on the secret key, so let nobody else see it"


def ledger_beside(secret_key: str | Path) -> Path:
    """The ledger of a secret key file, in its folder: its name with `.ledger`."""
    return Path(f"{os.fspath(secret_key)}{SUFFIX}")


def refuse_existing_ledger(path: Path) -> None:
    """FileExistsError if there is a ledger, which is another key's."""
    if os.path.lexists(path):
        raise FileExistsError(
            f"{path} exists, the ledger of a key that was here: move it to that key, or choose another folder"
        )


class RefusalLedger:
    """The count of refusals of one key set: in a file once there is one, before that in memory."""

    def __init__(self, key_set: bytes, path: str | Path | None = None) -> None:
        self._key_set = bytes(key_set)
        self._file = None if path is None else LedgerFile(Path(path), self._key_set)
        self._in_memory = LedgerCounts()
        self._lock = threading.RLock()  # of what is in memory; a file has its own besides

    def write(self, path: Path) -> None:
        """Write what was counted to a new file, and count there from now on, unless that is done in one already.

        raises  FileExistsError if there is a file already; OSError
        """
        with self._lock:
            file = LedgerFile(path, self._key_set)
            file.create(self._num_refusals())
            self._file = self._file or file

    def _num_refusals(self) -> int:
        if self._file is None:
            return self._in_memory.refusals
        with self._file.lock() as (counts, _):
            return counts.refusals

    @contextmanager
    def decrypting(self, who: str, allow_refusals: int | None = None) -> Iterator[None]:
        """Record a decryption that may be refused for what the secret key makes of a ciphertext.

        A DecryptionError from within goes on as one that tells the count. Whatever ends it counts as a refusal.
        allow_refusals  at most, None: `ALLOWED_REFUSALS`; given, a ledger that is missing is begun anew
        raises  SecurityError if there were as many, or if the ledger is missing; OSError if it cannot be written;
                FormatError or ParameterMismatchError if it is damaged, or another's: all before anything is decrypted
        """
        check_allowed(who, allow_refusals)
        allowed = ALLOWED_REFUSALS if allow_refusals is None else allow_refusals
        with self._lock, self._recording(who, is_given=allow_refusals is not None) as (counts, append):
            if counts.refusals >= allowed:
                raise SecurityError(
                    f"{who}: {counts.refusals} results under key set {self._key_set[:8].hex()} were refused, or their "
                    f"decryption did not end, and {allowed} may be ({self._where()}): the secret key decrypts no more. "
                    "Whoever saw which were refused may know a part of it: find out who made those results, and make "
                    f"new keys; allow_refusals={counts.refusals + ALLOWED_REFUSALS} goes on knowingly"
                )
            append("begun")
            try:
                yield
            except DecryptionError as error:
                raise DecryptionError(
                    f"{error.message}. Refusal {counts.refusals} of {allowed} that this key set may have "
                    f"({self._where()}): {_PRIVATE}"
                ) from None
            append("answered")

    @contextmanager
    def _recording(self, who: str, *, is_given: bool) -> Iterator[tuple[LedgerCounts, Callable[[str], None]]]:
        if self._file is None:
            yield self._in_memory, self._in_memory.add
            return
        if is_given and not os.path.lexists(self._file.path):
            self._begin_anew(who, self._file)
        with ExitStack() as stack:
            try:
                counts, append = stack.enter_context(self._file.lock())
            except FileNotFoundError:
                raise SecurityError(
                    f"{who}: {self._file.path} is missing, the ledger that counts which results this secret key "
                    "refused; put it back beside the key (a copy of a key needs its ledger too), or name it with "
                    f"ledger=; if it is lost, allow_refusals={ALLOWED_REFUSALS} begins one knowingly, from none"
                ) from None
            except OSError as error:
                raise self._unwritable(who, error) from None

            def record(kind: str) -> None:
                try:
                    append(kind, durable=kind == "begun")  # an answer that is lost counts as a refusal
                except OSError as error:
                    raise self._unwritable(who, error) from None

            yield counts, record

    def _begin_anew(self, who: str, file: LedgerFile) -> None:
        try:
            file.create(max(self._in_memory.refusals, file.refusals_seen))
        except FileExistsError:
            pass  # another process has begun it
        except OSError as error:
            raise self._unwritable(who, error) from None

    def _unwritable(self, who: str, error: OSError) -> OSError:
        assert self._file is not None
        return type(error)(
            f"{who}: {self._file.path}: refusals cannot be recorded here ({error.strerror or error}), so no result "
            "is given: make its folder one that can be written, or name a copy elsewhere with load_keys(.., ledger=)"
        )

    def _where(self) -> str:
        if self._file is not None:
            return f"ledger {self._file.path}"
        return "counted in memory, since these keys are in no folder: another process begins at 0"


def check_allowed(who: str, allow_refusals: int | None) -> None:
    """DtypeError or RangeError for what is no number of refusals."""
    if allow_refusals is None:
        return
    if isinstance(allow_refusals, bool) or not isinstance(allow_refusals, int):
        raise DtypeError(f"{who}: allow_refusals={allow_refusals!r:.60}; give a whole number")
    if allow_refusals < 1:
        raise RangeError(f"{who}: allow_refusals={allow_refusals}; give 1 or more: a key with none cannot decrypt")
