"""Plan files with block maps: round trips, forged maps, and nothing that is read crashes what runs it."""

import random
from itertools import pairwise

import numpy as np
import pytest
from array_programs import block_map
from plan_contents import contents, old_file, written
from test_plan_files import NASTY, places, put
from vec_cases import SLOTS, Vectors, plan_of, small_chain

from latticework import _core
from latticework.errors import FormatError, UserError
from latticework.plan.analysis.estimate import estimate
from latticework.plan.analysis.simulate import simulate
from latticework.plan.cost import CostModel
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.values.packing.packed_constants import MapSums

CODE, CONSTANTS = 1, 2


def block_plan(taps):
    v = Vectors(1, counts=[3])
    linear_map = block_map(np.random.default_rng(4).normal(size=(2 * SLOTS, taps)), 3, v.module)
    return plan_of(v.done(v.op("linear_transform", v.x[0], map=linear_map)), small_chain(1))


PLAN = block_plan(9)
DATA = write_plan(PLAN)
X = np.random.default_rng(5).uniform(-1, 1, (3, SLOTS))


def forged(section, edit):
    """The plan file with a section's content changed and all checksums made right."""
    said = contents(DATA)
    said[section] = edit(said[section])
    return old_file(DATA, said)


def test_round_trip():
    again = read_plan(DATA)
    assert again.constants == PLAN.constants and isinstance(again.constants[0], MapSums)
    assert write_plan(again) == DATA
    np.testing.assert_array_equal(simulate(again, [X])[0], simulate(PLAN, [X])[0])


def test_a_plan_says_nothing_per_diagonal():
    """More products are more weights, and perhaps more keys: nothing else."""
    smaller = block_plan(3)
    few, many = (len(p.constants[0].products.values) for p in (smaller, PLAN))
    constants = [_core.cbor_encode(written(write_plan(p))[CONSTANTS]) for p in (smaller, PLAN)]
    assert many > 2 * few and abs(len(constants[1]) - len(constants[0])) < 16


def test_the_estimate_counts_what_the_map_says():
    (sums,) = PLAN.constants
    cost = estimate(PLAN, CostModel.load())
    products = sums.products
    assert cost.counts.plaintext_products == cost.counts.encodes == len(products.values)
    turned = sum(1 for g, _ in products.groups if g)
    assert turned and cost.counts.rotations == len(products.switches()) + turned
    assert cost.counts.hoists == len({in_ for in_, _ in products.switches()}) + turned
    assert cost.memory.constants > 0 and cost.by_op["encode"] > 0 and cost.by_op["map_sums"] > 0
    assert all(a <= b for a, b in pairwise(products.rows[:, 2].tolist()))  # those of a sum follow each other


# Fields of a map's entry: [map, way]; of the map: slots, gather, factor, explicit, count_in, count_out, parts.
FORGERIES = {
    "another width": (CONSTANTS, ["maps", 0, 0, 0], 2 * SLOTS),
    "no gather": (CONSTANTS, ["maps", 0, 0, 1], None),
    "source missing": (CONSTANTS, ["maps", 0, 0, 1, 3], "nowhere"),
    "gather that packs": (CONSTANTS, ["maps", 0, 0, 1, 5], None),
    "inputs": (CONSTANTS, ["maps", 0, 0, 4], 2),
    "more inputs": (CONSTANTS, ["maps", 0, 0, 4], 4),
    "huge inputs": (CONSTANTS, ["maps", 0, 0, 4], 1 << 40),
    "outputs below 0": (CONSTANTS, ["maps", 0, 0, 5], -1),
    "more outputs than sums": (CONSTANTS, ["maps", 0, 0, 1, 1, 2, 0, 1], 8),
    "width of no babies": (CONSTANTS, ["maps", 0, 1, 0, 0], 0),
    "other babies": (CONSTANTS, ["maps", 0, 1, 0, 0], 1),
    "babies of a huge width": (CONSTANTS, ["maps", 0, 1, 0, 0], (1 << 64) - 1),
    "pairs far apart": (CONSTANTS, ["maps", 0, 1, 2], SLOTS),
    "packing": (CONSTANTS, ["maps", 0, 1, 1], "both"),
    "another packing": (CONSTANTS, ["maps", 0, 1, 1], "outputs"),
    "map number": (CONSTANTS, ["constants", 0, 0], 1),
    "map number below 0": (CONSTANTS, ["constants", 0, 0], -1),
    "no maps": (CONSTANTS, ["maps"], []),
    "maps of nothing": (CONSTANTS, ["maps"], None),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_maps_are_format_errors(name):
    section, path, value = FORGERIES[name]
    with pytest.raises(FormatError):
        read_plan(forged(section, put(path, value)))


@pytest.mark.parametrize("section", [CODE, CONSTANTS], ids=["code", "constants"])
def test_nothing_that_is_read_can_crash_what_runs_it(section):
    rng = random.Random(section)
    paths = list(places(contents(DATA)[section]))
    for _ in range(120):
        edit = put(rng.choice(paths), rng.choice(NASTY))
        try:
            plan = read_plan(forged(section, edit))
        except FormatError:
            continue
        try:
            with np.errstate(over="ignore"):  # of weights times 1e308
                simulate(plan, [X])
            estimate(plan, CostModel.load())
        except UserError:
            continue
