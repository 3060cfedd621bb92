"""Keys of one client: the secret key, and what may be given to servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from latticework.errors import SecretKeyError, UserError
from latticework.errors.escaping import plain_text
from latticework.errors.shown import count_noun, describe, size
from latticework.plan.files.serialise import is_secret_key
from latticework.runtime.ledger.refused_results import RefusalLedger, ledger_beside, refuse_existing_ledger
from latticework.values.extension import _core

SECRET_FILE, EVALUATION_FILE, PUBLIC_FILE = "secret.lwkey", "evaluation.lwkeys", "public.lwkey"


def file_in(path: str | Path, name: str) -> str:
    """The file at a path, or the one of that name if the path is a folder."""
    source = Path(path)
    return str(source / name if source.is_dir() else source)


def refuse_existing_key(folder: Path) -> None:
    """FileExistsError if a folder holds a secret key."""
    if (folder / SECRET_FILE).exists():
        raise FileExistsError(
            f"{plain_text(folder / SECRET_FILE)} exists; whatever was encrypted with that key could not be decrypted "
            "without it: choose another folder, or move the key away"
        )


def has_ledger(context: _core.Context) -> bool:
    """Whether results under keys of these parameters can be refused for what the secret key makes of them: of BFV."""
    return context.parameters.plain_modulus > 0


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder for keys, and those it is in; no harm if it is there.

    mode  of the folder itself, less the umask; of those above it what is usual
    raises  NotADirectoryError if it, or one of those, is a file
    """
    for place in (*reversed(folder.parents), folder):
        if place.exists() and not place.is_dir():
            raise NotADirectoryError(f"{plain_text(place)} is not a folder; keys are written into one: name another")
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=mode, exist_ok=True)


def refuse_secret_keys(folder: str | Path) -> None:
    """SecretKeyError for a folder, given to a server, that holds a secret key."""
    place = Path(folder)
    for file in sorted(place.iterdir()) if place.is_dir() else []:  # whatever they are called
        if file.is_file() and is_secret_key(str(file)):
            raise SecretKeyError(
                f"{folder} holds a secret key, {file.name}; a server must never hold one: give it "
                f"{Path(folder) / EVALUATION_FILE} alone, and delete {file.name} if this is the server's machine"
            )


class PublicKeys:
    """The keys that a server gets: evaluation keys; and the key with which anybody can encrypt for the client."""

    def __init__(self, evaluation: _core.EvaluationKeys | _core.MappedKeys, encryption: _core.PublicKey | None) -> None:
        self.evaluation = evaluation
        self.encryption = encryption

    @property
    def num_bytes(self) -> int:
        """Bytes in memory."""
        return self.evaluation.num_bytes + (self.encryption.num_bytes if self.encryption is not None else 0)

    def merged(self, more: PublicKeys) -> PublicKeys:
        """Put these and more keys of the same secret key together, for a server of a program that takes both.

        raises  ParameterMismatchError for keys of another secret key, or other parameters
        """
        return PublicKeys(self._in_memory().merged(more._in_memory()), self.encryption or more.encryption)

    def save(self, folder: str | Path) -> None:
        """Write `evaluation.lwkeys` and `public.lwkey` into a folder."""
        evaluation, target = self._in_memory(), Path(folder)
        make_folder(target)
        _core.save_evaluation_keys(str(target / EVALUATION_FILE), evaluation)
        if self.encryption is not None:
            _core.save_public_key(str(target / PUBLIC_FILE), self.encryption)

    def _in_memory(self) -> _core.EvaluationKeys:
        """The keys; UserError where they stay in a file."""
        if isinstance(self.evaluation, _core.MappedKeys):
            raise UserError("these keys stay in their file and are not in memory to be saved; copy the file")
        return self.evaluation

    def __reduce__(self) -> NoReturn:
        raise TypeError("PublicKeys are not pickled; save(folder) writes them, and Server.load reads them")

    def __repr__(self) -> str:
        return describe("PublicKeys", *self._facts())

    def _facts(self) -> tuple[str, str]:
        return count_noun(len(self.evaluation), "evaluation key"), f"{size(self.num_bytes)} in memory"


class Keys:
    """A client's keys, the secret one included. Never given to a server; `public()` is what a server gets."""

    def __init__(
        self,
        secret: _core.SecretKey,
        public: PublicKeys,
        context: _core.Context,
        ledger: RefusalLedger | None = None,
    ) -> None:
        self._secret = secret
        self._public = public
        self._context = context
        self._ledger = RefusalLedger(secret.key_set) if ledger is None else ledger

    def public(self) -> PublicKeys:
        """The keys a server computes with; they reveal nothing of the secret."""
        return self._public

    def save(self, folder: str | Path) -> None:
        """Write `secret.lwkey` (readable by its owner only) and the public files into a folder.

        With keys of BFV goes `secret.lwkey.ledger`, which counts the results that were refused: it belongs to the
        secret key, and has to go where that goes.
        A folder that is not there yet is made for its owner only: who may write to it could exchange the keys.
        raises  FileExistsError if the folder holds a secret key already: what was encrypted with it would be lost
        """
        self._public._in_memory()
        target = Path(folder)
        refuse_existing_key(target)
        secret = target / SECRET_FILE
        refuse_existing_ledger(ledger_beside(secret))
        make_folder(target, 0o700)
        _core.save_secret_key(str(secret), self._secret, self._context)  # first: one of two writers at once is refused
        try:
            self._public.save(target)
            if has_ledger(self._context):
                self._ledger.write(ledger_beside(secret))
        except BaseException:
            secret.unlink()  # nothing was encrypted with it yet, and it would stand in the way of a second attempt
            raise

    def __repr__(self) -> str:
        return describe("Keys", "secret key hidden", *self._public._facts())

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise SecretKeyError("keys with a secret key are never pickled or copied; save(folder) writes them to files")

    __reduce__ = __getstate__ = __copy__ = __deepcopy__ = __reduce_ex__ = _refuse
