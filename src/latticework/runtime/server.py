"""The server: runs a plan on ciphertexts with evaluation keys. It never holds a secret key."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework import _core
from latticework.errors import RangeError, SecretKeyError, ShapeError, UserError
from latticework.params.fingerprint import core_parameters
from latticework.plan.code import encode_code
from latticework.plan.schema import IndexInput, Plan
from latticework.plan.serialise import read_plan
from latticework.runtime.encrypted import INPUTS, OUTPUTS, Encrypted, check_role, load_encrypted
from latticework.runtime.events import Event, OnEvent
from latticework.runtime.keys import EVALUATION_FILE, Keys, PublicKeys

DEVICES = {"cpu": "ref"}  # device name -> backend
DEFAULT_MEMORY = "4GB"
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


class Server:
    """Evaluates one program.

    plan     the compiled program
    keys     evaluation keys of one client
    memory   budget for encoded weights, such as "4GB"; those that do not fit are encoded anew when used
    device   "cpu"
    threads  0: one per core
    """

    def __init__(
        self, plan: Plan, keys: PublicKeys, *, memory: str | int = DEFAULT_MEMORY, device: str = "cpu", threads: int = 0
    ) -> None:
        if isinstance(keys, Keys | _core.SecretKey):
            raise SecretKeyError(
                f"the server of {plan.client.name} was given a secret key; a server must never hold one: "
                "give it keys.public()"
            )
        if not isinstance(keys, PublicKeys):
            raise UserError(f"the server of {plan.client.name} needs PublicKeys, got a {type(keys).__name__}")
        if device not in DEVICES:
            raise UserError(f"device={device!r} is not available; choose one of: {', '.join(DEVICES)}")
        self.plan = plan
        self.context = _core.Context(core_parameters(plan.chain), DEVICES[device], threads)
        code = _core.Plan(core_parameters(plan.chain), encode_code(plan))
        self._executor = _core.Executor(
            self.context, code, keys.evaluation, self._constant, constant_budget_bytes=parse_bytes(memory)
        )

    @classmethod
    def load(
        cls, plan: str | Path, keys: str | Path, *, memory: str | int = DEFAULT_MEMORY, device: str = "cpu",
        threads: int = 0,
    ) -> Server:
        """From a plan file and an evaluation key file (or the folder that holds one)."""
        program = read_plan(Path(plan))
        context = _core.Context(core_parameters(program.chain), "ref", threads)
        source = Path(keys)
        file = source / EVALUATION_FILE if source.is_dir() else source
        evaluation = _core.load_evaluation_keys(str(file), context)
        return cls(program, PublicKeys(evaluation, None), memory=memory, device=device, threads=threads)

    def __call__(self, inputs: Encrypted, *, on_event: OnEvent | None = None) -> Encrypted:
        """Run the program.

        on_event  called after every instruction
        raises    before any work for inputs of another program, parameters or key set
        """
        return self.run(inputs, on_event=on_event)

    def run(
        self,
        inputs: Encrypted,
        *,
        on_event: OnEvent | None = None,
        watch: Sequence[int] = (),
        on_watch: Callable[[int, _core.Ciphertext], None] | None = None,
    ) -> Encrypted:
        """As a call, and reports every value of the watched registers."""
        spec = self.plan.client
        check_role(inputs, spec, INPUTS)
        arguments = [self._argument(inputs, i) for i in spec.inputs]
        outputs = self._executor.run(arguments, _listener(self.plan, on_event), list(watch), on_watch)
        return Encrypted(OUTPUTS, spec.name, dict(zip([o.name for o in spec.outputs], outputs, strict=True)), {})

    def load_encrypted(self, source: str | Path | bytes) -> Encrypted:
        """Read encrypted inputs."""
        return load_encrypted(source, self.context)

    def _constant(self, number: int) -> npt.NDArray[np.complex128]:
        return self.plan.constants[number].evaluate(self.plan.sources).astype(np.complex128)

    def _argument(self, inputs: Encrypted, spec: Any) -> Any:
        if isinstance(spec, IndexInput):
            if spec.name not in inputs.integers:
                raise ShapeError(f"program {self.plan.client.name}: the run-time integer {spec.name} is missing")
            value = inputs.integers[spec.name]
            if not 0 <= value <= spec.limit:
                raise RangeError(
                    f"program {self.plan.client.name}: {spec.name} is {value}; it was compiled for 0 to {spec.limit}"
                )
            return value
        if spec.name not in inputs.tensors:
            raise ShapeError(f"program {self.plan.client.name}: the encrypted input {spec.name} is missing")
        return inputs.tensors[spec.name]

    def __repr__(self) -> str:
        return f"Server({self.plan.client.name}, N={self.plan.chain.ring_degree}, {len(self.plan.keys)} keys)"


def parse_bytes(text: str | int) -> int:
    """A number of bytes from 4000000000, "4GB" or "512MiB"."""
    if isinstance(text, int):
        return text
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if match is None or match[2].upper().removesuffix("YTES") not in _UNITS:
        raise UserError(f"{text!r} is not an amount of memory; write it as 4GB, 512MiB or a number of bytes")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _listener(plan: Plan, on_event: OnEvent | None) -> Callable[..., None] | None:
    if on_event is None:
        return None
    total = len(plan.blocks[0].code)

    def listen(op: str, block: int, instruction: int, level: int, start_ns: int, end_ns: int) -> None:
        nonlocal done
        if block == 0:
            done = instruction + 1
        on_event(Event("evaluate", op, done, total, level, start_ns * 1e-9, end_ns * 1e-9))

    done = 0
    return listen
