"""lw.for_loop: a Python loop on arrays, one loop.for when traced, the same numbers."""

import numpy as np
import pytest

from latticework import frontend as lw
from latticework.errors import RangeError, ShapeError, TraceError
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
