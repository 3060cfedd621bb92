"""lw.for_loop: a Python loop on arrays, one loop.for when traced, the same numbers."""

import numpy as np
import pytest

from latticework import frontend as lw
from latticework.errors import DtypeError, RangeError, ShapeError, TraceError
from latticework.ir.interpret import interpret
from latticework.ir.verify import verify

X = np.random.default_rng(9).normal(size=(2, 3))


def loops(module):
    return [op for op in module.walk() if op.name == "loop.for"]


def agree(program, inputs):
    module = lw.trace(program)
    verify(module)
    results = interpret(module, inputs)
    expected = program(*inputs.values())
    for result, want in zip(results, expected if isinstance(expected, tuple) else (expected,), strict=True):
        np.testing.assert_allclose(result, want, rtol=1e-12)
    return module


@pytest.mark.parametrize("n", [0, 1, 4])
def test_run_time_count(n):
    @lw.program
    def iterate(x: lw.Secret[2, 3], n: lw.Index):
        def body(i, h, total):
            h = h * 0.5 + x
            return h, total + h

        return lw.for_loop(n, body, (x, np.zeros((2, 3))), at_most=4)

    module = agree(iterate, {"x": X, "n": n})
    (loop,) = loops(module)
    assert loop.attrs["static_trip"] is None and loop.attrs["at_most"] == 4
    assert loop.operands[0] is module.inputs[1]
    assert [v.origin.name for v in loop.regions[0].block.args] == ["i", "h", "total"]
    assert all(v.is_secret for v in loop.results)


def test_known_count_stays_a_loop():
    @lw.program
    def iterate(x: lw.Secret[2, 3]):
        return lw.for_loop(1000, lambda i, h: h * 0.5 + 1, x)

    module = agree(iterate, {"x": X})
    (loop,) = loops(module)
    assert loop.attrs["static_trip"] == 1000 and loop.operands == [module.inputs[0]]
    assert len(list(module.walk())) < 10


def test_plain_start_is_carried_as_a_secret():
    @lw.program
    def gather(x: lw.Secret[2, 3]):
        return lw.for_loop(3, lambda i, total: total + x, 0.0 * np.ones((2, 3)))

    module = agree(gather, {"x": X})
    assert [op.name for op in module.walk()][:3] == ["tensor.constant", "tensor.trivial", "loop.for"]


def test_body_may_return_public_values_and_ignore_its_arguments():
    @lw.program
    def reset(x: lw.Secret[2, 3]):
        return lw.for_loop(2, lambda i, *carried: (carried[1], np.ones((2, 3))), (x, x))

    agree(reset, {"x": X})


def test_nested_loops_and_index_arithmetic():
    @lw.program
    def triangle(x: lw.Secret[2, 3], n: lw.Index):
        def outer(i, total):
            return lw.for_loop(2 * i + 1 - (n - n), lambda j, t: t + x, total)

        return lw.for_loop(n + 1, outer, np.zeros((2, 3)))

    module = agree(triangle, {"x": X, "n": 3})
    assert len(loops(module)) == 2
    np.testing.assert_allclose(interpret(module, [X, 3])[0], 16 * X)


def test_a_plain_loop_inside_python():
    result = lw.for_loop(3, lambda i, a, b: (b, a + i * b), ([0, 0], np.ones(2)))
    assert isinstance(result, tuple)
    np.testing.assert_array_equal(result, [[1, 1], [2, 2]])
    np.testing.assert_array_equal(lw.for_loop(2, lambda i, a: a + i, [1, 2]), [2, 3])
    assert lw.for_loop(0, lambda i, a: a, 5.0) == 5.0


def test_plain_loops_check_the_same_things():
    with pytest.raises(ShapeError, match=r"array a.*\(3,\).*\(1,\)") as caught:
        lw.for_loop(2, lambda i, a: a[:1], np.ones(3))
    assert caught.value.at.file == __file__
    with pytest.raises(RangeError, match=r"n is 5.*at_most=4"):
        lw.for_loop(5, lambda i, a: a, 1.0, at_most=4)
    with pytest.raises(TraceError, match="2 arrays are carried, but body returned 3"):
        lw.for_loop(1, lambda i, a, b: (a, b, a), (1.0, 2.0))


def test_an_index_of_a_finished_program():
    kept = []

    @lw.program
    def leak(x: lw.Secret[2], n: lw.Index):
        kept.append(n)
        return x * 2

    lw.trace(leak)
    with pytest.raises(TraceError, match="no longer traced"):
        lw.for_loop(kept[0], lambda i, a: a, 1.0)
    with pytest.raises(TraceError, match="earlier run of program leak"):
        kept[0] + 1


def test_trips_beyond_at_most_are_refused_at_run_time():
    @lw.program
    def bounded(x: lw.Secret[2], n: lw.Index):
        return lw.for_loop(n, lambda i, h: h + x, x, at_most=3)

    with pytest.raises(RangeError, match="trip count is 4"):
        interpret(lw.trace(bounded), [np.ones(2), 4])


def test_tracing_ends_when_a_program_fails():
    @lw.program
    def fails(x: lw.Secret[2]):
        raise KeyError("user's own")

    with pytest.raises(KeyError, match="own"):
        lw.trace(fails)
    assert lw.for_loop(2, lambda i, a: a + 1, 0.0) == 2.0


def nested(n):
    @lw.program
    def train(x: lw.Secret[2, 3], y: lw.Secret[()]):
        def body(i, state):
            w, (low, high) = state["w"], state["bounds"]
            return {"bounds": [low + y, (high[0] - w[0], high[1])], "w": (w[0] * 0.5 + x, w[1] + 1.0)}

        state = lw.for_loop(n, body, {"w": (x, np.zeros(3)), "bounds": [y, (np.ones((2, 3)), 2.0)]})
        assert list(state) == ["w", "bounds"] and isinstance(state["w"], tuple) and isinstance(state["bounds"], list)
        return state["w"][0], state["w"][1], state["bounds"][0], state["bounds"][1][0], state["bounds"][1][1]

    return train


@pytest.mark.parametrize("n", [0, 3])
def test_structures_are_carried_as_they_are(n):
    module = agree(nested(n), {"x": X, "y": np.float64(0.25)})
    (loop,) = loops(module)
    names = [v.origin.name for v in loop.regions[0].block.args]
    assert names == [
        "i", "state['w'][0]", "state['w'][1]", "state['bounds'][0]", "state['bounds'][1][0]", "state['bounds'][1][1]",
    ]  # fmt: skip


def test_tuples_of_structures_are_arguments_of_the_body():
    @lw.program
    def both(x: lw.Secret[2, 3]):
        ((w,), total), log = lw.for_loop(2, lambda i, p, log: (([p[0][0] * 0.5], p[1] + x), {"l": log["l"] - x}),
                                         (([x], x), {"l": x}))  # fmt: skip
        return w, total, log["l"]

    agree(both, {"x": X})


CHANGES = {
    "a list becomes an array": (lambda i, s: {**s, "w": s["b"]}, TraceError, r"returns s\['w'\] as one array.*tuple of 2"),
    "an array becomes a list": (lambda i, s: {**s, "b": [s["b"]]}, TraceError, r"s\['b'\] as a list of 1.*one array"),
    "a tuple becomes a list": (lambda i, s: {**s, "w": list(s["w"])}, TraceError, r"s\['w'\] as a list of 2.*tuple of 2"),
    "another length": (lambda i, s: {**s, "w": s["w"][:1]}, TraceError, r"s\['w'\] as a tuple of 1.*tuple of 2"),
    "no dictionary": (lambda i, s: s["b"], TraceError, r"returns s as one array.*a dictionary of 'w', 'b'"),
    "another key": (lambda i, s: {"w": s["w"], "c": s["b"]}, TraceError, r"without s\['b'\], with a new s\['c'\]"),
    "another shape": (
        lambda i, s: {**s, "w": (s["w"][0], s["w"][1][:1])}, ShapeError, r"array s\['w'\]\[1\] .*\(2, 3\).*\(1, 3\)"
    ),
    "another dtype": (
        lambda i, s: {**s, "w": (s["w"][0], np.ones((2, 3)) * 1j)}, DtypeError, r"body returns s\['w'\]\[1\].*complex128"
    ),
    "None": (lambda i, s: {**s, "b": None}, DtypeError, r"body returns s\['b'\].*NoneType"),
}  # fmt: skip


@pytest.mark.parametrize("body, kind, message", CHANGES.values(), ids=CHANGES)
def test_a_structure_that_changes_is_refused_by_its_leaf(body, kind, message):
    @lw.program
    def change(x: lw.Secret[2, 3]):
        return lw.for_loop(2, body, {"w": (x, x), "b": x})["b"]

    for attempt in (lambda: lw.trace(change), lambda: change(X)):
        with pytest.raises(kind, match=message) as caught:
            attempt()
        assert caught.value.at.file == __file__ and caught.value.at.text.startswith("return lw.for_loop")


def test_what_is_no_array_in_init_is_named():
    with pytest.raises(DtypeError, match=r"for_loop: init s\['a'\]\[1\]: .*str"):
        lw.for_loop(1, lambda i, s: s, {"a": [np.ones(2), "text"]})
    with pytest.raises(TraceError, match="init holds no array"):
        lw.for_loop(1, lambda i, s: s, {})


@pytest.mark.parametrize(
    ("at_most", "error", "said"),
    [
        (-1, RangeError, "for_loop: at_most is -1; it must be >= 0"),
        (2.5, DtypeError, "for_loop: at_most is a float; give an integer, or leave it out"),
        ("3", DtypeError, "for_loop: at_most is a str; give an integer, or leave it out"),
    ],
)
def test_a_limit_that_is_none_is_refused_in_numpy_as_when_traced(at_most, error, said):
    @lw.program
    def program(x: lw.Secret[2], n: lw.Index):
        return lw.for_loop(n, lambda i, s: s + x, x, at_most=at_most)

    for run in (lambda: lw.trace(program), lambda: program(np.ones(2), 1)):
        with pytest.raises(error, match=said):
            run()


def test_a_limit_may_be_an_integer_of_numpy():
    @lw.program
    def program(x: lw.Secret[2], n: lw.Index):
        return lw.for_loop(n, lambda i, s: s + x, x, at_most=np.int64(3))

    assert [op.attrs["at_most"] for op in lw.trace(program).walk() if op.name == "loop.for"] == [3]
