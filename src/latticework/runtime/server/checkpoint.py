"""Checkpoints of a run: what it has computed so far, in a file from which another run of the same goes on.

A run passes the end of every turn of its outermost loops, and places of the body where little has to be held. What the
rest of it needs then (`cpp/exec/run_state.hpp`) is written as ciphertexts are, atomically, with what it belongs to: the
plan, the key set, the inputs and the run-time integers, each by its hash or its number. Nothing in it is secret that is
not encrypted. Turns are counted, as the user asked; at other places a file is written when that takes a small part of
the time that it may save.

A file is held to all that the plan and the run say of it: every field, its type and range, which registers there are,
of how many ciphertexts, and of which level, scale, slots and degree. What is in the ciphertexts, and that they are of
the turn that it names, no plan tells: values have the same kinds after every turn. So it has a seal, a hash of
everything under a key that is made from the plan. Nobody can write another who has not got the plan (code and weights);
whoever has it, and can write to the file, decides what the run goes on with, as if he could write to the server's
memory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from latticework.errors import FormatError, ParameterMismatchError, UserError
from latticework.errors.whole_numbers import whole_number
from latticework.lazy_dataclass import dataclass
from latticework.plan.files.serialise import plan_id, plan_key
from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.instructions.type_rules import scales_match
from latticework.plan.schema.schema import Plan
from latticework.runtime.exchange.encrypted import Encrypted
from latticework.runtime.server.run_progress import known_trips
from latticework.runtime.server.run_state import State, loop_registers, place_registers
from latticework.values.extension import _core

VERSION = 3  # 1 had no seal, 2 was of loops alone
FIELDS = {"checkpoint", "program", "plan", "key_set", "inputs", "integers", "place", "turns", "of", "registers", "seal"}
SHARE = 0.02  # of a run's time that checkpoints outside of loops take
FIRST_PACE = 1e-8  # seconds a byte that writing takes, until the first was written


@dataclass(frozen=True)
class Checkpoint:
    """The file and frequency of a run's checkpoints: `server(..., checkpoint=Checkpoint("run.ckpt"))`.

    path     of the file. One that is there is gone on from, or refused where it is of something else
    every    turns of an outermost loop between two checkpoints, at least 1. Outside of loops a checkpoint is written as
             soon as that takes no more than a fiftieth of the time since the last one
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
        self._program, self._context, self._plan = plan.client.name, context, plan
        if given.extent is not None and (plan.client.rows == 1 or plan.client.runs_for(given.extent.runs) > 1):
            raise UserError(
                f"program {self._program}: checkpoint= is for one run, these inputs are {given.extent}: run them one "
                "by one, each with a file of its own"
            )
        if self._path.is_dir() or not self._path.absolute().parent.is_dir():
            wrong = "is a folder" if self._path.is_dir() else "is in a folder that is not there"
            raise UserError(f"checkpoint={str(self._path)!r} {wrong}: give a file to write")
        self._belongs = {"plan": plan_id(plan), "key_set": key_set, "inputs": _inputs_id(given)}
        self._key = plan_key(plan, "checkpoint")
        self._integers = dict(given.integers)
        self._scales = {c.scale for array in given.tensors.values() for c in array}
        self._written, self._pace = time.monotonic(), FIRST_PACE

    def read(self) -> State | None:
        """The state to go on from; None where there is no file.

        raises  FormatError for a file that is damaged or none of these; ParameterMismatchError for one of another plan,
                key set, inputs or run-time integers
        """
        if not self._path.exists():
            return None
        with self._telling_of_file():
            reader = _core.CiphertextReader(os.fspath(self._path), self._context)
            extras, names = reader.extras, reader.names
        self._check_version(extras)
        self._check_belongs(extras)
        place = self._place(extras)
        expected = self._registers(extras, place, names)
        with self._telling_of_file():
            values = [reader.read(i) for i in range(len(reader))]
        arrays = iter(values)
        registers = {register: [next(arrays) for _ in range(kind.count)] for register, kind in expected.items()}
        for register, kind in expected.items():
            for value in registers[register]:
                self._check_kind(register, kind, value)
        if extras["seal"] != self._seal(extras, values):
            raise self._alteration_error("its seal is not that of its content")
        return *place, registers

    def _seal(self, extras: Mapping[str, Any], values: Sequence[_core.Ciphertext]) -> bytes:
        """32 bytes over all fields and ciphertexts, which take the plan to compute."""
        fields = {name: value for name, value in extras.items() if name != "seal"}
        hashes = (_core.blake3(_core.save_ciphertexts(None, [value], ["value"], {})) for value in values)
        return bytes(_core.blake3_keyed(self._key, _core.cbor_encode(fields) + b"".join(map(bytes, hashes))))

    @contextmanager
    def _telling_of_file(self) -> Iterator[None]:
        """Turn errors of a file of ciphertexts into those of a checkpoint."""
        try:
            yield
        except ParameterMismatchError:
            raise self._mismatch("another plan: its parameters differ") from None
        except FormatError as error:
            raise FormatError(f"{error.message}: no checkpoint to go on from; {self._remedy()}") from None

    def _check_version(self, extras: Mapping[str, Any]) -> None:
        version = extras.get("checkpoint")
        if type(version) is not int or version != VERSION:
            told = f"a checkpoint of version {version}" if type(version) is int else "no checkpoint"
            raise FormatError(f"{self._path} is {told}, this version of latticework reads {VERSION}; {self._remedy()}")
        if set(extras) != FIELDS or not isinstance(extras["program"], str):
            raise self._alteration_error("its fields are not those of a checkpoint")

    def _place(self, extras: Mapping[str, Any]) -> tuple[int, int, int]:
        """The instruction that the run goes on with, turns of it that are done, and of how many; or 0 of 0."""
        at, turns, of = place = extras["place"], extras["turns"], extras["of"]
        for name, value in zip(("place", "turns", "of"), place, strict=True):
            if type(value) is not int:
                raise self._alteration_error(f"its {name} is {value!r:.40}, which is no whole number")
        if turns == of == 0:
            if place_registers(self._plan, at) is None:
                raise self._alteration_error(f"no run of the plan goes on before instruction {at}")
            return place
        if loop_registers(self._plan, at) is None:
            raise self._alteration_error(f"instruction {at} of the plan is no loop to go on in")
        block, limit = self._plan.blocks[0].code[at].immediate[:2]
        given = [self._integers.get(spec.name) for spec in self._plan.client.inputs]
        trips = known_trips(self._plan, given).get(block)
        if of > limit or (trips is not None and of != trips):
            raise self._alteration_error(f"it is of a loop of {of} turns, this run takes {trips or f'{limit} at most'}")
        if not 1 <= turns <= of:
            raise self._alteration_error(
                f"it is after turn {turns} of {of}; there is none before the first or after the last"
            )
        return place

    def _registers(
        self, extras: Mapping[str, Any], place: tuple[int, int, int], names: Sequence[str]
    ) -> dict[int, CipherKind]:
        """The kinds of the registers that it holds, which are those that the rest of the run needs."""
        at, turns, _ = place
        expected = loop_registers(self._plan, at) if turns else place_registers(self._plan, at)
        assert expected is not None
        counts = [[register, kind.count] for register, kind in expected.items()]
        if not _is_same(extras["registers"], counts):
            raise self._alteration_error(
                f"it does not hold the registers that are needed {'after a turn of' if turns else 'before'} "
                f"instruction {at}"
            )
        if list(names) != _names({register: kind.count for register, kind in expected.items()}):
            raise self._alteration_error(f"it holds {len(names)} ciphertexts that are not those of its registers")
        return expected

    def _check_kind(self, register: int, kind: CipherKind, value: _core.Ciphertext) -> None:
        """FormatError for a ciphertext that is none of its register; inputs that are carried keep their own scale."""
        is_scaled = value.scale == kind.scale or (value.scale in self._scales and scales_match(value.scale, kind.scale))
        found = (value.level, value.slots, value.degree)
        if not is_scaled or found != ((kind.track, kind.level), kind.slots, kind.degree):
            raise self._alteration_error(
                f"register {register} has level {value.level[1]}, scale {value.scale:.17g}, {value.slots} slots and "
                f"degree {value.degree}; the plan has level {kind.level}, scale {kind.scale:.17g}, {kind.slots} slots "
                f"and degree {kind.degree}"
            )
        if any(value.key_set) and value.key_set != self._belongs["key_set"]:
            raise self._mismatch(f"another key set ({value.key_set[:8].hex()})")

    def note(self, state: State) -> None:
        """Note a state of the run: writes it if it is time to."""
        place, turns, of, registers = state
        values = [c for array in registers.values() for c in array]
        begun, num_bytes = time.monotonic(), sum(value.num_bytes for value in values)
        least = 0.0 if turns else self._pace * num_bytes / SHARE
        if turns % self._wanted.every or begun - self._written < max(least, self._wanted.seconds):
            return
        extras: dict[str, Any] = {
            "checkpoint": VERSION,
            "program": self._program,
            **self._belongs,
            "integers": self._integers,
            "place": place,
            "turns": turns,
            "of": of,
            "registers": [[reg, len(array)] for reg, array in registers.items()],
        }
        extras["seal"] = self._seal(extras, values)
        names = _names({reg: len(array) for reg, array in registers.items()})
        _core.save_ciphertexts(os.fspath(self._path), values, names, extras)
        self._written = time.monotonic()
        self._pace = (self._written - begun) / max(num_bytes, 1)

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
        if not isinstance(integers, dict) or any(type(value) is not int for value in integers.values()):
            raise self._alteration_error("it does not say for which run-time integers it is")
        if integers != self._integers:
            other = _numbers(integers)
            raise self._mismatch(f"a run with {other}, this one has {_numbers(self._integers)}")

    def _mismatch(self, other: str) -> ParameterMismatchError:
        return ParameterMismatchError(
            f"program {self._program}: {self._path} is the checkpoint of {other}; {self._remedy()}"
        )

    def _alteration_error(self, how: str) -> FormatError:
        return FormatError(f"{self._path} is no checkpoint to go on from: {how}; it was altered: {self._remedy()}")

    @staticmethod
    def _remedy() -> str:
        return "give what it was written with to go on, or remove it or name another file to begin anew"


def _names(counts: Mapping[int, int]) -> list[str]:
    """Names of the ciphertexts in a file, `counts` of them for each register."""
    return [f"{register}[{i}]" for register, count in counts.items() for i in range(count)]


def _is_same(found: Any, wanted: Any) -> bool:
    """Whether what a file holds is this to the type: 3.0 and True are no integers."""
    return bool(_core.cbor_encode(found) == _core.cbor_encode(wanted))


def _numbers(integers: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in integers.items())


def _inputs_id(given: Encrypted) -> bytes:
    """32 bytes that name the ciphertexts; in which parts and in which order they came does not matter."""
    parts = []
    for name in sorted(given.tensors):
        one = replace(given, tensors={name: given.tensors[name]}, integers={}, rounds=1, clipped=())
        parts.append(bytes(_core.blake3(one.to_bytes())))
    return bytes(_core.blake3(b"".join(parts)))
