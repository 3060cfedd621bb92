"""What bootstraps' operations add up to: stored for the sets and the cost table of the package, just as it is found."""

import pytest

from latticework.compiler.codegen import added_up_bootstraps
from latticework.compiler.codegen.added_up_bootstraps import (
    _load,
    added_up_seconds,
    find_seconds,
    name_chain,
    priced_targets,
)
from latticework.plan.cost import CostModel
from latticework.plan.cost.table import default_table
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain

ANEW = "run python tools/add_up_bootstraps.py"
MODELS = (CostModel(default_table()), CostModel(default_table().parallel))


@pytest.mark.parametrize("name", BOOTSTRAP_SETS)
def test_the_table_has_every_width_and_target_of_a_set(name):
    chain = bootstrap_chain(name)
    assert set(_load()) == {model.table_hash for model in MODELS}, ANEW
    for table in _load().values():
        widths = table[name_chain(chain)]
        assert [int(width) for width in widths] == [1 << k for k in range(chain.slots.bit_length())], ANEW
        assert all(len(kinds) == 2 for kinds in widths.values())
        assert {len(kind) for kinds in widths.values() for kind in kinds} == {len(priced_targets(chain))}


@pytest.mark.parametrize(("name", "slots", "place", "real"),
                         [("T12", 64, 0, True), ("T11", 1, 1, False), ("C15", 1 << 14, 1, True)])  # fmt: skip
def test_the_table_holds_what_is_found(name, slots, place, real):
    """To the last bit: plans are chosen by it."""
    chain = bootstrap_chain(name)
    target = priced_targets(chain)[place]
    stored = tuple(added_up_seconds(model, chain, slots, target, real) for model in MODELS)
    assert stored == find_seconds(MODELS, chain, slots, target, real), ANEW


@pytest.mark.slow
@pytest.mark.parametrize("name", BOOTSTRAP_SETS)
def test_the_table_holds_what_is_found_of_every_set(name):
    chain = bootstrap_chain(name)
    for slots, real in ((1, True), (64, False), (chain.slots, True)):
        for target in priced_targets(chain):
            stored = tuple(added_up_seconds(model, chain, slots, target, real) for model in MODELS)
            assert stored == find_seconds(MODELS, chain, slots, target, real), ANEW


def test_bootstraps_by_other_prices_are_added_up_anew(monkeypatch):
    table = default_table()
    twice = {unit: {n: 2 * price for n, price in prices.items()} for unit, prices in table.units.items()}
    other = CostModel(type(table)(**{**vars(table), "units": twice, "ops": (), "overhead": {}, "hash": "another"}))
    chain = bootstrap_chain("T11")
    found = added_up_seconds(other, chain, 1, 1, True)
    assert found == find_seconds((other,), chain, 1, 1, True)[0] != added_up_seconds(MODELS[0], chain, 1, 1, True)
    monkeypatch.setattr(added_up_bootstraps, "find_seconds", None)  # no code of a bootstrap is made where it is stored
    assert added_up_seconds(MODELS[0], chain, 2, 1, True) > 0
