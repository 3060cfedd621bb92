"""A random program on its way to plans on a small set: what each way to plan it computes, and what is stated of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from adversaries import adversaries
from bootstrapped_programs import LIMIT, ROWS, RandomProgram

from latticework.compiler.array_programs import lower_arrays
from latticework.compiler.bootstrapping import BootstrapSearch
from latticework.compiler.levels import decide_levels, keep_whole_origins, write_levels
from latticework.compiler.levels.loops.plan_loops import plan_loops
from latticework.compiler.options.compile_options import CompileOptions
from latticework.errors import RangeError
from latticework.ir import Value, interpret
from latticework.ir.dialects.rlwe_dialect import CipherType
from latticework.model import Model, Reference
from latticework.plan.analysis.simulate import simulate
from latticework.plan.cost import CostModel
from latticework.runtime.client.coding import MAGNITUDE_MARGIN

BITS = 5
LEAST = 1e-3  # that a result is at its largest
TRIPS = [(n, n % (ROWS + 1)) for n in (0, 1, 2, 3, 4, 5, LIMIT)]
COSTS = CostModel.load()


@dataclass
class Compilation:
    """A random program on the way to its plans, on a small set."""

    random: RandomProgram
    name: str

    @cached_property
    def search(self) -> BootstrapSearch:
        options = CompileOptions.of(
            weights=(self.random.rates,), calibrate=self.random.data, precision_bits=BITS, bootstrap_set=self.name
        )
        return BootstrapSearch(lower_arrays(self.random.program, options))

    def arguments(self, n: int, m: int) -> dict[str, Any]:
        """Inputs of calibration, of which what is bootstrapped lies in its range."""
        return {"x": self.random.data["x"][n], "xs": self.random.data["xs"][n], "n": n, "m": m}

    def others(self, n: int, m: int) -> dict[str, Any]:
        """Inputs that calibration has not seen."""
        rng = np.random.default_rng([n, m])
        return {name: rng.uniform(-1, 1, np.shape(seen)) for name, seen in self.arguments(n, m).items()} | {
            "n": n,
            "m": m,
        }

    def expected(self, given: dict[str, Any]) -> Sequence[Any]:
        """What NumPy computes; where something that no result reads grows beyond all numbers, what the results mean."""
        try:
            return self.random(given["x"], given["xs"], self.random.rates, given["n"], given["m"])
        except RangeError:
            module = self.search.traced.module
            return interpret(module, {name: given[name] for name in module.input_names})

    def check_mode(self, mode: str) -> None:
        """The managed program: what it computes, and each value's level, scale and size."""
        search, option = self.search, self.search.options()[0]
        vectors = search.laid_out(option.ring)
        prices, ranges = search.prices(option, vectors), search.ranges(option.ring)
        flat = plan_loops(vectors.flat, prices.residual, prices, ranges.exponents, mode=mode)
        keep_whole_origins(vectors.flat, flat)
        managed = write_levels(decide_levels(flat, residual=prices.residual), prices.chain)
        bootstrapped = {op.operands[0] for op in managed.walk() if op.name == "ckks.bootstrap"}
        chain, names = prices.chain, managed.input_names

        def note(value: Value, array: Any) -> None:
            kind = value.type
            if not isinstance(kind, CipherType):
                return
            size = max(np.max(np.abs(np.real(array))), np.max(np.abs(np.imag(array))))
            assert kind.level.track == 0 and chain.floor <= kind.level.index <= chain.main.top
            assert size * kind.scale < chain.modulus(kind.level.index) / 2
            assert value not in bootstrapped or size <= 1 + 1e-6, size

        for n, m in TRIPS:
            given = self.arguments(n, m)
            packed = {
                k: given[k] if p is None else p.pack(given[k]) for k, p in zip(names, vectors.inputs, strict=True)
            }
            found = interpret(managed, packed, on_value=note)
            for got, pack, want in zip(found, vectors.outputs, self.expected(given), strict=True):
                np.testing.assert_allclose(pack.unpack(np.real(got)), want, atol=1e-6)

    @cached_property
    def model(self) -> Model:
        """Our plan of it."""
        vectors, plan = self.search.best()
        return Model(plan, Reference(vectors.placed, vectors.positions), COSTS, allow_insecure=True)

    def ends(self, n: int, m: int) -> dict[str, Any]:
        """Inputs at the ends of what clients accept, and unlike those of calibration."""
        rng = np.random.default_rng([n, m])
        specs = {spec.name: spec for spec in self.model.plan.client.inputs}
        kind = (n + m) % 6
        given = {name: adversaries(specs[name], rng, seen) for name, seen in self.arguments(n, m).items()
                 if name in ("x", "xs") and name in specs}  # fmt: skip
        return self.others(n, m) | {name: arrays[kind] for name, arrays in given.items()}

    def check_plan(self) -> None:
        """Our plan, simulated with noise and without, keeps the bounds that it states, unless a result is marked.

        Of inputs that are accepted and unlike those of calibration what is proved does.
        """
        for n, m in TRIPS:
            for noise in (None, np.random.default_rng(n)):
                assert all(self.is_kept(self.others(n, m), noise))
                proved = [output.reach is not None for output in self.model.plan.client.outputs]
                kept = self.is_kept(self.ends(n, m), noise)
                assert all(held for held, is_proved in zip(kept, proved, strict=True) if is_proved)

    def is_kept(self, given: dict[str, Any], noise: np.random.Generator | None) -> list[bool]:
        """Of every result, whether it is within its bound, or marked.

        A value that no modulus holds wraps around when encrypted, into what may look right: nothing that is proved may
        come of inputs that give one, and nothing unproved is held then.
        """
        plan = self.model.plan
        outputs = plan.client.outputs
        with np.errstate(over="ignore", invalid="ignore"):
            wanted = self.expected(given)
            try:
                found = simulate(plan, [given[i.name] for i in plan.client.inputs], noise=noise, public_key=True)
            except RangeError:
                return [False] * len(outputs)
        marked = any(
            o.reach is None and np.max(np.abs(y)) > MAGNITUDE_MARGIN * o.magnitude + o.error_bound
            for y, o in zip(found, outputs, strict=True)
        )
        return [
            bool(np.max(np.abs(got - want)) <= output.error_bound) or (marked and output.reach is None)
            for got, want, output in zip(found, wanted, outputs, strict=True)
        ]

    @property
    def has_results(self) -> bool:
        """Whether its results are large enough to be precise about."""
        results = zip(*(self.expected(self.arguments(n, m)) for n, m in TRIPS), strict=True)
        return all(np.max(np.abs(each)) > LEAST for each in results)
