"""Whatever Python and NumPy offer is right on secrets, or refused by a typed error at the user's line.

Each function, operator and special method is called with secrets in many plausible ways while a program or a circuit is
traced. What it gives is evaluated by the interpreter, and must be what the same call gives on cleartext; what it leaves in
its arguments too. Otherwise it raises a `UserError` that names the line.
"""

import re
import warnings

import numpy as np
import pytest
from enumerated_calls import OF_MEMORY, arguments, equal, finished, fitting, functions, is_random, methods

import latticework as lw
from latticework.errors import UserError
from latticework.frontend import trace, trace_circuit
from latticework.frontend.recording.circuit_values import Number
from latticework.frontend.recording.faults import Faults
from latticework.frontend.recording.tracing import Traced
from latticework.ir import interpret

REALS = (
    np.array([1.5, -0.5, 2.0]), np.array([0.25, 3.0, 1.0]), np.array([[2.0, 0.5, 0.0], [1.0, 3.0, -1.0], [0.5, 0.0, 4.0]]),
    2.0, 3.0,
)  # fmt: skip
INTEGERS = (np.array([1, -2, 3]), np.array([4, 5, 0]), np.array([[2, 1, 0], [1, 3, -1], [5, 0, 4]]), 2, 3)

# NumPy refuses x + y under this name, which Python cannot tell from +, x.reshape() of a number, and PyTorch's x.flatten(1).
MORE_THAN_NUMPY = {"operator.concat", ".reshape", ".flatten"}


class Traces:
    """One way to trace: what the arguments are, and what they hold on cleartext."""

    def __init__(self, kind):
        self.kind = kind
        if kind == "program":
            self.cleartexts = [tuple(np.asarray(x) for x in REALS)]
        else:  # numbers of a circuit are objects to NumPy, whose logical functions give one of the operands then
            given = INTEGERS if kind == "integers" else REALS
            objects = tuple(np.asarray(x, dtype=object) for x in given)
            self.cleartexts = [given, (*objects[:3], *given[3:]), objects]

    def run(self, use):
        """Trace a function that calls use(v, w, m, s, t); returns the numbers behind traced values."""
        if self.kind == "program":

            @lw.program
            def holder(v: lw.Secret[3], w: lw.Secret[3], m: lw.Secret[3, 3], s: lw.Secret[()], t: lw.Secret[()]):
                use(v, w, m, s, t)
                return v

            module = trace(holder)
        else:

            @lw.circuit
            def holder(
                v: lw.vector(3), w: lw.vector(3), m: lw.matrix(3, 3),
                s: lw.scalar(replicate=False), t: lw.scalar(replicate=False),
            ):  # fmt: skip
                use(v, w, m, s, t)
                return [s, t]

            module = trace_circuit(holder, dtype="integer" if self.kind == "integers" else "float64").module
        inputs = [np.asarray(x) if self.kind == "program" else np.reshape(x, -1) for x in self.cleartexts[0]]
        numbers = {}
        interpret(module, inputs, on_value=numbers.__setitem__)
        return numbers


def revealed(traced, numbers):
    """What a result holds, with the numbers of traced values in their place."""
    if isinstance(traced, Number | Traced):
        return numbers[traced._value]
    if isinstance(traced, np.ndarray) and traced.dtype == object:
        made = np.empty(traced.size, dtype=object)
        for place, x in enumerate(traced.flat):
            made[place] = revealed(x, numbers)
        return made.reshape(traced.shape)
    if isinstance(traced, slice):
        return slice(*(revealed(x, numbers) for x in (traced.start, traced.stop, traced.step)))
    if isinstance(traced, list | tuple):
        parts = [revealed(x, numbers) for x in traced]
        return parts if isinstance(traced, list) else tuple(parts)
    if isinstance(traced, dict):
        return {key: revealed(x, numbers) for key, x in traced.items()}
    return traced


def on_cleartext(function, call, cleartext):
    """The result and the arguments after it, or the exception that NumPy or Python itself raises."""
    args, kwargs = arguments(call, cleartext)
    try:
        return finished(function, args, kwargs), args
    except Exception as error:
        return error


def faults(traces, name, function):
    """What a function does wrong, a line a call."""
    found = []
    calls = fitting(name, function)
    done = {}

    def use(*given):
        tracer = given[3]._tracer
        for call in calls:
            args, kwargs = arguments(call, given)
            watch = tracer.faults = Faults(name, tracer.faults._remedy)
            try:
                with watch.watch():
                    result = finished(function, args, kwargs)
                done[call] = result, args
            except UserError as error:
                if (
                    error.at is None
                    or not error.at.line
                    or error.at.file != __file__.replace("test_enumerated", "enumerated_calls")
                ):
                    found.append(f"{name}({call}): no line: {error}")
            except Exception as error:
                wanted = on_cleartext(function, call, traces.cleartexts[0])
                if type(wanted) is not type(error):
                    found.append(f"{name}({call}): {type(error).__name__}: {error}")
        tracer.faults = Faults(name, tracer.faults._remedy)

    numbers = traces.run(use)
    for call, (result, args) in done.items():
        if any(isinstance(x, np.ndarray) and x.dtype == object and any(y is x for y in x.flat) for x in args):
            continue  # v.fill(v) puts an array of objects into itself
        if result is NotImplemented:  # Python asks the other operand
            continue
        if is_random(name, call) or (name == "np.bmat" and result is None):  # np.bmat gives None for what is no ndarray
            continue
        wanted = [on_cleartext(function, call, cleartext) for cleartext in traces.cleartexts]
        got = revealed(result, numbers), revealed(args, numbers)
        if all(isinstance(w, Exception) for w in wanted):
            # A secret where a dtype belongs stands for its own, as all objects do that have one.
            if name not in MORE_THAN_NUMPY and not re.search("dtype|data type|no attribute", str(wanted[0])):
                found.append(f"{name}({call}): gives {got[0]}, NumPy refuses: {wanted[0]}")
        elif not any(not isinstance(w, Exception) and equal(got[0], w[0]) and equal(got[1], w[1]) for w in wanted):
            found.append(f"{name}({call}): gives {got}, not {wanted}")
    return found


@pytest.mark.parametrize("kind", ["program", "reals", pytest.param("integers", marks=pytest.mark.slow)])
def test_all(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    traces = Traces(kind)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in (functions() | methods()).items():
            if name not in OF_MEMORY:
                found += faults(traces, name, function)
    assert not found, f"{len(found)} calls are wrong:\n" + "\n".join(line[:300] for line in found[:50])
