"""Random indices and products over named axes, traced: what NumPy gives, or an error where NumPy gives one."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from latticework import UserError
from latticework.frontend import Secret, program, trace
from latticework.ir.interpret import interpret

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def run(function, *arrays):
    """The value of an expression by tracing and interpreting it."""
    kinds = [Secret[a.shape] for a in arrays]
    if len(arrays) == 1:

        def traced(x: kinds[0]):
            return function(x)
    else:

        def traced(x: kinds[0], y: kinds[1]):
            return function(x, y)

    module = trace(program(traced))
    (value,) = interpret(module, list(arrays))
    assert module.body.terminator.operands[0].type.shape == value.shape
    return value


@st.composite
def subscripts(draw, shape):
    """A subscript of every kind, mostly within the shape."""
    items, axis = [], 0
    while axis < len(shape):
        n = shape[axis]
        kind = draw(st.sampled_from(["number", "slice", "new", "list", "grid", "mask", "rest"]))
        inside = st.integers(-n, n - 1)
        if kind == "new":
            items.append(None)
            continue
        if kind == "rest":
            break
        if kind == "number":
            items.append(draw(inside))
        elif kind == "slice":
            ends = st.one_of(st.none(), st.integers(-n - 1, n + 1))
            items.append(slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, -1, -2]))))
        elif kind == "list":
            items.append(draw(st.lists(inside, min_size=1, max_size=3)))
        elif kind == "grid":
            items.append(
                np.array(draw(st.lists(inside, min_size=2, max_size=2))).reshape(
                    draw(st.sampled_from([(2, 1), (1, 2)]))
                )
            )
        else:
            wide = draw(st.integers(1, min(2, len(shape) - axis)))
            mask = np.array(draw(st.lists(st.booleans(), min_size=64, max_size=64)))
            items.append(mask[: np.prod(shape[axis : axis + wide])].reshape(shape[axis : axis + wide]))
            axis += wide - 1
        axis += 1
    if draw(st.booleans()) and axis == len(shape):
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    return tuple(items)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data())
def test_indices_are_numpys(data):
    shape = data.draw(shapes)
    index = data.draw(subscripts(shape))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    try:
        wanted = x[index]
    except IndexError:
        wanted = np.zeros(0)
    if wanted.size:
        np.testing.assert_array_equal(run(lambda a: a[index], x), wanted)
        return
    try:
        run(lambda a: a[index], x)
    except UserError as error:
        assert error.at is not None
    else:
        raise AssertionError("an index that NumPy refuses, or that leaves nothing, was taken")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.data())
def test_chains_of_slices_are_numpys(data):
    shape = data.draw(shapes)
    x = np.arange(float(np.prod(shape))).reshape(shape)
    chain = []
    value = x
    for _ in range(3):
        items = [data.draw(st.sampled_from([None, slice(None), slice(None, None, -1), slice(1, None), slice(None, None, 2), 0, -1]))
                 for _ in range(data.draw(st.integers(0, value.ndim)))]  # fmt: skip
        if sum(item is not None for item in items) <= value.ndim and value[tuple(items)].size:
            chain.append(tuple(items))
            value = value[tuple(items)]

    def sliced(a):
        for items in chain:
            a = a[items]
        return a + 0

    np.testing.assert_array_equal(run(sliced, x), value)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(data=st.data())
def test_einsum_is_numpys(data):
    lengths = {letter: data.draw(st.integers(1, 3)) for letter in "abcde"}
    terms = ["".join(data.draw(st.lists(st.sampled_from("abcde"), max_size=4))) for _ in range(2)]
    known = sorted({letter for term in terms for letter in term})
    assume(known)
    out = "".join(data.draw(st.permutations(known)))[: data.draw(st.integers(0, len(known)))]
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=[lengths[letter] for letter in term]) for term in terms)
    text = f"{terms[0]},{terms[1]}->{out}"
    wanted = np.einsum(text, x, y)
    np.testing.assert_allclose(run(lambda a, b: np.einsum(text, a, b), x, y), wanted, atol=1e-9)
    np.testing.assert_allclose(run(lambda b: np.einsum(text, x, b), y), wanted, atol=1e-9)
