"""Run a plan beside its plaintext and find the first line that goes wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import ShapeError, UserError
from latticework.errors.escaping import html_text, plain_text
from latticework.ir import Module, Value, interpret
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.simulate import simulate
from latticework.plan.schema.schema import Plan, SourceLocation
from latticework.runtime.client.client import Client
from latticework.runtime.server.server import Server
from latticework.values.packing.slot_arrays import as_value

FLOOR = 2.0**-40  # relative: float64 arithmetic of the two sides may differ by this


@dataclass(frozen=True)
class DebugRow:
    """One value of the program, encrypted against plaintext.

    error  largest absolute difference of an element;  bound: what the noise model allows
    """

    name: str
    location: SourceLocation
    shape: tuple[int, ...]
    error: float
    bound: float
    magnitude: float

    @property
    def is_off(self) -> bool:
        """Whether the error exceeds the bound."""
        return not self.error <= self.bound + FLOOR * self.magnitude


@dataclass(frozen=True)
class DebugReport:
    """All values that could be compared, in the order they were computed, and at the end what the program returns."""

    rows: tuple[DebugRow, ...]

    @property
    def first_off(self) -> DebugRow | None:
        """The first value whose error exceeds its bound."""
        return next((row for row in self.rows if row.is_off), None)

    def __repr__(self) -> str:
        off = sum(row.is_off for row in self.rows)
        first = f", first {self.first_off.name} at {self.first_off.location}" if self.first_off else ""
        return plain_text(f"DebugReport({len(self.rows)} values, {off} off{first})")

    def __str__(self) -> str:
        return "\n".join(map(plain_text, self._lines()))

    def _lines(self) -> list[str]:
        width = max((len(f"{r.location}") for r in self.rows), default=8)
        lines = [f"{'line':<{width}}  {'value':<12} {'shape':<12} {'largest':>10} {'error':>10} {'bound':>10}"]
        for r in self.rows:
            mark = "  <-- off" if r.is_off else ""
            lines.append(
                f"{r.location!s:<{width}}  {r.name:<12} {r.shape!s:<12} {r.magnitude:>10.3g} {r.error:>10.2e} "
                f"{r.bound:>10.2e}{mark}"
            )
        first = self.first_off
        if first is None:
            lines.append("every value is within its bound")
        else:
            lines += [
                f"first off: {first.location}: {first.location.text.strip()}",
                f"  {first.name} differs by {first.error:.3g} from its plaintext, "
                f"the noise model allows {first.bound:.3g}",
            ]
        return lines

    def _repr_html_(self) -> str:
        return f"<pre>{'<br>'.join(map(html_text, self._lines()))}</pre>"


Expected = dict[int, list[npt.NDArray[np.float64]]]


def debug_run(
    plan: Plan,
    client: Client,
    inputs: tuple[Any, ...],
    named: dict[str, Any],
    reference: tuple[Module, Mapping[Value, int]] | None,
) -> DebugReport:
    """Evaluate encrypted, decrypting every watched value, and compare with the program on cleartext tensors.

    reference  the tensor program; without it (a loaded plan) the noiseless simulation of the plan itself
    """
    if plan.chain.has_wide_integers:
        raise UserError(
            f"debug: {plan.client.name} was compiled with integers=, and its values are residues modulo "
            f"{len(plan.chain.plain_moduli)} primes: compare results with simulate(), or with the circuit itself, "
            "called with plain numbers"
        )
    checked = client.checked(inputs, named)
    if checked.extent is not None:
        raise ShapeError(
            f"debug: {checked.extent} were given; give the inputs of one run, as the program was compiled for"
        )
    values = checked.values
    if not client._encryptors:
        client.keygen()
    keys = client.public_keys()
    decryptor = client._decryptors[0]
    ordered = [values[i.name] for i in plan.client.inputs]
    expected = _of_simulation(plan, ordered) if reference is None else _of_tensors(*reference, values)
    seen: dict[int, int] = defaultdict(int)
    rows: list[DebugRow] = []

    def compare(register: int, value: Any) -> None:
        position = plan.watch[register]
        occurrence = seen[position]
        seen[position] += 1
        if occurrence >= len(expected.get(position, ())):
            return
        tensor = plan.tensors[position]
        want = expected[position][occurrence]
        array = value if isinstance(value, list) else [value]
        vectors = as_value(np.stack([np.real(decryptor.decrypt(c)) for c in array]))
        got = tensor.unpack_values(vectors, plan.client.rows)
        got *= plan.factors.get(register, 1.0)
        rows.append(
            DebugRow(
                tensor.name,
                plan.locations[tensor.location],
                want.shape,
                float(np.max(np.abs(got - want))),
                tensor.bound,
                float(np.max(np.abs(want))),
            )
        )

    server = Server(plan, keys)
    results = server.run(client.encrypt_checked(checked), watch=list(plan.watch), on_watch=compare)
    wanted = simulate(plan, ordered) if reference is None else interpret(reference[0], values)
    rows += [
        _describe_result(
            plan, number, client.decrypted(output, results.tensors[output.name]).reveal(), np.asarray(want)
        )
        for number, (output, want) in enumerate(zip(plan.client.outputs, wanted, strict=True))
    ]
    return DebugReport(tuple(rows))


def _describe_result(plan: Plan, number: int, got: npt.NDArray[Any], want: npt.NDArray[Any]) -> DebugRow:
    """A result of the program, at the line that made it."""
    output = plan.client.outputs[number]
    if plan.chain.plain_modulus:
        half = plan.chain.plain_modulus // 2
        want = (want + half) % plan.chain.plain_modulus - half
    register = plan.blocks[0].code[-1].operands[number].register
    label = plan.client.output_labels[output.name]
    line = next((i.location for i in plan.blocks[0].code if register in i.results), 0)
    return DebugRow(
        f"result {label}" if label != "result" else "result",
        plan.locations[line],
        output.shape,
        float(np.max(np.abs(got - want), initial=0.0)),
        output.error_bound,
        float(np.max(np.abs(want), initial=0.0)),
    )


def _of_tensors(module: Module, positions: Mapping[Value, int], values: dict[str, Any]) -> Expected:
    found: Expected = defaultdict(list)

    def note(value: Value, array: npt.NDArray[Any]) -> None:
        if value in positions:
            found[positions[value]].append(np.asarray(array, dtype=np.float64))

    interpret(module, values, on_value=note)
    return found


def _of_simulation(plan: Plan, inputs: list[Any]) -> Expected:
    found: Expected = defaultdict(list)

    def note(register: int, value: npt.NDArray[Any]) -> None:
        if register in plan.watch:
            position = plan.watch[register]
            unpacked = plan.tensors[position].unpack_values(np.real(value), plan.client.rows)
            found[position].append(unpacked * plan.factors.get(register, 1.0))

    simulate(plan, inputs, on_value=note)
    return found
