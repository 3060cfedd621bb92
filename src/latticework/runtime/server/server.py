"""The server: runs a plan on ciphertexts with evaluation keys. It never holds a secret key."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from latticework.errors import (
    BudgetError,
    MissingKeyError,
    ParameterMismatchError,
    RangeError,
    SecretKeyError,
    ShapeError,
    UserError,
)
from latticework.errors.shown import count_noun, describe, size
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.files.serialise import interface_id, read_plan
from latticework.plan.key_schedule.key_uses import key_order
from latticework.plan.key_schedule.schedule import budget_to_read_once, buffer_bytes, smallest_budget, whole_key_bytes
from latticework.plan.parameters.fingerprint import core_parameters, fingerprint
from latticework.plan.schema.amounts import checked_runs
from latticework.plan.schema.schema import IndexInput, Plan
from latticework.runtime.callers import at_caller
from latticework.runtime.devices.device import Places, memory_of, names_of
from latticework.runtime.events import Event, OnEvent
from latticework.runtime.exchange.encrypted import (
    INPUTS,
    OUTPUTS,
    Encrypted,
    EncryptedFile,
    check_interface,
    check_role,
    inputs_of,
    load_encrypted,
)
from latticework.runtime.exchange.input_parts import check_complete, join
from latticework.runtime.exchange.integers import check_integers
from latticework.runtime.exchange.row_batches import check_runs
from latticework.runtime.keys.key_folder import READERS as FOLDER_READERS
from latticework.runtime.keys.key_sets import EVALUATION_FILE, Keys, PublicKeys, file_in, refuse_secret_keys
from latticework.runtime.memory_use import KeyTraffic, MemoryUse, in_all
from latticework.runtime.options import ServerPlace, check_readers, places_of
from latticework.runtime.program_names import own_names, program_names_first
from latticework.runtime.server.checkpoint import Checkpoint, CheckpointFile
from latticework.runtime.server.engines import AnyKeys, Engine, Engines
from latticework.runtime.server.key_reading import KeyWaits, telling_reads
from latticework.runtime.server.members import MembersProgress, check_members, members_at_once, naming
from latticework.runtime.server.prepared import check_prepared
from latticework.runtime.server.run_progress import RunProgress
from latticework.runtime.server.run_state import State
from latticework.runtime.server.shares import Shares, shares_of_files, shares_of_memory
from latticework.runtime.server.side_by_side import Check, side_by_side
from latticework.values.extension import _core
from latticework.values.inputs.machine_memory import machine_bytes

ONCE = "once"  # value of key_memory=


@dataclass(frozen=True, slots=True)
class _Group:
    """Runs for one plaintext modulus, by its number: of each its number, which says where its outputs come to, the
    arguments of the core, and the member that it is of."""

    modulus: int
    runs: Sequence[tuple[int, list[Any], int | None]]


class Server:
    """Evaluates one program.

    plan     the compiled program
    keys     evaluation keys of one client
    memory   budget for all that the server holds, such as "4GB": keys, ciphertexts of runs, tables, encoded weights;
             Python, the plan and the weights themselves come on top, and so do inputs that wait, and results. Runs for
             which there is no room wait, and weights that do not fit are encoded anew when used. None: 9/10 of what the
             machine has left where that is less than it would take; else no bound, and 4 GB for encoded weights and
             what the next run works in; working memory beyond it, and beyond 256 MiB that are kept anyway, goes back to
             the system
    runs     that `memory` has to have room for at the same time: calls from several threads, members of `run_many`.
             Each one more leaves less for keys and encoded weights
    device   "cpu"; or a GPU by name ("cuda:0", "sim") or as a `Device`, whose memory then holds keys, encoded weights
             and values: `memory` is of the device, and no more of it is used. Or several of one kind, as "cuda:0,1" or
             a list: each holds all of this and has such a budget, and a run goes to the one with the fewest under way
    threads  0: one per core
    prepared file of `Model.prepare` or `latticework prepare`: encoded weights, which all servers of a user on this
             machine that are given it hold in memory together, once. Results are the same bytes with and without
    """

    @at_caller
    def __init__(
        self,
        plan: Plan,
        keys: PublicKeys | None = None,
        *,
        memory: str | int | None = None,
        runs: int = 1,
        device: Places = "cpu",
        threads: int = 0,
        prepared: str | Path | None = None,
    ) -> None:
        if keys is None:
            keys = _no_keys(plan)
        _check_keys(plan, keys)
        places, at_once = places_of(device, memory), checked_runs(runs, memory)
        shares = [
            shares_of_memory(
                plan,
                place.memory,
                _bytes_of(plan, keys.evaluation),
                at_once,
                on_device=place.device is not None,
                left=place.left_bytes,
                records=place.records,
            )
            for place in places
        ]
        self._open(
            plan, places, shares, threads, lambda context, _: _keys_on(keys.evaluation, context), KeyWaits(), prepared
        )

    def _open(
        self,
        plan: Plan,
        places: Sequence[ServerPlace],
        shares: Sequence[Shares],
        threads: int,
        keys_for: Callable[[_core.Context, Shares], AnyKeys],
        waits: KeyWaits,
        prepared: str | Path | None,
    ) -> None:
        def open_engine(place: ServerPlace, share: Shares) -> tuple[list[_core.Context], list[AnyKeys]]:
            first, *others = contexts = place.contexts(plan.chain, threads)
            keys = keys_for(first, share)
            _check_keys(plan, PublicKeys(keys, None))
            is_mapped = isinstance(keys, _core.MappedKeys)
            return contexts, [keys, *(keys_for(each, share) if is_mapped else keys for each in others)]

        self.plan, self._waits = plan, waits
        self._interface = interface_id(plan.client)
        self._device = names_of([place.device for place in places])
        engines = []
        for place, share in zip(places, shares, strict=True):
            check_prepared(prepared, plan, place)
            engine = Engine(place, plan, share.for_each_of(len(plan.chain.plain_moduli)), open_engine, prepared)
            if isinstance(engine.keys, _core.MappedKeys):
                _check_key_memory(plan, engine.executor().key_need, engine.keys.traffic["budget_bytes"])
            assert engine.keys is not None
            self._key_set = engine.keys.key_set
            engines.append(engine)
        self._engines = Engines(engines)

    @property
    def context(self) -> _core.Context:
        """The context of the server's device; of several that of the host."""
        return self._engines.context

    @classmethod
    @at_caller
    def load(
        cls,
        plan: str | Path,
        keys: str | Path | None = None,
        *,
        memory: str | int | None = None,
        key_memory: str | int | None = None,
        key_readers: int = 1,
        runs: int = 1,
        device: Places = "cpu",
        threads: int = 0,
        prepared: str | Path | None = None,
    ) -> Server:
        """Make a server from a plan file and an evaluation key file (or the folder that holds one).

        keys         a folder must not hold a secret key, as that of `Keys.save` does; None for a plan that needs none:
                     its server takes inputs of any client
        memory       budget for all that the server holds, as above. Where keys do not fit, they stay in their file,
                     which must not be changed meanwhile, and an instruction goes through them limb by limb. How much
                     is for keys and how much for encoded weights goes by predicted time. Results are the same, to the
                     bit
        key_memory   an amount such as "2GB": keys stay in their file, and what is in memory of them never exceeds it;
                     "once": as little as a run needs that reads each of them once, for a server of one run
        key_readers  threads that read such keys ahead of their use; 0: they are read when they are needed
        runs, prepared  as above
        raises  FormatError for damaged files or files of another kind; SecretKeyError for a secret key file, or a
                folder that holds one; UserError, before they are read, for keys larger than the machine's memory, and
                for a `key_memory` that is too small for some line of the program, which it names
        """
        program, readers = read_plan(Path(plan)), check_readers(key_readers)
        places, at_once = places_of(device, memory), checked_runs(runs, memory)
        if keys is None:
            _check_needs_no_keys(program)
        else:
            refuse_secret_keys(keys)
        if key_memory == ONCE:
            key_memory = budget_to_read_once(program, TripCounts(program))
        shares = []
        for place in places:
            is_there = place.device is not None
            found = shares_of_files(
                program,
                place.memory,
                key_memory,
                readers,
                at_once,
                on_device=is_there,
                left=place.left_bytes,
                records=place.records,
            )
            if found.keys is None:
                _check_room(program, place)
            shares.append(found)
        file, waits = "" if keys is None else file_in(keys, EVALUATION_FILE), KeyWaits()

        def keys_for(context: _core.Context, share: Shares) -> AnyKeys:
            if keys is None:
                return _core.EvaluationKeys.none(context)
            try:
                if share.keys is None:
                    return _core.load_evaluation_keys(file, context)
                return _core.MappedKeys(file, context, share.keys, readers=readers, on_wait=waits)
            except SecretKeyError:
                raise SecretKeyError(
                    f"{file} is a secret key file; a server must never hold one: delete it from this machine, and give "
                    f"the server {EVALUATION_FILE}, which keys.public().save(folder) writes"
                ) from None

        server = cls.__new__(cls)
        server._open(program, places, shares, threads, keys_for, waits, prepared)
        return server

    @at_caller
    @program_names_first(lambda server, parts: server._open_integers(parts))
    def __call__(
        self,
        /,
        *inputs: Encrypted | EncryptedFile,
        on_event: OnEvent | None = None,
        checkpoint: str | Path | Checkpoint | None = None,
        **integers: int,
    ) -> Encrypted:
        """Run the program.

        inputs      what the client encrypted, at once or in parts: every input once. Parts can be used in many runs.
                    Rows and stacks of inputs are computed run by run, and returned as one. Those of files that are open
                    are read run by run
        integers    run-time integers (lw.Index), such as numbers of iterations, that no part has. One that is called
                    `on_event` or `checkpoint` is given by that name, and `run` takes the option beside it
        on_event    called after every instruction; where keys stay in a file, also in waits for them of more than a
                    second, and at the end of a run with what it read
        checkpoint  a file, or a `Checkpoint`, which says how often: now and then, and after a turn of an outermost
                    loop, it holds what is computed so far, and is gone when the run is done. Where it is there, because
                    a run before was stopped, this one goes on from it, and returns the same bytes as one that was not
        raises      before any work for inputs of another program, parameters or key set, missing ones, and ones that
                    are given twice; for a checkpoint that is damaged or of anything else than this run
        """
        return self.run(*inputs, on_event=on_event, integers=own_names(integers), checkpoint=checkpoint)

    def _open_integers(self, parts: Sequence[Any]) -> set[str]:
        """Run-time integers that none of these has."""
        given = {name for part in parts if isinstance(part, Encrypted | EncryptedFile) for name in part.integers}
        return {i.name for i in self.plan.client.inputs if isinstance(i, IndexInput)} - given

    def run(
        self,
        *inputs: Encrypted | EncryptedFile,
        on_event: OnEvent | None = None,
        watch: Sequence[int] = (),
        on_watch: Callable[[int, _core.Ciphertext | list[_core.Ciphertext]], None] | None = None,
        integers: Mapping[str, int] = {},
        checkpoint: str | Path | Checkpoint | None = None,
    ) -> Encrypted:
        """Run as a call does, and report every value of the watched registers, an array of several as a list."""
        opened = [inputs_of(each, whole=checkpoint is not None) for each in inputs]
        given, arguments = self._join_inputs(opened, integers)
        runs, is_seen = len(arguments), checkpoint is not None or on_watch is not None
        if is_seen:
            self._check_one_modulus("checkpoint=" if checkpoint is not None else "on_watch=")
        if runs > 1 and len(self._engines.all) > 1 and not is_seen:
            numbers = [self._modulus_of(run, runs) for run in range(runs)]
            return self._collect_outputs(given, self._run_all(arguments, [given.device] * runs, numbers, on_event))
        outputs = []
        with self._engines.share([given.device]) as [(engine, _)], self._engines.naming(engine):
            file = None
            if checkpoint is not None:
                file = CheckpointFile(checkpoint, self.plan, self._key_set_of(given), given, engine.context)
            state = None if file is None else file.read()
            on_state = None if file is None else file.note
            tell, tell_value = engine.admission.reporting(on_event), engine.admission.reporting(on_watch)
            for run, values in enumerate(arguments):
                number = self._modulus_of(run, runs)
                with engine.admission.runs(), telling_reads(tell, engine.key_traffic, self._waits) as told:
                    here = engine.here(values, number)
                    listener = None if told is None else _listener(self.plan, here, told, run, runs, state)
                    found = engine.executor(number).run(here, listener, list(watch), tell_value, on_state, state)
                    outputs.append(engine.release_outputs(found, given.device))
                    del here  # before the inputs of the next run are read
        if file is not None:
            file.finish()
        return self._collect_outputs(given, outputs)

    @at_caller
    def run_many(
        self,
        members: Sequence[Encrypted | Sequence[Encrypted]],
        *,
        on_event: OnEvent | None = None,
        at_once: int | None = None,
        integers: Mapping[str, int] = {},
    ) -> list[Encrypted]:
        """Run the program on several inputs, which go through it together: keys that stay in their file are read once
        for all of them. The results are those of one call after the other, to the bit.

        members   of each, what the client encrypted, or a list of its parts; rows and stacks of inputs count as several
        on_event  called after every instruction of every member, and at the end with what was read of keys in a file
        at_once   members that are computed together at most, since the values of all are in memory; None: as many as
                  `memory=` of the server has room for, which `runs=` says, or else half of the memory that the machine
                  has left. Others follow, and keys are read again for them.
                  With all keys in memory nothing is read, and members are computed one by one
        integers  run-time integers that no member has, for all of them. Members that differ in theirs take different
                  ways through the program, and are not computed together
        raises    before any work, and naming the member, what a call raises; UserError for no members at all,
                  BudgetError for more at once than there is room for. If one fails, none has a result
        """
        check_members(self.plan.client, members, at_once)
        given, runs = [], []
        for number, parts in enumerate(members):
            with naming(number):
                inputs, arguments = self._join_inputs([parts] if isinstance(parts, Encrypted) else parts, integers)
            given.append(inputs)
            runs.append(arguments)
        flat = [arguments for of_one in runs for arguments in of_one]
        of_run = [number for number, of_one in enumerate(runs) for _ in of_one]
        devices = [given[number].device for number in of_run]
        moduli = [self._modulus_of(run, len(of_one)) for of_one in runs for run in range(len(of_one))]
        outputs = iter(self._run_all(flat, devices, moduli, on_event, at_once=at_once, of_run=of_run))
        return [
            self._collect_outputs(inputs, [next(outputs) for _ in arguments])
            for inputs, arguments in zip(given, runs, strict=True)
        ]

    def _run_all(
        self,
        runs: list[list[Any]],
        devices: Sequence[str],
        moduli: Sequence[int],
        on_event: OnEvent | None,
        *,
        at_once: int | None = None,
        of_run: Sequence[int] | None = None,
    ) -> list[Any]:
        """Compute several runs, which all devices share; returns what the core returns of each.

        devices  what the inputs of each are marked for;  moduli  number of the plaintext modulus of each
        of_run   the member that each is of, where there are members
        """
        progress = None if on_event is None else MembersProgress(self.plan, runs)
        outputs: list[Any] = [None] * len(runs)
        with self._engines.share(devices) as shared:
            jobs = []
            tell = on_event if on_event is None or len(shared) == 1 else _one_at_a_time(on_event)
            for engine, numbers in shared:
                together = self._at_once(engine, len(numbers), at_once)
                groups = []
                for modulus in sorted({moduli[number] for number in numbers}):
                    of_it = [number for number in numbers if moduli[number] == modulus]
                    group = [(number, runs[number], None if of_run is None else of_run[number]) for number in of_it]
                    if not engine.is_capped:
                        with self._engines.naming(engine):
                            group = [
                                (number, _check_inputs(engine, values, member, modulus), member)
                                for number, values, member in group
                            ]
                    groups.append(_Group(modulus, group))
                jobs.append(partial(self._run_groups, engine, groups, together, tell, progress, devices, outputs))
            side_by_side(jobs)
        return outputs

    def _run_groups(
        self,
        engine: Engine,
        groups: Sequence[_Group],
        together: int,
        *how: Any,
    ) -> None:
        """Runs of one device, those of one plaintext modulus after the other."""
        for group in groups:
            self._run_group(engine, group, min(together, len(group.runs)), *how)

    def _run_group(
        self,
        engine: Engine,
        group: _Group,
        together: int,
        on_event: OnEvent | None,
        progress: MembersProgress | None,
        devices: Sequence[str],
        outputs: list[Any],
        check: Check | None,
    ) -> None:
        """Runs of one device and one plaintext modulus."""
        modulus = group.modulus
        tell, admission = engine.admission.reporting(on_event), engine.admission
        with (
            self._engines.naming(engine),
            admission.runs(together),
            telling_reads(tell, engine.key_traffic, self._waits) as told,
        ):

            def listen(first: int, run: int, *words: Any) -> None:
                if told is not None and progress is not None:
                    told(progress.event(group.runs[first + run][0], *words))

            for _, values, member in group.runs if engine.is_capped else ():
                _check_inputs(engine, values, member, modulus)
            at_once = together if engine.is_capped else len(group.runs)  # whose inputs are there
            for first in range(0, len(group.runs), at_once):
                part = group.runs[first : first + at_once]
                here = [engine.here(values, modulus) for _, values, _ in part]
                listener = None if told is None else partial(listen, first)
                found = engine.executor(modulus).run_many(here, together, listener, check)
                for (number, _, _), of_one in zip(part, found, strict=True):
                    outputs[number] = engine.release_outputs(of_one, devices[number])

    def _at_once(self, engine: Engine, wanted: int, most: int | None) -> int:
        """Members whose values there is memory for; one where there is nothing to read for all of them."""
        if engine.key_traffic() is None or wanted == 1:
            return 1
        room = engine.admission.most
        if room is None:
            return min(wanted, most or members_at_once(self.plan, engine.free_bytes()))
        if most is not None and min(wanted, most) > room:
            raise BudgetError(
                f"program {self.plan.client.name}, run_many: at_once={most}, and memory= of this server has room for "
                f"{count_noun(room, 'run')} at a time: leave at_once out, or make the server with runs={most}"
            )
        return min(wanted, most or room)

    def _join_inputs(
        self, parts: Sequence[Encrypted], integers: Mapping[str, int]
    ) -> tuple[Encrypted, list[list[Any]]]:
        """All inputs as one, and the core's arguments of each run that they are for; checked."""
        spec = self.plan.client
        given = self._join(parts, {}, check_integers(spec, integers))
        check_complete(given, spec)
        _check_one_client(given)
        self._engines.check_device(f"program {spec.name}: the inputs", given.device)
        runs = 1 if given.extent is None else spec.runs_for(given.extent.runs)
        parts_of = {name: self._by_modulus(name, array) for name, array in given.tensors.items()}
        if given.extent is not None:
            check_runs(spec, given.extent, {name: len(arrays[0]) for name, arrays in parts_of.items()})
        return given, [
            [self._argument(given, parts_of, i, number, run, runs) for i in spec.inputs]
            for number in range(len(spec.chain.plain_moduli))
            for run in range(runs)
        ]

    def _by_modulus(self, name: str, array: Sequence[_core.Ciphertext]) -> list[Sequence[_core.Ciphertext]]:
        """The ciphertexts of an input by plaintext modulus, each with as many, one modulus after the other."""
        moduli = len(self.plan.chain.plain_moduli)
        each, rest = divmod(len(array), moduli)
        if rest or not each:
            raise ShapeError(
                f"program {self.plan.client.name}, input {name} has {len(array)} ciphertexts, not as many for each of "
                f"{moduli} plaintext moduli; the file was altered"
            )
        return [array[number * each : (number + 1) * each] for number in range(moduli)]

    def _modulus_of(self, run: int, runs: int) -> int:
        """The number of the plaintext modulus that a run of all those of one call is for."""
        return run * len(self.plan.chain.plain_moduli) // runs

    def _check_one_modulus(self, option: str) -> None:
        """UserError for what is not there where a call is a run for each of several plaintext moduli."""
        moduli = len(self.plan.chain.plain_moduli)
        if moduli > 1:
            raise UserError(
                f"program {self.plan.client.name}: {option} is for one run, and integers= takes one for each of "
                f"{moduli} plaintext moduli: leave it out"
            )

    def _collect_outputs(self, given: Encrypted, outputs: Sequence[Sequence[Any]]) -> Encrypted:
        """Collect what the core returned of each run into one result."""
        spec = self.plan.client
        found: dict[str, list[_core.Ciphertext]] = {o.name: [] for o in spec.outputs}
        for of_run in outputs:
            for made, value in zip(found.values(), of_run, strict=True):
                made += value if isinstance(value, list) else [value]
        tensors = {name: tuple(made) for name, made in found.items()}
        return Encrypted(
            OUTPUTS, spec.name, self._interface, tensors, {}, given.extent, given.rounds, given.device, given.clipped
        )

    @at_caller
    def inputs(self, /, *parts: Encrypted | None, **outputs: Encrypted) -> Encrypted:
        """Inputs in several parts, of which some may be results of other circuits, or of a run before, as one.

        parts    what the client encrypted, if anything
        outputs  by input: what the server of the other circuit returned; of a program compiled with feed=, what this
                 server did
        raises   TraceError, FormatError or ParameterMismatchError for what is no part of the inputs of this program,
                 for results that are not those of an input, and for an input that is given twice
        """
        return self._join([part for part in parts if part is not None], outputs)

    def _join(
        self, parts: Sequence[Encrypted], outputs: Mapping[str, Encrypted], integers: Mapping[str, int] = {}
    ) -> Encrypted:
        spec = self.plan.client
        for part in parts:
            check_role(part, spec, INPUTS)
            for name, array in part.tensors.items():
                for ciphertext in array:
                    self._check_origin(f"program {spec.name}, input {name}", ciphertext)
            check_interface(part, spec, self._interface)
        for argument, result in outputs.items():
            for array in result.tensors.values() if isinstance(result, Encrypted) else ():
                for ciphertext in array:
                    self._check_origin(f"program {spec.name}, the result for input {argument}", ciphertext)
        return join(spec, self._interface, parts, outputs, integers)

    @property
    def memory_use(self) -> MemoryUse:
        """The server's use of the system's memory, or of that of its devices together."""
        return in_all([engine.memory_use() for engine in self._engines.all])

    @property
    def device(self) -> str:
        """The place of computation: "cpu", or the server's devices by name, as "cuda:0" or "cuda:0,1"."""
        return self._device

    @property
    def runs_at_once(self) -> int | None:
        """The number of runs that `memory=` has room for at the same time; None: no bound was given."""
        return self._engines.all[0].admission.most

    @property
    def key_traffic(self) -> KeyTraffic | None:
        """Traffic of keys that stay in their file, since the server was made; None: all are in memory."""
        found = [engine.key_traffic() for engine in self._engines.all]
        return in_all([traffic for traffic in found if traffic is not None]) if None not in found else None

    @at_caller
    def load_encrypted(self, source: str | Path | bytes | bytearray | memoryview) -> Encrypted:
        """Read encrypted inputs."""
        return load_encrypted(source, self.context)

    @at_caller
    def open_encrypted(self, path: str | Path) -> EncryptedFile:
        """Open a file of encrypted inputs, which may be larger than memory: each run of a call reads its own.

        raises  FormatError for a damaged or other file; ParameterMismatchError for other parameters
        """
        return EncryptedFile(path, self.context)

    def _argument(
        self,
        inputs: Encrypted,
        parts_of: Mapping[str, Sequence[Sequence[_core.Ciphertext]]],
        spec: Any,
        number: int,
        run: int,
        runs: int,
    ) -> Any:
        if isinstance(spec, IndexInput):
            value = inputs.integers[spec.name]
            if not 0 <= value <= spec.limit:
                raise RangeError(
                    f"program {self.plan.client.name}: {spec.name} is {value}; it was compiled for 0 to {spec.limit}"
                )
            return value
        array, where = parts_of[spec.name][number], f"program {self.plan.client.name}, input {spec.name}"
        count = spec.pack.count
        if len(array) not in (count, runs * count):
            every = f", or {runs * count} for {runs} runs" if runs > 1 else ""
            raise ShapeError(f"{where} has {len(array)} ciphertexts, this plan takes {count}{every}")
        array = array if len(array) == count else array[run * count : (run + 1) * count]
        return array[0] if len(array) == 1 else list(array)

    def _key_set_of(self, given: Encrypted) -> bytes:
        """The key set of the server, or without keys that of the inputs."""
        own = bytes(self._key_set)
        arrays = given.tensors.values()
        return own if any(own) else next((bytes(c.key_set) for array in arrays for c in array if any(c.key_set)), own)

    def _check_origin(self, where: str, ciphertext: _core.Ciphertext) -> None:
        if ciphertext.parameters != self.context.parameters.fingerprint:
            raise ParameterMismatchError(
                f"{where} was encrypted under parameters {ciphertext.parameters[:8].hex()}, this plan has "
                f"{self.context.parameters.fingerprint[:8].hex()}: encrypt with the client of this plan"
            )
        is_known = any(ciphertext.key_set) and any(self._key_set)  # else a trivial encryption, or a server without keys
        if is_known and ciphertext.key_set != self._key_set:
            raise ParameterMismatchError(
                f"{where} was encrypted under key set {ciphertext.key_set[:8].hex()}, the server has the keys of "
                f"{self._key_set[:8].hex()}: give it keys.public() of the client that encrypted"
            )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Server is not pickled or copied; each process uses Server.load(plan, keys)")

    def __repr__(self) -> str:
        return describe("Server", *self.plan.client.facts(), "" if self.device == "cpu" else f"on {self.device}")


def _keys_on(keys: AnyKeys, context: _core.Context) -> AnyKeys:
    """Those that stay in their file are read into the memory of a context."""
    return keys.on(context) if isinstance(keys, _core.MappedKeys) else keys


def _bytes_of(plan: Plan, keys: AnyKeys) -> int:
    """Bytes that the keys take in memory at most; of those that stay in their file, rows that the program reads."""
    if not isinstance(keys, _core.MappedKeys):
        return keys.num_bytes
    most = whole_key_bytes(plan) + buffer_bytes(plan, FOLDER_READERS) if plan.keys else 0
    return min(int(keys.traffic["budget_bytes"]), most)


def _check_room(plan: Plan, place: ServerPlace) -> None:
    """UserError for keys that the machine, or the device, has no memory for, all at once."""
    needed = plan.client.manifest.total_resident_bytes
    had = machine_bytes() if place.device is None else memory_of(place.device)
    if had is not None and needed > had:
        whose = "this machine" if place.device is None else place.device.name
        raise UserError(
            f"program {plan.client.name}: its {count_noun(len(plan.client.manifest.uses), 'evaluation key')} take "
            f"{needed} bytes ({size(needed)}) in memory, and {whose} has {had} ({size(had)}): leave them in their "
            "file with memory='4GB', or as much as there is to spare"
        )


def _check_key_memory(plan: Plan, need: tuple[int, int, int], had: int) -> None:
    """UserError for less memory for keys than some instruction needs."""
    needed, block, number = need
    if needed <= had:
        return
    instruction = plan.blocks[block].code[number]
    op, line = instruction.op, instruction.location
    if not plan.locations[line].file:  # in a bootstrap: the line that calls one
        least = smallest_budget(key_order(plan, plan.chain, TripCounts(plan)), plan)
        op, line = (op, line) if least is None else (least.op, least.line)
    raise UserError(
        f"program {plan.client.name}: key_memory is {had} bytes; the least with which it runs is {needed} "
        f"({size(needed)}), for {op} of {plan.locations[line]}: give it as much, or twice that so that keys can be "
        "read while others are in use"
    )


def _check_needs_no_keys(plan: Plan) -> None:
    """MissingKeyError for a plan that needs keys."""
    if plan.keys:
        told = count_noun(len(plan.client.manifest.uses), "evaluation key")
        raise MissingKeyError(
            f"the server of {plan.client.name} needs {told}, and got none: give it keys.public() of a client, or the "
            f"file or folder with {EVALUATION_FILE}"
        )


def _check_one_client(given: Encrypted) -> None:
    """ParameterMismatchError for inputs under several secret keys, which a server without keys cannot tell apart."""
    found = {bytes(c.key_set) for array in given.tensors.values() for c in array if any(c.key_set)}
    if len(found) > 1:
        told = " and ".join(sorted(one[:8].hex() for one in found)[:2])
        raise ParameterMismatchError(
            f"program {given.program}: its inputs are under key sets {told}: encrypt all of them with one client"
        )


def _no_keys(plan: Plan) -> PublicKeys:
    """The keys of a plan that needs none."""
    _check_needs_no_keys(plan)
    return PublicKeys(_core.EvaluationKeys.none(_core.Context(core_parameters(plan.chain), "auto", 1)), None)


def _check_keys(plan: Plan, keys: PublicKeys) -> None:
    """Check that a server is given public keys, of the plan's parameters."""
    who = f"the server of {plan.client.name}"
    if isinstance(keys, Keys | _core.SecretKey):
        raise SecretKeyError(f"{who} was given a secret key; a server must never hold one: give it keys.public()")
    if not isinstance(keys, PublicKeys):
        raise UserError(
            f"{who} takes public keys, got {type(keys).__name__}: give it keys.public(), "
            "or read files with Server.load(plan_file, key_folder)"
        )
    ours, theirs = fingerprint(plan.chain), keys.evaluation.parameters
    if ours != theirs:
        raise ParameterMismatchError(
            f"{who} was given keys of parameters {theirs[:8].hex()}, its plan has {ours[:8].hex()}: "
            "make the keys with the client of this plan; compiling anew may change the parameters"
        )


def _check_inputs(engine: Engine, values: list[Any], member: int | None, modulus: int) -> list[Any]:
    """Inputs of a run where it will be; raises, naming the member, what the run would raise before any work."""
    with nullcontext() if member is None else naming(member):
        here = engine.here(values, modulus)
        engine.executor(modulus).check(here)
        return here


def _one_at_a_time(on_event: OnEvent) -> OnEvent:
    """The same subscriber for several threads, which it hears one after the other."""
    lock = threading.Lock()

    def tell(event: Event) -> None:
        with lock:
            on_event(event)

    return tell


def _listener(
    plan: Plan, inputs: Sequence[Any], on_event: OnEvent, run: int, runs: int, state: State | None = None
) -> Callable[..., None]:
    """Tells a subscriber of the instructions of one run of several, from the start or from a checkpoint on."""
    progress = RunProgress(plan, [value if isinstance(value, int) else None for value in inputs])
    if state is not None:
        progress.go_on(*state[:2])

    def listen(op: str, block: int, instruction: int, level: int, *clock_ns: int) -> None:
        start, end = (t * 1e-9 for t in clock_ns)
        at, total = progress.note(block, instruction), progress.total
        done = run * total + at.done
        on_event(Event("evaluate", op, done, runs * total, level, start, end, at.iteration, at.trips, at.bootstraps))

    return listen
