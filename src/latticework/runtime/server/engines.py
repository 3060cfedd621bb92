"""Engines of a server: its program and keys on each of its devices, and which of them a run goes to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from latticework.errors import DeviceError, UserError
from latticework.plan.files.code_file import encode_code
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.schema.schema import Plan
from latticework.runtime.devices.device import memory_of, name_of
from latticework.runtime.exchange.encrypted import StoredCiphertext
from latticework.runtime.memory_use import KeyTraffic, MemoryUse
from latticework.runtime.options import ServerPlace
from latticework.runtime.server.admission import Admission
from latticework.runtime.server.constant_sources import map_products, slot_vector
from latticework.runtime.server.prepared import open_prepared
from latticework.runtime.server.shares import Shares
from latticework.values.extension import _core

AnyKeys = _core.EvaluationKeys | _core.MappedKeys
Opened = Callable[[ServerPlace, Shares], tuple[list[_core.Context], list[AnyKeys]]]


class Engine:
    """A program and its keys in one memory: that of a device, or of the host.

    Where there are several plaintext moduli it has an executor, and a context, for each.

    name         of the device, or "cpu"
    context      of the first plaintext modulus;  keys  there
    is_capped    it has a part of a device's memory, where neither inputs nor results stay longer than a run
    outstanding  runs that were given to it and have not ended
    """

    context: _core.Context
    keys: AnyKeys | None

    def __init__(
        self, place: ServerPlace, plan: Plan, shares: Shares, opened: Opened, prepared: str | Path | None = None
    ) -> None:
        """opened: contexts of the place, and keys for each: of this context where they stay in their file, else of
        any; prepared: a file of encoded constants."""
        self.name, self.is_capped = name_of(place.device), place.is_capped
        self._place, self._plan, self._shares, self._opened = place, plan, shares, opened
        self._prepared = prepared
        self._opening = threading.Lock()
        self.outstanding = 0
        self._start()
        is_bounded = shares.runs is not None or isinstance(self.keys, _core.MappedKeys)
        self.admission = Admission(plan.client.name, shares.runs, is_bounded=is_bounded)

    def _start(self) -> None:
        """Bring keys to new contexts."""
        self._contexts, opened = self._opened(self._place, self._shares)
        self.context = self._contexts[0]
        pairs = zip(opened, self._contexts, strict=True)
        keys = [each if isinstance(each, _core.MappedKeys) else _core.move(each, context) for each, context in pairs]
        self.keys = keys[0]
        self._executors: list[_core.Executor] = [self._executor(number, each) for number, each in enumerate(keys)]

    def _executor(self, number: int, keys: AnyKeys) -> _core.Executor:
        """The executor of a plaintext modulus."""
        return _core.Executor(
            self._contexts[number],
            _core.Plan(core_parameters(self._plan.chain, number), encode_code(self._plan)),
            keys,
            partial(slot_vector, self._plan),  # not of self, so that keys leave memory with the last reference to it
            constant_budget_bytes=self._shares.constants,
            products=partial(map_products, self._plan),
            recordings=self._shares.recordings,
            prepared=self._open_prepared(),
            lifts_late=self._shares.lifts_late,
            uses=self._shares.uses,
        )

    def _open_prepared(self) -> _core.PreparedConstants | None:
        if self._prepared is None:
            return None
        return open_prepared(self._prepared, self._plan, self.context, self._shares.constants)

    def ready(self) -> None:
        """Starts it anew, with keys brought there again, where its device failed."""
        if not self.has_failed:
            return
        with self._opening:
            if self.has_failed:
                self.keys, self._executors = None, []  # first: there may not be room for both
                self._start()

    @property
    def has_failed(self) -> bool:
        """Whether something failed on its device."""
        return any(context.has_failed for context in self._contexts)

    def executor(self, number: int = 0) -> _core.Executor:
        """The executor of the program, for a plaintext modulus by number.

        raises  DeviceError where its device failed and it was not started again
        """
        found = self._executors
        if not found:
            self.context.synchronise()  # says what failed
            raise DeviceError(f"{self.name} failed, and was not started again")
        return found[number]

    def here(self, arguments: Sequence[Any], number: int = 0) -> list[Any]:
        """The inputs of a run in its memory, for a plaintext modulus by number."""
        context = self._contexts[number]

        def here(value: Any) -> Any:
            if isinstance(value, int):
                return value
            if isinstance(value, StoredCiphertext):
                value = value.read()
            return _core.move(value, context, keeps_copy=not self.is_capped)

        return [[here(one) for one in value] if isinstance(value, list) else here(value) for value in arguments]

    def release_outputs(self, outputs: Sequence[Any], device: str) -> Sequence[Any]:
        """Move outputs of a run out of capped memory, unless its inputs were marked for a device."""
        if not self.is_capped or device != "cpu":
            return outputs
        arrays = [value if isinstance(value, list) else [value] for value in outputs]
        return [[_core.move(one, self.context.host, keeps_copy=False) for one in array] for array in arrays]

    def free_bytes(self) -> int | None:
        """Bytes of the device that are not in use; None where that is not known, or on the host."""
        most = None if self._place.device is None else memory_of(self._place.device)
        return None if most is None else max(0, most - self.context.live_bytes)

    def key_traffic(self) -> KeyTraffic | None:
        """Traffic of keys that stay in their file; None: all are in memory."""
        return KeyTraffic(**self.keys.traffic) if isinstance(self.keys, _core.MappedKeys) else None

    def memory_use(self) -> MemoryUse:
        """The engine's use of memory now."""
        device = self.context.memory
        return MemoryUse(
            held=device.held,
            live=self.context.live_bytes,
            constants=sum(each.cached_constant_bytes for each in self._executors),
            idle=device.idle,
            fresh=device.fresh,
            returned=device.returned,
        )


class Engines:
    """Those of one server: one, or one for each of several devices, which then share its runs."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self.all = tuple(engines)
        self._lock = threading.Lock()

    @property
    def context(self) -> _core.Context:
        """The context for what belongs to no run: of several devices the host's, as any of them may need it."""
        if len(self.all) > 1:
            return self.all[0].context.host
        self.all[0].ready()
        return self.all[0].context

    def check_device(self, who: str, device: str) -> None:
        """UserError for inputs that are marked for a device on which this server does not compute."""
        names = [engine.name for engine in self.all]
        if device != "cpu" and device not in names:
            raise UserError(
                f"{who} are for {device}, and this server computes on {', '.join(names)}: mark them anew with .cpu(), "
                "which every server takes, or .gpu()"
            )

    @contextmanager
    def share(self, devices: Sequence[str]) -> Iterator[list[tuple[Engine, list[int]]]]:
        """Engines for several runs that begin now, each with the numbers of those that go to it.

        devices  what the inputs of each run are marked for. A run that may go anywhere goes where the fewest have not
                 ended, but to no device that failed, as long as another has not; else that one is started anew
        raises   DeviceError of a device that cannot be started
        """
        found: dict[Engine, list[int]] = {}
        with self._lock if len(self.all) > 1 else nullcontext():
            for number, device in enumerate(devices):
                engine = self._least_busy(device)
                engine.outstanding += 1
                found.setdefault(engine, []).append(number)
        try:
            for engine in found:
                with self.naming(engine):
                    engine.ready()
            yield list(found.items())
        finally:
            with self._lock if len(self.all) > 1 else nullcontext():
                for engine, runs in found.items():
                    engine.outstanding -= len(runs)

    def _least_busy(self, device: str) -> Engine:
        asked = [engine for engine in self.all if device in ("cpu", engine.name)]
        well = [engine for engine in asked if not engine.has_failed]
        return min(well or asked, key=lambda engine: engine.outstanding)

    @contextmanager
    def naming(self, engine: Engine) -> Iterator[None]:
        """Failures of a device say which of several it was."""
        try:
            yield
        except DeviceError as error:
            if len(self.all) == 1:
                raise
            raise DeviceError(f"{engine.name}: {error.message}", at=error.at) from None
