"""Profiles for `--profile`: the kernels of a run, in a file and as text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from latticework.commands.command_files import prepare
from latticework.commands.command_output import CommandOutput
from latticework.errors import UserError
from latticework.runtime.devices.profiles import profile

TRACE, TABLE = ".json", ".csv"


class ProfileFile:
    """A block whose kernels are profiled, if a file is asked for; it is written where the block ends well.

    text    of the profile, then; facts of it for --json
    raises  UserError for a name with another ending, and for a file that the command reads or writes; what `prepare`
            raises
    """

    def __init__(
        self,
        talk: CommandOutput,
        path: Path | None,
        device: str,
        *,
        force: bool,
        inputs: Iterable[Path],
        others: Iterable[Path],
    ) -> None:
        self.path, self.text, self.facts = path, "", {} if path is None else {"profile": str(path)}
        self._profile: profile | None = None
        if path is None:
            return
        if path.suffix not in (TRACE, TABLE):
            raise UserError(f"--profile {path}: name a file that ends in {TRACE}, for a trace, or in {TABLE}")
        if path.resolve() in [other.resolve() for other in others]:
            raise UserError(f"--profile {path}: another file of this command has that name; give one of its own")
        prepare(talk, path, force=force, inputs=inputs)
        self._profile = profile(device)

    def __enter__(self) -> Self:
        if self._profile is not None:
            self._profile.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._profile is None or self.path is None:
            return
        self._profile.__exit__(kind, error, trace)
        if error is not None:
            return
        if self.path.suffix == TRACE:
            self._profile.trace(self.path)
        else:
            self._profile.csv(self.path)
        self.text = f"{self._profile}\n"
