"""Input and output files of commands: checked before the work, and `-` for standard input and output."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from latticework.commands.command_output import CommandOutput
from latticework.errors import FormatError, UserError
from latticework.plan.files.serialise import is_secret_key
from latticework.runtime.ledger.records import is_ledger
from latticework.values.extension import _core

STANDARD = Path("-")  # standard input or output

_REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOENT, errno.ENOTDIR)


def prepare(talk: CommandOutput, *outputs: Path, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any work, outputs that could not be written or that would destroy something.

    raises  OSError where the folder is missing or not writable, where something else than a file is in the place, and
            for files that exist without `force`; UserError for one that the command reads, or that it writes twice
    """
    for i, output in enumerate(outputs):
        if output == STANDARD:
            raise UserError("this command writes no single file, so it has nothing for standard output; name a file")
        require_folder(output.parent)
        _core.require_replaceable(output)
        if output.resolve() in [other.resolve() for other in outputs[:i]]:
            raise UserError(f"{output}: two outputs have this name; name them apart")
        refuse_existing(output, force=force, inputs=inputs)
    for folder in dict.fromkeys(output.parent for output in outputs):
        tidy(talk, folder)


def prepare_stream(talk: CommandOutput, output: Path, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """The same for a single output that may be standard output, unless that is a terminal."""
    if output != STANDARD:
        prepare(talk, output, force=force, inputs=inputs)
    elif sys.stdout is None or sys.stdout.closed:
        raise UserError("-o -: standard output is closed; redirect it to a file or a pipe, or name a file")
    elif sys.stdout.isatty():
        raise UserError("-o -: standard output is a terminal, and the data are binary; redirect it, or name a file")


def refuse_existing(output: Path, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """FileExistsError for a file that would be lost; with `force` only for what belongs to secret keys or is read."""
    if not output.exists():
        return
    if is_secret_key(str(output)):
        raise FileExistsError(f"{output} is a secret key, which is never replaced; name another file")
    if is_ledger(output):
        raise FileExistsError(f"{output} is the ledger of a secret key, which is never replaced; name another file")
    if any(given.exists() and output.samefile(given) for given in inputs):
        raise UserError(f"{output} is also an input of this command; name another file")
    if not force:
        raise FileExistsError(f"{output} exists; --force replaces it, or name another file")


def require_folder(folder: Path) -> None:
    """OSError unless a file can be made in a folder."""
    if not folder.is_dir():
        if folder.exists():
            raise NotADirectoryError(f"{folder} is not a folder; name a file in one")
        raise FileNotFoundError(f"there is no folder {folder}; make it (mkdir -p {folder}), or name a file in another")
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:  # not all file systems have files without names, but then they say so in other words
        if error.errno in _REFUSALS or not os.access(folder, os.W_OK | os.X_OK):
            why = os.strerror(error.errno or errno.EACCES)
            raise type(error)(f"{folder}: no file can be made in this folder ({why}); name one in another") from None


def tidy(talk: CommandOutput, folder: Path) -> None:
    """Remove what ended commands left in a folder that is written to, and name it."""
    for name in _core.remove_leftovers(folder):
        talk.warn(f"removed {folder / name}, which a command that was ended had been writing")


def source(path: Path) -> Path | bytes:
    """A file to read, or what standard input or a pipe holds.

    raises  UserError for a standard input that is a terminal; FormatError for one that is empty
    """
    if path == STANDARD:
        if sys.stdin is None or sys.stdin.isatty():
            state = "closed" if sys.stdin is None else "a terminal"
            raise UserError(f"-: standard input is {state}; pipe a file into this command, or name one")
        data = sys.stdin.buffer.read()
        if not data:
            raise FormatError("-: standard input is empty, or was read already: `-` can be given once")
        return data
    return path.read_bytes() if path.is_fifo() else path


def deliver(output: Path, write: Callable[[], object], to_bytes: Callable[[], bytes]) -> tuple[int, bytes | None]:
    """An output written, or its bytes for standard output; its size."""
    if output == STANDARD:
        data = to_bytes()
        return len(data), data
    write()
    return output.stat().st_size, None


def name(output: Path) -> str:
    """An output's name in messages."""
    return "standard output" if output == STANDARD else str(output)
