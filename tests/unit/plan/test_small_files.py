"""Small files that declare much: reading them takes work and memory by their size, not by what they declare."""

import dataclasses
import random
import tracemalloc

import numpy as np
import pytest
from test_plan_files import PLAN
from vec_cases import Vectors, plan_of, small_chain

from latticework.errors import FormatError
from latticework.plan.analysis.trip_counts import instructions_run
from latticework.plan.files.check_file import check_chain, check_gather
from latticework.plan.files.serialise import read_client, read_plan, write_client, write_plan
from latticework.plan.schema.arguments import Argument, Branch, Result
from latticework.report import build_client_report, build_report
from latticework.values.packing.pack import GAP, MAX_PLACES, REPEAT, PackDim, PackMap, product_within
from latticework.values.packing.packed_constants import Access, LoopNest

SLOTS = PLAN.chain.slots
VECTORS = MAX_PLACES // SLOTS


def random_pack(rng):
    """A packing of few places, as likely uneven as not: any strides, rolls, gaps and padding."""
    shape = tuple(rng.choice((1, 2, 3, 4, 5, 8)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3))))
    dims, vectors, room = [], [], 1
    for _ in range(rng.randrange(6)):
        axis = rng.choice((REPEAT, GAP, *range(len(shape)), *range(len(shape))))
        dim = PackDim(axis, rng.choice((1, 2, 2, 3, 4)), rng.choice((1, 1, 2, 2, 3, 4, 8)) if axis >= 0 else 1)
        if rng.randrange(4):
            dims.append(dim)
            room *= dim.extent
        else:
            vectors.append(dim)
    pairs = [(i, j) for i in range(len(dims) + len(vectors)) for j in range(len(dims) + len(vectors)) if i != j]
    rolls = [pair for pair in pairs if (vectors + dims)[pair[0]].axis != GAP and rng.randrange(6) == 0]
    return PackMap(shape, room * rng.choice((1, 1, 2)), tuple(dims), tuple(vectors), tuple(rolls))


def test_copies_are_those_found_place_by_place():
    rng, even, uneven = random.Random(11), 0, 0
    while min(even, uneven) < 400:
        try:
            pack = random_pack(rng)
        except ValueError:
            continue  # no packing at all
        try:
            expected = pack.slots_of_element().shape[1]
        except ValueError:
            uneven += 1
            with pytest.raises(ValueError, match=r"\bheld\b"):
                pack.copies()
            continue
        even += 1
        assert pack.copies() == expected, pack


def packings():
    """Of as many places as there can be."""
    yield "full", PackMap((MAX_PLACES,), SLOTS, (PackDim(0, SLOTS),), (PackDim(0, VECTORS, SLOTS),))
    yield "repeated", PackMap((4,), SLOTS, (PackDim(REPEAT, SLOTS // 4), PackDim(0, 4)), (PackDim(REPEAT, VECTORS),))
    yield "padded", PackMap((MAX_PLACES - 9,), SLOTS, (PackDim(0, SLOTS),), (PackDim(0, VECTORS, SLOTS),))
    rolled = ((1, 0), (0, 1)) * 20
    yield "rolled", PackMap((VECTORS, SLOTS), SLOTS, (PackDim(1, SLOTS),), (PackDim(0, VECTORS),), rolled)
    yield "in gaps", PackMap((1,), SLOTS, (PackDim(GAP, SLOTS),), (PackDim(GAP, VECTORS),))
    yield "a table", PackMap.of_table(4, SLOTS, [(MAX_PLACES - 4 + i, i) for i in range(4)], VECTORS)


def client_with(pack):
    """The client part of a plan whose tensors all lie so."""
    client = PLAN.client
    inputs = [dataclasses.replace(i, shape=pack.shape, pack=pack) for i in client.secret_inputs]
    outputs = [dataclasses.replace(o, shape=pack.shape, pack=pack) for o in client.outputs]
    return dataclasses.replace(client, inputs=tuple(inputs), outputs=tuple(outputs))


def peak_bytes(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pack", [pack for _, pack in packings()], ids=[name for name, _ in packings()])
def test_client_files_are_read_and_explained_without_their_places(pack):
    data = write_client(client_with(pack))

    def work():
        spec = read_client(data)
        assert spec.outputs[0].pack == pack
        build_client_report(spec).text()

    assert peak_bytes(work) < 1 << 20


def test_loop_nests_on_large_packings_are_checked_without_their_places():
    (_, pack), *_ = packings()
    size = pack.size
    whole = Access((size,), ((1,),), (0,))
    gather = LoopNest((1 << 16,), pack, whole, "w", Access((5,), ((0,),), (0,)), pack, whole)
    assert peak_bytes(lambda: check_gather(gather, {"w": np.zeros(5)}, SLOTS, "gather")) < 1 << 16


def test_uneven_packings_are_refused():
    for pack in (
        PackMap((8,), SLOTS, (PackDim(0, 4), PackDim(0, 3))),
        PackMap((8,), SLOTS, (PackDim(0, 2, 4), PackDim(0, 3))),
        PackMap((9,), SLOTS, (PackDim(0, 2, 4), PackDim(0, 4))),
        PackMap((2, 2), SLOTS, (PackDim(0, 2),)),
    ):
        with pytest.raises(FormatError, match=r"\bheld\b"):
            read_client(write_client(client_with(pack)))


def test_products_of_many_numbers_end_early():
    assert product_within((3, 4), 100) == 12
    assert 100 < product_within([10] * 100_000, 100) <= 1000
    for shape in ((2,) * 100_000, (1 << 60,) * 1000):
        with pytest.raises(ValueError, match="does not fit"):
            PackMap(shape, SLOTS, ())
    with pytest.raises(ValueError, match="slots in all"):
        PackMap((), SLOTS, (), (PackDim(REPEAT, 1 << 40),) * 1000)
    with pytest.raises(ValueError, match="multiply to more than"):
        PackMap((), SLOTS, (PackDim(REPEAT, 1 << 40),) * 1000)


def test_many_results_and_arguments_are_work_by_their_number():
    """8,000 of each: what compares each with each takes minutes."""
    number, client = 8_000, client_with(PackMap((4,), SLOTS, (PackDim(0, 4),)))
    results = tuple(Result(f"r{i}", (), (Branch(None, i // 100), Branch(None, i)), (i % 4,)) for i in range(number))
    arguments = tuple(Argument(f"a{i}", (4,), 0, (0, 1, 2, 3)) for i in range(number))
    spec = read_client(write_client(dataclasses.replace(client, results=results, arguments=arguments)))
    text = build_client_report(spec).text()
    assert len(spec.results) == len(spec.arguments) == number and "r0, r4, r8, r12, ..." not in text
    assert "..." in text


def nested(depth, trips):
    """A plan of loops inside one another."""
    v = Vectors(1)

    def inside(left):
        if left == 0:
            return lambda i, h: [v.op("add", h, h)]
        return lambda i, h: v.loop(inside(left - 1), [h], trips)

    return plan_of(v.done(*v.loop(inside(depth - 1), [v.x[0]], trips)), small_chain(1))


@pytest.mark.parametrize(("depth", "trips"), [(1, 10**9), (3, 1000), (40, 2), (5, 2)])
def test_reports_do_not_follow_loops_for_ever(depth, trips):
    plan = read_plan(write_plan(nested(depth, trips)))
    report = build_report(plan)
    assert instructions_run(plan) > trips**depth
    assert (report.outputs[0].worst_case is None) == (trips**depth > 1 << 18)
    assert report.execution.estimate.counts.additions == trips**depth


def test_chains_of_too_many_primes_are_refused():
    chain = PLAN.client.chain
    many = dataclasses.replace(PLAN.client, chain=dataclasses.replace(chain, primes=chain.primes * 100))
    with pytest.raises(FormatError, match="primes; at most 240"):
        check_chain(many.chain)
