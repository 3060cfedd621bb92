"""BFV plans of small vec programs on an INSECURE ring, and what they mean in Python's own integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from vec_cases import line

from latticework.compiler.exact_plans import to_bfv_plan
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.stage_results import Vectors
from latticework.ir import Module
from latticework.plan.schema.schema import Plan
from latticework.runtime.client.client import Client
from latticework.runtime.server.server import Server

RING_DEGREE = 2048

Integers = np.ndarray[Any, np.dtype[Any]]  # dtype object


def plan_of(module: Module, **options: Any) -> Plan:
    """The plan of a module whose inputs and outputs are the vectors themselves."""
    packs = [
        tuple(line(v.type.slots, v.type.count) for v in values)
        for values in (module.inputs, module.body.terminator.operands)
    ]
    vectors = Vectors(module, module, [], {}, 0, module.inputs[0].type.slots, *packs)
    told = {name: options.pop(name) for name in ("ranges", "chain", "noises") if name in options}
    given = CompileOptions.of({"ring_degree": RING_DEGREE, "insecure": True, **options})
    return to_bfv_plan("case", vectors, given, **told)


def centred(x: Any, t: int) -> Integers:
    """Residues nearest to zero."""
    rest = np.asarray(x, dtype=object) % t
    return np.where(rest > t // 2, rest - t, rest)


def meaning(module: Module, inputs: Sequence[Any], t: int) -> list[Integers]:
    """The outputs of a vec module in exact integers, reduced modulo t only at the end."""
    env: dict[Any, Any] = {v: np.asarray(x).astype(object) for v, x in zip(module.inputs, inputs, strict=True)}
    for op in module.body.ops:
        x, attrs = [env[v] for v in op.operands], op.attrs
        if op.name == "loop.yield":
            return [centred(v, t) for v in x]
        vectors = [v if v.ndim == 2 else v[None] for v in x]
        match op.name.removeprefix("vec."):
            case "add":
                made = x[0] + x[1]
            case "sub":
                made = x[0] - x[1]
            case "mul":
                made = x[0] * x[1]
            case "neg":
                made = -x[0]
            case "rotate":
                made = np.roll(x[0], -attrs["steps"], axis=-1)
            case "splat":
                made = np.full(attrs["slots"], int(attrs["value"]), dtype=object)
            case "constant":
                made = attrs["value"].evaluate(module.sources).astype(np.int64).astype(object)
            case "trivial":
                made = x[0]
            case "take":
                made = vectors[0][list(attrs["vectors"])]
            case "concat":
                made = np.concatenate(vectors)
            case "sum":
                made = vectors[0].reshape(attrs["groups"], -1, vectors[0].shape[-1]).sum(axis=1)
            case "linear_transform":
                made = _mapped(attrs["map"], vectors[0], module)
            case name:
                raise AssertionError(name)
        env[op.result] = made[0] if made.ndim == 2 and len(made) == 1 else made
    raise AssertionError("no yield")


def _mapped(linear_map: Any, x: Integers, module: Module) -> Integers:
    if (linear_map.count_in, linear_map.count_out) == (1, 1) and len(x) > 1:  # it acts on each
        return np.concatenate([_mapped(linear_map, one[None], module) for one in x])
    total = np.zeros((linear_map.count_out, linear_map.slots), dtype=object)
    for d in linear_map.diagonals:
        total[d.out] += d.values.evaluate(module.sources).astype(np.int64) * np.roll(x[d.in_], -d.steps)
    return total


def encrypted(plan: Plan, inputs: Sequence[Any]) -> list[Integers]:
    """The outputs of a run under encryption."""
    client = Client(plan.client, threads=1, allow_insecure=True)
    server = Server(plan, client.keygen().public(), threads=1)
    found = client.decrypt(server(client.encrypt(*inputs)))
    assert isinstance(found, dict)
    return [value.reveal() for value in found.values()]


def draw(rng: np.random.Generator, plan: Plan) -> list[Integers]:
    """Inputs from the whole range that the plan takes."""
    return [
        rng.integers(int(spec.low), int(spec.high), spec.shape, endpoint=True) for spec in plan.client.secret_inputs
    ]
