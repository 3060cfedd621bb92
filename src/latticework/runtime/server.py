"""The server: runs a plan on ciphertexts with evaluation keys. It never holds a secret key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from latticework import _core
from latticework.errors import ParameterMismatchError, RangeError, SecretKeyError, ShapeError, UserError
from latticework.packing.constants import MapSums, slot_vectors
from latticework.params.fingerprint import core_parameters, fingerprint
from latticework.plan.code import encode_code
from latticework.plan.schema import IndexInput, Plan
from latticework.plan.serialise import interface_id, read_plan
from latticework.runtime.batches import check_runs
from latticework.runtime.callers import at_caller
from latticework.runtime.encrypted import INPUTS, OUTPUTS, Encrypted, check_interface, check_role, load_encrypted
from latticework.runtime.events import Event, OnEvent
from latticework.runtime.integers import check_integers
from latticework.runtime.keys import EVALUATION_FILE, Keys, PublicKeys, file_in, refuse_secret_keys
from latticework.runtime.memory_use import MemoryUse
from latticework.runtime.options import DEFAULT_MEMORY as DEFAULT_MEMORY
from latticework.runtime.options import open_context, parse_bytes
from latticework.runtime.parts import check_complete, join
from latticework.runtime.run_progress import RunProgress
from latticework.words.shown import describe


class Server:
    """Evaluates one program.

    plan     the compiled program
    keys     evaluation keys of one client
    memory   budget for what is kept between runs to spare work, such as "4GB": encoded weights, and in what they leave
             of it the memory that the next run works in. Weights that do not fit are encoded anew when used; working
             memory beyond it, and beyond 256 MiB that are kept anyway, goes back to the system after each run
    device   "cpu"
    threads  0: one per core
    """

    @at_caller
    def __init__(
        self, plan: Plan, keys: PublicKeys, *, memory: str | int = DEFAULT_MEMORY, device: str = "cpu", threads: int = 0
    ) -> None:
        self.plan = plan
        self._interface = interface_id(plan.client)
        _check_keys(plan, keys)
        budget_bytes = parse_bytes(memory)
        self.context = open_context(plan.chain, device, threads)
        code = _core.Plan(core_parameters(plan.chain), encode_code(plan))
        self._key_set = keys.evaluation.key_set
        self._executor = _core.Executor(
            self.context,
            code,
            keys.evaluation,
            self._constant,
            constant_budget_bytes=budget_bytes,
            products=self._products,
        )

    @classmethod
    @at_caller
    def load(
        cls,
        plan: str | Path,
        keys: str | Path,
        *,
        memory: str | int = DEFAULT_MEMORY,
        key_memory: str | int | None = None,
        device: str = "cpu",
        threads: int = 0,
    ) -> Server:
        """From a plan file and an evaluation key file (or the folder that holds one).

        keys        a folder must not hold a secret key, as that of `Keys.save` does
        key_memory  None: all keys are read now. An amount such as "2GB": they stay in their file, which must not be
                    changed meanwhile, until an instruction needs them, and leave memory where they exceed the amount
        raises  FormatError for damaged files or files of another kind; SecretKeyError for a secret key file, or a
                folder that holds one
        """
        program = read_plan(Path(plan))
        refuse_secret_keys(keys)
        context = open_context(program.chain, device, threads)
        file = file_in(keys, EVALUATION_FILE)
        try:
            evaluation = (
                _core.load_evaluation_keys(file, context)
                if key_memory is None
                else _core.MappedKeys(file, context, parse_bytes(key_memory, "key_memory"))
            )
        except SecretKeyError:
            raise SecretKeyError(
                f"{file} is a secret key file; a server must never hold one: delete it from this machine, and give the "
                f"server {EVALUATION_FILE}, which keys.public().save(folder) writes"
            ) from None
        return cls(program, PublicKeys(evaluation, None), memory=memory, device=device, threads=threads)

    @at_caller
    def __call__(self, *inputs: Encrypted, on_event: OnEvent | None = None, **integers: int) -> Encrypted:
        """Run the program.

        inputs    what the client encrypted, at once or in parts: every input once. Parts can be used in many runs.
                  Rows and stacks of inputs are computed run by run, and returned as one
        integers  run-time integers (lw.Index), such as numbers of iterations, that no part has
        on_event  called after every instruction
        raises    before any work for inputs of another program, parameters or key set, missing ones, and ones that
                  are given twice
        """
        return self.run(*inputs, on_event=on_event, integers=integers)

    def run(
        self,
        *inputs: Encrypted,
        on_event: OnEvent | None = None,
        watch: Sequence[int] = (),
        on_watch: Callable[[int, _core.Ciphertext | list[_core.Ciphertext]], None] | None = None,
        integers: Mapping[str, int] = {},
    ) -> Encrypted:
        """As a call, and reports every value of the watched registers, an array of several as a list."""
        spec = self.plan.client
        given = self._join(inputs, {}, check_integers(spec, integers))
        check_complete(given, spec)
        runs = 1 if given.extent is None else given.extent.runs
        if given.extent is not None:
            check_runs(spec, given.extent, {name: len(array) for name, array in given.tensors.items()})
        arguments = [[self._argument(given, i, run, runs) for i in spec.inputs] for run in range(runs)]
        found: dict[str, list[_core.Ciphertext]] = {o.name: [] for o in spec.outputs}
        for run in range(runs):
            listener = None if on_event is None else _listener(self.plan, arguments[run], on_event, run, runs)
            outputs = self._executor.run(arguments[run], listener, list(watch), on_watch)
            for made, value in zip(found.values(), outputs, strict=True):
                made += value if isinstance(value, list) else [value]
        tensors = {name: tuple(made) for name, made in found.items()}
        return Encrypted(OUTPUTS, spec.name, self._interface, tensors, {}, given.extent, given.rounds)

    @at_caller
    def inputs(self, *parts: Encrypted | None, **outputs: Encrypted) -> Encrypted:
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
        """What this server has of the system's memory now."""
        device = self.context.memory
        return MemoryUse(
            held=device.held,
            live=self.context.live_bytes,
            constants=self._executor.cached_constant_bytes,
            idle=device.idle,
            fresh=device.fresh,
            returned=device.returned,
        )

    @at_caller
    def load_encrypted(self, source: str | Path | bytes | bytearray | memoryview) -> Encrypted:
        """Read encrypted inputs."""
        return load_encrypted(source, self.context)

    def _constant(self, number: int, product: int | None = None) -> npt.NDArray[np.complex128]:
        return slot_vectors(self.plan.constants[number], self.plan.sources, product)

    def _products(self, number: int) -> npt.NDArray[np.int64]:
        sums = self.plan.constants[number]
        assert isinstance(sums, MapSums)
        return sums.products.rows

    def _argument(self, inputs: Encrypted, spec: Any, run: int, runs: int) -> Any:
        if isinstance(spec, IndexInput):
            value = inputs.integers[spec.name]
            if not 0 <= value <= spec.limit:
                raise RangeError(
                    f"program {self.plan.client.name}: {spec.name} is {value}; it was compiled for 0 to {spec.limit}"
                )
            return value
        array, where = inputs.tensors[spec.name], f"program {self.plan.client.name}, input {spec.name}"
        count = spec.pack.count
        if len(array) not in (count, runs * count):
            every = f", or {runs * count} for {runs} runs" if runs > 1 else ""
            raise ShapeError(f"{where} has {len(array)} ciphertexts, this plan takes {count}{every}")
        array = array if len(array) == count else array[run * count : (run + 1) * count]
        return array[0] if len(array) == 1 else list(array)

    def _check_origin(self, where: str, ciphertext: _core.Ciphertext) -> None:
        if ciphertext.parameters != self.context.parameters.fingerprint:
            raise ParameterMismatchError(
                f"{where} was encrypted under parameters {ciphertext.parameters[:8].hex()}, this plan has "
                f"{self.context.parameters.fingerprint[:8].hex()}: encrypt with the client of this plan"
            )
        if any(ciphertext.key_set) and ciphertext.key_set != self._key_set:  # no key: a trivial encryption
            raise ParameterMismatchError(
                f"{where} was encrypted under key set {ciphertext.key_set[:8].hex()}, the server has the keys of "
                f"{self._key_set[:8].hex()}: give it keys.public() of the client that encrypted"
            )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Server is not pickled or copied; each process uses Server.load(plan, keys)")

    def __repr__(self) -> str:
        return describe("Server", *self.plan.client.facts())


def _check_keys(plan: Plan, keys: PublicKeys) -> None:
    """What a server is given as keys: public ones, of the plan's parameters."""
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


def _listener(plan: Plan, inputs: Sequence[Any], on_event: OnEvent, run: int, runs: int) -> Callable[..., None]:
    """Tells a subscriber of the instructions of one run of several."""
    progress = RunProgress(plan, [value if isinstance(value, int) else None for value in inputs])

    def listen(op: str, block: int, instruction: int, level: int, *clock_ns: int) -> None:
        start, end = (t * 1e-9 for t in clock_ns)
        done, *place = progress.note(block, instruction)
        total = progress.total
        on_event(Event("evaluate", op, run * total + done, runs * total, level, start, end, *place))

    return listen
