"""Baby steps and giant steps of block maps: counts known from elsewhere, and against sets of rotations written out."""

from dataclasses import replace

import numpy as np
import pytest
from gather_cases import conv, matmul, matvec, random_gather

from latticework.values.packing.loop_nests.baby_giant import (
    ROTOM,
    BlockMapPrices,
    Choice,
    Places,
    Split,
    blocks,
    choose,
    count_unpacked,
    options,
    pair,
    places,
)
from latticework.values.packing.loop_nests.giant_order import ORDERS, order_giant_steps
from latticework.values.packing.packed_constants import ConstRef, Diagonal, LinearMap, splat


def counted(gather, **ways):
    """(packing, key switches, products, conjugations) of the choice by Rotom's counts."""
    choice = choose(places(LinearMap.of(gather)), ROTOM, mode="counts", **ways)
    return choice.packing, choice.counts.key_switches, choice.counts.products, choice.counts.conjugations


@pytest.mark.parametrize(
    ("gather", "plain", "packed"),
    [
        # As Rotom's own run counts them (21 and 128, 29 and 256), and less with both halves of slots.
        (matmul(128, 64, 128, 8192), ("none", 21, 128, 0), ("outputs", 15, 64, 1)),
        (matmul(256, 128, 256, 32768), ("none", 29, 256, 0), ("outputs", 23, 128, 1)),
        (conv(8, 8, 32, 3, 8192), ("none", 15, 72, 0), ("diagonals", 13, 36, 1)),
        # Rotom: 11 and 18; here 5 and 3 rotations that add up the copies which share the channels out.
        (replace(conv(8, 1, 32, 3, 8192), spread=8), ("none", 5, 9, 0), None),
        (matvec(64, 64, 64), ("none", 14, 64, 0), ("diagonals", 12, 32, 1)),
        (matmul(128, 256, 64, 8192), ("none", 27, 256, 0), ("inputs", 22, 128, 1)),
        (matmul(128, 768, 768, 8192), ("none", 168, 9216, 0), ("outputs", 132, 4608, 6)),
    ],
    ids=["matmul-128", "matmul-256", "conv-8-to-8", "conv-8-to-1", "matvec-64", "four-inputs", "projection"],
)
def test_counts_of_known_workloads(gather, plain, packed):
    assert counted(gather) == plain
    if packed is not None:
        assert counted(gather, packing=True) == packed


def test_additions_are_those_of_sums_written_out():
    choice = choose(places(LinearMap.of(matmul(128, 64, 128, 8192))), ROTOM, mode="counts")
    assert choice.counts.additions == 126  # 63 for each of two outputs
    assert choice.counts.mod_downs == 14 + 2  # a giant each, and an output each
    assert (choice.counts.hoists, choice.counts.babies, choice.counts.giants) == (1, 7, 14)


def written_out(where, split):
    """Rotations as sets: (babies, giants, inputs that are decomposed)."""
    babies, giants, turned = set(), set(), set()
    for conj, out, in_, steps in zip(where.conj, where.out, where.in_, where.steps, strict=True):
        turn = steps % split.width
        if split.centred and turn > split.width // 2:
            turn -= split.width
        if conj or turn % where.slots:
            babies.add((conj, in_, turn))
            turned.add(in_)
        if (steps - turn) % where.slots:
            giants.add((out, (steps - turn) % where.slots))
    return len(babies), len(giants), len(turned)


def keys_of(where, split):
    """(conjugated, steps) of everything that is turned."""
    found = set()
    for conj, steps in zip(where.conj.tolist(), where.steps.tolist(), strict=True):
        turn = steps % split.width
        if split.centred and turn > split.width // 2:
            turn -= split.width
        found |= {(conj, turn % where.slots), (0, (steps - turn) % where.slots)}
    return found - {(0, 0)}


@pytest.mark.parametrize("seed", range(30))
def test_counts_of_random_maps(seed):
    rng = np.random.default_rng(seed)
    diagonals = tuple(
        Diagonal(int(rng.integers(-20, 20)), splat(1.0, 32), bool(rng.integers(2)), *map(int, rng.integers(0, 3, 2)))
        for _ in range(int(rng.integers(1, 40)))
    )
    where = places(LinearMap(32, explicit=diagonals, count_in=3, count_out=3))
    for width in (1, 2, 3, 4, 8, 12, 32):
        for centred in (False, True):
            found = count_unpacked(where, Split(width, centred)).counts
            assert (found.babies, found.giants, found.hoists) == written_out(where, Split(width, centred))
            assert found.outputs == len({d.out for d in diagonals})
            assert found.keys == len(keys_of(where, Split(width, centred)))
            assert found.products == len({(d.conj, d.out, d.in_, d.steps % 32) for d in diagonals})


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(10))
def test_turns_bring_every_sum_to_its_place_with_one_switch_each(seed, order):
    rng = np.random.default_rng(seed)
    giants = sorted({int(g) for g in rng.integers(-31, 33, int(rng.integers(1, 12)))}, key=abs)
    found = order_giant_steps(giants, 64, order)
    assert sorted(turn.giant for turn in found) == sorted(g for g in giants if g)
    holds = {giant: {giant: 0} for giant in {*giants, 0}}  # sum -> (what is in it: how far it was turned)
    for giant, onto, steps in found:
        holds[onto] |= {of: (far + steps) % 64 for of, far in holds.pop(giant).items()}
    assert holds[0] == {giant: giant % 64 for giant in {*giants, 0}}


@pytest.mark.parametrize("seed", range(20))
def test_orders_are_counted_as_they_turn(seed):
    """The fewest different keys of all orders, many splits at once; evenly spaced giants have one key a side."""
    rng = np.random.default_rng(seed)
    diagonals = tuple(
        Diagonal(int(rng.integers(-20, 20)), splat(1.0, 32), bool(rng.integers(2)), *map(int, rng.integers(0, 3, 2)))
        for _ in range(int(rng.integers(1, 40)))
    )
    where = places(LinearMap(32, explicit=diagonals, count_in=3, count_out=3))
    for split in (Split(width, centred) for width in (1, 3, 4, 12) for centred in (False, True)):
        babies = {(c, b % 32) for c, b in zip(where.conj.tolist(), split.babies(where.steps).tolist(), strict=True)}
        keys = {}
        for order in ORDERS:
            keys[order] = babies - {(0, 0)}
            for out in set(where.out.tolist()):
                giants = split.giants(where.steps[where.out == out], 32).tolist()
                keys[order] = keys[order] | {
                    (0, turn.steps % 32) for turn in order_giant_steps(sorted(set(giants)), 32, order)
                }
        found = count_unpacked(where, split, horner=True)
        assert found.counts.keys == len(keys[found.order]) == min(map(len, keys.values()))
        own = count_unpacked(where, split).counts
        assert found.counts.key_switches == own.key_switches
        assert found.order == "own" or found.counts.keys < own.keys


def test_evenly_spaced_giants_have_a_key_for_each_side():
    both = LinearMap(256, explicit=tuple(Diagonal(s, splat(1.0, 256)) for s in range(-32, 32)))
    ahead = LinearMap(256, explicit=tuple(Diagonal(s, splat(1.0, 256)) for s in range(64)))
    around = LinearMap(256, explicit=tuple(Diagonal(s, splat(1.0, 256)) for s in range(256)))
    for linear_map, own, horner, order in ((both, 7 + 7, 7 + 2, "horner"), (ahead, 7 + 7, 7 + 1, "horner"),
                                           (around, 7 + 31, 7 + 1, "around")):  # fmt: skip
        found = count_unpacked(places(linear_map), Split(8), horner=True)
        assert (found.counts.keys, found.order) == (horner, order)
        assert count_unpacked(places(linear_map), Split(8)).counts.keys == own


@pytest.mark.parametrize("seed", range(6))
def test_every_way_that_is_tried_counts_what_it_does(seed):
    """Many splits are counted at once; each is what sets give for it alone, on the pairs that it makes."""
    rng = np.random.default_rng(seed)
    held = {tuple(map(int, rng.integers(0, [3, 3, 32]))) for _ in range(int(rng.integers(2, 60)))}
    held |= {(v, u, (s + 16) % 32) for v, u, s in held if rng.random() < 0.7}  # circles of two
    diagonals = tuple(Diagonal(s, splat(1.0, 32), False, v, u) for v, u, s in sorted(held))
    where = places(LinearMap(32, explicit=diagonals, count_in=3, count_out=3))
    for choice in options(where, BlockMapPrices(product=1.0), packing=True):
        made = where
        if choice.packing == "outputs":
            made = where._replace(out=np.unique(where.out, return_inverse=True)[1] // 2)
        elif choice.packing == "inputs":
            made = where._replace(in_=np.unique(where.in_, return_inverse=True)[1] // 2)
        elif choice.packing == "diagonals":
            out, in_, steps, _ = pair(blocks(where), 32, choice.split, choice.apart).T
            made = Places(32, np.zeros_like(out), out, in_, steps)
        found, ahead = choice.counts, choice.counts.rotations
        assert (found.babies, found.giants, found.hoists) == written_out(made, choice.split)
        assert found.keys == len(keys_of(made, choice.split)) + bool(ahead) + bool(found.conjugations)
        assert found.products == len(set(zip(made.out.tolist(), made.in_.tolist(), made.steps.tolist(), strict=True)))


@pytest.mark.parametrize("seed", range(10))
def test_the_choice_is_the_cheapest_of_all_widths(seed):
    rng = np.random.default_rng(seed)
    steps = rng.choice(64, int(rng.integers(2, 40)), replace=False)
    where = places(LinearMap(64, explicit=tuple(Diagonal(int(s), splat(1.0, 64)) for s in steps)))
    prices = BlockMapPrices(*rng.uniform(0.1, 10, 9))
    cheapest = min(count_unpacked(where, Split(w, c)).counts.price(prices) for w in range(1, 65) for c in (False, True))
    unit = np.gcd.reduce([64, *steps])
    widest = 4 * int(np.sqrt(64 // unit)) + 4
    assert choose(where, prices).counts.price(prices) <= cheapest * (1 + 1e-9) or widest * unit < 64


@pytest.mark.parametrize("seed", range(40))
def test_pairs_of_diagonals_cover_each_once(seed):
    rng = np.random.default_rng(seed)
    slots = int(rng.choice([16, 32]))
    held = {tuple(map(int, rng.integers(0, [2, 2, slots]))) for _ in range(int(rng.integers(1, 40)))}
    diagonals = tuple(Diagonal(s, splat(1.0, slots), False, v, u) for v, u, s in sorted(held))
    where = places(LinearMap(slots, explicit=diagonals, count_in=2, count_out=2))
    for apart in (1, 3, slots // 4, slots // 2):
        firsts = pair(blocks(where), slots, Split(int(rng.choice([1, 4, 8]))), apart)
        first = [(v, u, s % slots) for v, u, s, members in firsts.tolist() if members & 1]
        second = [(v, u, (s + apart) % slots) for v, u, s, members in firsts.tolist() if members & 2]
        assert sorted(first + second) == sorted(held)


def test_packing_is_for_maps_without_conjugates_and_without_double_diagonals():
    free = BlockMapPrices(0, 1, 1, 0, 0, 1, 0, 0)
    both = tuple(Diagonal(s % 16, splat(1.0, 16), False, s // 16) for s in range(32))
    turned = (*both[:-1], replace(both[-1], conj=True))
    for diagonals, is_packed in ((both, True), (turned, False), ((*both, both[3]), False)):
        where = places(LinearMap(16, explicit=diagonals, count_out=2))
        assert (choose(where, free, packing=True).packing != "none") == is_packed
        assert choose(where, free).packing == "none"


def test_an_empty_map_costs_nothing():
    choice = choose(places(LinearMap(16)), packing=True)
    assert isinstance(choice, Choice) and choice.counts.key_switches == choice.counts.products == 0


def test_places_are_those_of_the_diagonals():
    gather, _ = random_gather(np.random.default_rng(2))
    where = places(LinearMap.of(gather))
    assert len(where.steps) == len(LinearMap.of(gather).diagonals)
    assert all(-gather.slots // 2 < s <= gather.slots // 2 for s in where.steps)
    assert isinstance(LinearMap.of(gather).diagonals[0].values, ConstRef)
