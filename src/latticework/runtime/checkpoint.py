"""Checkpoints of a run: what it has computed so far, in a file from which another run of the same goes on.

A run passes the end of every turn of its outermost loops. What the rest of it needs then (`cpp/exec/run_state.hpp`) is
written as ciphertexts are, atomically, with what it belongs to: the plan, the key set, the inputs and the run-time
integers, each by its hash or its number. Nothing in it is secret that is not encrypted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from latticework import _core
from latticework.errors import FormatError, ParameterMismatchError, UserError
from latticework.plan.schema import Plan
from latticework.plan.serialise import plan_id
from latticework.runtime.encrypted import Encrypted
from latticework.words.whole import whole_number

VERSION = 1
State = tuple[int, int, int, dict[int, list[_core.Ciphertext]]]  # loop, turns, of so many, registers


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a run writes what it has computed so far: `server(..., checkpoint=Checkpoint("run.ckpt"))`.

    path     of the file. One that is there is gone on from, or refused where it is of something else
    every    turns of an outermost loop between two checkpoints, at least 1
    seconds  that have to have passed as well since the last one, or since the run began
    keep     whether the file stays when the run is done, for who wants to write the results first and remove it then
    """

    path: str | Path
    every: int = 1
    seconds: float = 0.0
    keep: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike) or not str(self.path):
            raise UserError(f"checkpoint={self.path!r} is no path of a file, such as 'run.ckpt'")
        if (whole_number(self.every) or 0) < 1:
            raise UserError(f"every={self.every!r} turns of a loop: a checkpoint takes a whole number of at least 1")
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float) or not self.seconds >= 0:
            raise UserError(f"seconds={self.seconds!r} between checkpoints: give a number of at least 0")


class CheckpointFile:
    """The checkpoint of one run."""

    def __init__(
        self, wanted: str | Path | Checkpoint, plan: Plan, key_set: bytes, given: Encrypted, context: _core.Context
    ) -> None:
        """given: all inputs of one run.

        raises  UserError for inputs of several runs, and for a path where no file can be
        """
        self._wanted = wanted if isinstance(wanted, Checkpoint) else Checkpoint(wanted)
        self._path = Path(self._wanted.path)
        self._program, self._context = plan.client.name, context
        if given.extent is not None and (plan.client.rows == 1 or plan.client.runs_for(given.extent.runs) > 1):
            raise UserError(
                f"program {self._program}: checkpoint= is for one run, these inputs are {given.extent}: run them one "
                "by one, each with a file of its own"
            )
        if self._path.is_dir() or not self._path.absolute().parent.is_dir():
            wrong = "is a folder" if self._path.is_dir() else "is in a folder that is not there"
            raise UserError(f"checkpoint={str(self._path)!r} {wrong}: give a file to write")
        self._belongs = {"plan": plan_id(plan), "key_set": key_set, "inputs": _inputs_id(given)}
        self._integers = dict(given.integers)
        self._written = time.monotonic()

    def read(self) -> State | None:
        """The state to go on from; None where there is no file.

        raises  FormatError for a file that is damaged or none of these; ParameterMismatchError for one of another plan,
                key set, inputs or run-time integers
        """
        if not self._path.exists():
            return None
        try:
            ciphertexts, _, extras = _core.load_ciphertexts(os.fspath(self._path), self._context)
        except ParameterMismatchError:
            raise self._mismatch("another plan: its parameters differ") from None
        except FormatError as error:
            raise FormatError(f"{error.message}: no checkpoint to go on from; {self._remedy()}") from None
        if extras.get("checkpoint") != VERSION:
            is_newer = isinstance(extras.get("checkpoint"), int)
            told = f"a checkpoint of version {extras['checkpoint']}" if is_newer else "no checkpoint"
            raise FormatError(f"{self._path} is {told}, this version of latticework reads {VERSION}; {self._remedy()}")
        self._check_belongs(extras)
        try:
            arrays = iter(ciphertexts)
            registers = {reg: [next(arrays) for _ in range(count)] for reg, count in extras["registers"]}
            return extras["loop"], extras["turns"], extras["of"], registers
        except (KeyError, TypeError, ValueError, RuntimeError):
            raise FormatError(f"{self._path} lacks a part of a checkpoint; it was altered: {self._remedy()}") from None

    def note(self, state: State) -> None:
        """After a turn: writes it if it is time to."""
        loop, turns, of, registers = state
        now = time.monotonic()
        if turns % self._wanted.every or now - self._written < self._wanted.seconds:
            return
        extras: dict[str, Any] = {
            "checkpoint": VERSION,
            "program": self._program,
            **self._belongs,
            "integers": self._integers,
            "loop": loop,
            "turns": turns,
            "of": of,
            "registers": [[reg, len(array)] for reg, array in registers.items()],
        }
        names = [f"{reg}[{i}]" for reg, array in registers.items() for i in range(len(array))]
        _core.save_ciphertexts(os.fspath(self._path), [c for a in registers.values() for c in a], names, extras)
        self._written = time.monotonic()

    def finish(self) -> None:
        """The run is done: the file goes, unless it is to be kept."""
        if not self._wanted.keep:
            self._path.unlink(missing_ok=True)

    def _check_belongs(self, found: Mapping[str, Any]) -> None:
        told = {"plan": "another plan", "key_set": "another key set", "inputs": "other encrypted inputs"}
        for name, other in told.items():
            ours, theirs = self._belongs[name], found.get(name)
            if ours != theirs:
                shown = theirs.hex()[:16] if isinstance(theirs, bytes) else "none"
                raise self._mismatch(f"{other} ({shown}, this run has {ours.hex()[:16]})")
        integers = found.get("integers")
        if integers != self._integers:
            other = _numbers(integers) if isinstance(integers, dict) else "none"
            raise self._mismatch(f"a run with {other}, this one has {_numbers(self._integers)}")

    def _mismatch(self, other: str) -> ParameterMismatchError:
        return ParameterMismatchError(
            f"program {self._program}: {self._path} is the checkpoint of {other}; {self._remedy()}"
        )

    @staticmethod
    def _remedy() -> str:
        return "give what it was written with to go on, or remove it or name another file to begin anew"


def _numbers(integers: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in integers.items())


def _inputs_id(given: Encrypted) -> bytes:
    """32 bytes that name the ciphertexts; in which parts and in which order they came does not matter."""
    parts = []
    for name in sorted(given.tensors):
        one = replace(given, tensors={name: given.tensors[name]}, integers={}, rounds=1)
        parts.append(bytes(_core.blake3(one.to_bytes())))
    return bytes(_core.blake3(b"".join(parts)))
