"""Hypothesis strategies: arbitrary attributes, and modules of vec ops, loops and branches that verify."""

import math

import numpy as np
from hypothesis import strategies as st

from latticework.ir import INDEX, Block, Builder, Loc, Module, Origin, Region, define
from latticework.ir.dialects import loop_dialect, vec_dialect
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.values.packing.packed_constants import IntervalPolynomial

SLOTS = 4
REAL = vec_dialect.VecType(1, SLOTS, "real", True)

NOTE = define(
    "test.note", infer=lambda operands, attrs, regions: [v.type for v in operands], semantics=lambda _op, x, _c: x
)

texts = st.text(max_size=6)
locs = st.recursive(
    st.just(Loc.unknown()) | st.builds(Loc, st.sampled_from(["a.py", "b.py"]), st.integers(1, 9)),
    lambda inner: st.builds(Loc, texts, st.integers(0, 10**6), texts, st.none() | inner),
    max_leaves=3,
)
origins = st.none() | st.builds(
    Origin,
    texts,
    locs,
    st.none() | st.floats(0, allow_nan=False),
    st.none() | st.tuples(st.integers(0), st.integers(0)),
)
types = st.one_of(
    st.just(INDEX),
    st.builds(
        vec_dialect.VecType, st.integers(1, 9), st.integers(1, 99), st.sampled_from(["real", "complex"]), st.booleans()
    ),
    st.builds(
        CipherType,
        st.just("ckks"),
        st.integers(1, 9),
        st.sampled_from([1, 64]),
        st.builds(Level, st.integers(0, 3), st.integers(0, 30)),
        st.floats(min_value=1e-300, allow_infinity=False),
    ),
    st.builds(TensorType, st.tuples(st.integers(0, 9), st.integers(0, 9)), texts, st.booleans(), st.none() | texts),
)
_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats().filter(lambda x: not math.isnan(x)),
    st.just(math.nan),
    st.complex_numbers(allow_nan=False),
    texts,
    types,
    st.builds(Level, st.integers(), st.integers()),
    st.builds(IntervalPolynomial, st.lists(st.floats(allow_nan=False)).map(tuple), st.just((-1.0, 1.0))),
)
attributes = st.recursive(_leaves, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)
attribute_dicts = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), attributes, max_size=3)


@st.composite
def modules(draw, notes=True):
    """A module of one index input and two vectors; with `notes`, arbitrary attributes, locations and origins too."""
    body = Block()
    indices = [body.add_arg(INDEX)]
    vectors = [body.add_arg(REAL, draw(origins) if notes else None) for _ in range(2)]
    builder = Builder(body)
    _fill(draw, builder, indices, vectors, 2, notes)
    outputs = draw(st.lists(st.sampled_from(vectors), min_size=1, max_size=3))
    builder.create(loop_dialect.YIELD, outputs)
    module = Module(body, ["n", "x", "y"], [f"out{k}" for k in range(len(outputs))])
    for size in draw(st.lists(st.integers(0, 3), max_size=2)):
        module.add_source(np.arange(float(size)))
    return module


def _fill(draw, builder, indices, vectors, depth, notes):
    """Emit a few ops that use visible values; new values are appended to the lists."""
    for _ in range(draw(st.integers(1, 5))):
        if notes:
            builder.loc = draw(locs)
        kinds = ["binary", "binary", "rotate", "neg", "splat", "index", *(["note"] if notes else [])]
        kind = draw(st.sampled_from(kinds + (["for", "if"] if depth else [])))
        first, second = draw(st.sampled_from(vectors)), draw(st.sampled_from(vectors))
        if kind == "binary":
            results = [
                builder.build(
                    draw(st.sampled_from([vec_dialect.ADD, vec_dialect.SUB, vec_dialect.MUL])), [first, second]
                )
            ]
        elif kind == "rotate":
            results = [builder.build(vec_dialect.ROTATE, [first], steps=draw(st.integers(-2, 2)))]
        elif kind == "neg":
            results = [builder.build(vec_dialect.NEG, [first])]
        elif kind == "splat":
            public = builder.build(vec_dialect.SPLAT, value=draw(st.sampled_from([0.0, -0.0, 1.0])), slots=SLOTS)
            results = [builder.build(vec_dialect.ADD, [first, public])]
        elif kind == "note":
            results = builder.create(NOTE, [first, second], draw(attribute_dicts)).results
        elif kind == "index":
            constant = builder.build(loop_dialect.INDEX_CONSTANT, value=draw(st.integers(0, 2)))
            indices.append(builder.build(loop_dialect.INDEX_LESS, [draw(st.sampled_from(indices)), constant]))
            continue
        else:
            results = _nested(draw, builder, kind, indices, vectors, depth, notes)
        for value in results:
            value.origin = draw(origins) if notes else None
        vectors.extend(results)


def _nested(draw, builder, kind, indices, vectors, depth, notes):
    carried = draw(st.lists(st.sampled_from(vectors), max_size=2))
    index = draw(st.sampled_from(indices))
    regions = []
    for _ in range(1 if kind == "for" else 2):
        block = Block()
        inner_indices = indices + ([block.add_arg(INDEX)] if kind == "for" else [])
        inner_vectors = vectors + [block.add_arg(REAL, draw(origins) if notes else None) for _ in carried]
        nested = Builder(block)
        _fill(draw, nested, inner_indices, inner_vectors, depth - 1, notes)
        nested.create(loop_dialect.YIELD, [draw(st.sampled_from(inner_vectors)) for _ in carried])
        regions.append(Region(block))
    if kind == "if":
        return builder.create(loop_dialect.IF, [index, *carried], None, regions).results
    if draw(st.booleans()):
        return builder.create(loop_dialect.FOR, carried, {"static_trip": draw(st.integers(0, 2))}, regions).results
    least = builder.build(loop_dialect.INDEX_MIN, [index, builder.build(loop_dialect.INDEX_CONSTANT, value=2)])
    return builder.create(loop_dialect.FOR, [least, *carried], {"at_most": 2}, regions).results
