"""Functions carried out: loops with their trips, branches as their conditions are, calls.

Control flow is on public integers, so evaluating a function on slot vectors that only record what is done with them
unrolls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latticework.errors import LayoutError, UserError
from latticework.frontend.heir.number_operations import HANDLERS, is_known_predicate
from latticework.frontend.heir.reading_cost import WORK_OF_OPERATION, WORK_OF_VECTORS, hold, room_for, too_much
from latticework.frontend.heir.scope import check_names
from latticework.frontend.heir.slots import SLOT_HANDLERS, HeirVector, SlotArithmetic, check_operands
from latticework.frontend.heir.syntax import HeirFunction, HeirOperation, HeirRegion, HeirText
from latticework.values.inputs.reading_budget import DEFAULTS, ReadingBudget, current_budget, limit_remedy

CONTEXT = "context"  # stands for crypto contexts and keys, which no slot depends on
_CONTROL = {"scf.for", "scf.if", "scf.yield", "func.return", "func.call", "openfhe.decode_ckks"}
_NEEDED = {"openfhe.eval_chebyshev_series": ("coefficients", "domain_lower", "domain_upper")}
MOST_SHOWN = 20


def check_operations(text: HeirText, functions: Sequence[HeirFunction]) -> None:
    """UserError that names every operation which is not known, with its line; then as `check_names`."""
    found: dict[str, list[int]] = {}
    for function in functions:
        for op in function.walk():
            if not _is_known(text, op):
                found.setdefault(op.name, []).append(op.line)
    if not found:
        for function in functions:
            check_names(text, function)
        return
    listed = [f"{name} in line {', '.join(map(str, sorted(set(lines))[:5]))}" for name, lines in found.items()]
    more = f"; and {len(listed) - MOST_SHOWN} more" if len(listed) > MOST_SHOWN else ""
    raise UserError(
        f"{text.name}: operations that are not read: {'; '.join(listed[:MOST_SHOWN])}{more}; docs/heir.md lists those "
        "that are"
    )


def _is_known(text: HeirText, op: HeirOperation) -> bool:
    if op.name == "func.call":
        callee = op.attributes.get("callee")
        return isinstance(callee, str) and callee in text.functions
    if op.name in ("arith.cmpi", "arith.cmpf"):
        return is_known_predicate(op)
    if op.name == "arith.constant":
        return isinstance(op.attributes.get("value"), int | float | np.ndarray)
    if any(key not in op.attributes for key in _NEEDED.get(op.name, ())):
        return False
    return op.name in HANDLERS or op.name in SLOT_HANDLERS or op.name in _CONTROL


class HeirRun:
    """Carries functions of a text out.

    arithmetic  of slot vectors
    width       slots of a vector: that of the first plaintext; LayoutError for one of another width
    """

    def __init__(self, text: HeirText, arithmetic: SlotArithmetic, width: int = 0) -> None:
        self.text, self.arithmetic, self.width = text, arithmetic, width
        self.budget = current_budget() or ReadingBudget.of(DEFAULTS, text.size)
        self.depth = 0
        self.turns: list[int] = []  # counters of the loops that it is in, in this call
        self.calls = 0
        self.active = 0  # number of the call that it is in

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Call a function of the text and return its results."""
        function = self.text.functions[name]
        if len(arguments) != len(function.types) or len(function.body.arguments) != len(arguments):
            raise UserError(
                f"{self.text.name}:{function.line}: {name} takes {len(function.body.arguments)} arguments, not "
                f"{len(arguments)}"
            )
        if all(isinstance(given, str) for given in arguments) and name in self.text.results:
            return [made.copy() if isinstance(made, np.ndarray) else made for made in self.text.results[name]]
        self.depth += 1
        most = self.budget.limits.depth
        if self.depth > most:
            raise UserError(
                f"{self.text.name}:{function.line}: calls of {name} are nested {most} deep: {limit_remedy('depth')}"
            )
        self.calls += 1
        outside, self.turns, self.active = (self.turns, self.active), [], self.calls
        returned = self.run(function.body, dict(zip(function.body.arguments, arguments, strict=True)))
        self.turns, self.active = outside
        self.depth -= 1
        if len(returned) != len(function.returns):
            declared = f"returns {len(returned)} values, {len(function.returns)} are declared"
            raise UserError(f"{self.text.name}:{function.line}: {name} {declared}")
        if all(isinstance(given, str) for given in arguments):
            self.text.results[name] = [made.copy() if isinstance(made, np.ndarray) else made for made in returned]
        return returned

    def run(self, region: HeirRegion, environment: dict[str, Any]) -> list[Any]:
        """The operands of what ends the region."""
        for op in region.operations:
            self.count(op, WORK_OF_OPERATION)
            try:
                inputs = [environment[name] for name in op.operands]
                for number in op.shared:
                    if type(inputs[number]) is np.ndarray:
                        inputs[number].flags.writeable = False
            except KeyError as error:
                raise UserError(
                    f"{self.text.name}:{op.line}: {op.name} reads {error.args[0]}, which is nowhere"
                ) from None
            if op.name in ("scf.yield", "func.return"):
                return inputs
            try:
                results = self.step(op, inputs, environment)
                environment.update(zip(op.results, results, strict=True))
            except (IndexError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
                if isinstance(error, UserError):
                    raise
                raise UserError(f"{self.text.name}:{op.line}: {op.name}: {error}") from error
        return []

    def count(self, op: HeirOperation, units: int) -> None:
        """Work of an operation, or of turns of a loop."""
        self.budget.running -= units
        if self.budget.running < 0:
            raise UserError(f"{self.text.name}:{op.line}: {too_much(self.budget)}")

    def step(self, op: HeirOperation, inputs: list[Any], environment: dict[str, Any]) -> list[Any]:
        """The results of one operation."""
        name = op.name
        if name in HANDLERS:
            return HANDLERS[name](op, inputs, environment)
        if name == "scf.for":
            return self.loop(op, inputs, environment)
        if name == "scf.if":
            return self.run(op.regions[0 if inputs[0] else 1], environment)
        if name == "func.call":
            return self.call(op.attributes["callee"], inputs)
        if name == "openfhe.decode_ckks":
            kind = op.types[0]
            self.count(op, WORK_OF_VECTORS)
            return [np.asarray(self.slots(inputs[0]), dtype=np.float64).reshape(kind.shape)]
        self.arithmetic.at(op)
        check_operands(op, [x for x in inputs if not isinstance(x, str)])
        operands = [self.slots(x) for x in inputs if not isinstance(x, str)]
        terms = op.attributes.get("coefficients")
        self.count(op, (WORK_OF_VECTORS + self.width // 1000) * (len(terms) if isinstance(terms, list) else 1))
        if name == "openfhe.make_ckks_packed_plaintext":
            operands = [self.encode(op, operands[0])]
        room_for(self.width)
        return [HeirVector(hold(SLOT_HANDLERS[name](self.arithmetic, op, operands)))]

    def loop(self, op: HeirOperation, inputs: list[Any], environment: dict[str, Any]) -> list[Any]:
        """A loop whose bounds are known."""
        low, high, step, *carried = inputs
        if step < 1:
            raise UserError(f"{self.text.name}:{op.line}: a loop by steps of {step}")
        counter, *names = op.regions[0].arguments
        turns = range(int(low), int(high), int(step))
        if turns and (turns[-1] - turns[0]) // turns.step * WORK_OF_OPERATION > self.budget.running:
            self.count(op, self.budget.running + 1)
        self.depth += 1
        self.turns.append(0)
        for i in turns:
            self.count(op, WORK_OF_OPERATION)
            environment[counter] = self.turns[-1] = i
            environment.update(zip(names, carried, strict=True))
            carried = self.run(op.regions[0], environment)
        self.turns.pop()
        self.depth -= 1
        return carried

    def slots(self, value: Any) -> Any:
        """Return the slots of a plaintext or ciphertext; a number as it is."""
        return value.slots if isinstance(value, HeirVector) else value

    def encode(self, op: HeirOperation, numbers: Any) -> Any:
        """Return the slots of a plaintext."""
        vector = np.asarray(numbers, dtype=np.float64).reshape(-1)
        self.width = self.width or len(vector)
        if len(vector) != self.width:
            raise LayoutError(
                f"{self.text.name}:{op.line}: a plaintext of {len(vector)} slots where others have {self.width}; all "
                "vectors of a program have to be of one width"
            )
        return vector
