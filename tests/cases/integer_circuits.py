"""Circuits on integers against the same function in plain Python: traced, rewritten, and evaluated modulo t."""

import numpy as np

import latticework as lw
from latticework.compiler.circuits.circuit_pipeline import to_scalars
from latticework.compiler.lanes.lane_graph import evaluate
from latticework.frontend.circuits.integers.integer_arithmetic import Arithmetic
from latticework.plan.schema.arguments import gather

PLAIN_MODULUS = 786433


def by_depth(depth, products):
    return depth, products


def checked(function, kinds, runs, *, modulus=PLAIN_MODULUS, price=by_depth):
    """Compare a circuit of inputs of these kinds with plain Python on runs, a tuple of arguments each.

    returns  what was traced
    """
    names = list(function.__code__.co_varnames[: function.__code__.co_argcount])
    function.__annotations__ = dict(zip(names, kinds, strict=True))
    circuit = lw.circuit(function)
    scalars = to_scalars(circuit, (), exact=True, arithmetic=Arithmetic(modulus, price))
    traced, groups = scalars.traced, scalars.written.groups
    values = {name: np.array([run[i] for run in runs]) for i, name in enumerate(names)}
    stacks = gather(traced.arguments, [len(g.labels) for g in groups], values)
    inputs = [list(np.moveaxis(stack, -1, 0)) for stack in stacks]
    wanted = np.array([[int(x) for x in np.ravel(np.array(circuit(*run), dtype=object))] for run in runs])
    for graph in (scalars.written, scalars.graph):
        got = evaluate(graph, inputs, modulus)
        found = np.stack([np.broadcast_to(np.asarray(x), len(runs)) for x in got], axis=-1)
        wrong = np.argwhere((found - wanted) % modulus)
        assert not len(wrong), (
            f"of {runs[wrong[0][0]]}, result {wrong[0][1]}: {found[wrong[0][0]]}, not {wanted[wrong[0][0]]}"
        )
    lows, highs = np.array([[float(end) for end in r] for r in traced.ranges]).T
    assert (lows <= wanted).all() and (wanted <= highs).all()
    return scalars
