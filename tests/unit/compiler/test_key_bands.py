"""Keys cut by level in plans without bootstraps: chosen at least cost, secure, and what old clients and servers say."""

from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
import latticework.compiler.precision as precision
from latticework.errors import ParameterMismatchError
from latticework.plan.analysis.estimate import estimate
from latticework.plan.analysis.key_bands import LEAST_GAIN, LevelUses, _Bands, with_key_bands
from latticework.plan.analysis.simulate import simulate
from latticework.plan.cost import CostModel
from latticework.plan.instructions.value_shapes import level_shape
from latticework.plan.parameters import Need, build_chain, modulus_limit_bits
from latticework.plan.parameters.gadgets import cheapest_bands, gadgets_for
from latticework.plan.parameters.secrets import is_secure
from latticework.runtime.devices import device

COSTS = CostModel.load()
SMALL = {"precision_bits": 10, "ring_degree": 2048, "insecure": True}
X = np.random.default_rng(0).uniform(-1, 1, 64)


@lw.program
def turned_at_both_ends(x: lw.Secret[64]):
    """Rotate at the top and at the bottom level by the same steps, with products between."""
    y = 0.5 * (x + np.roll(x, 1))
    for _ in range(7):
        y = y * y - 0.5
    return y + np.roll(y, 1)


def by_numpy(x):
    """The same in the clear."""
    y = 0.5 * (x + np.roll(x, 1))
    for _ in range(7):
        y = y * y - 0.5
    return y + np.roll(y, 1)


def compiled(monkeypatch=None, program=turned_at_both_ends, **changed):
    """The program; with a monkeypatch as it was compiled before keys were cut by level."""
    if monkeypatch is None:
        return lw.compile(program, **SMALL | changed)
    with monkeypatch.context() as at_once:
        at_once.setattr(precision, "with_key_bands", lambda plan, model: None)
        return lw.compile(program, **SMALL | changed)


@pytest.fixture(scope="module")
def by_level():
    return compiled()


@pytest.fixture(scope="module")
def owned(by_level):
    client = by_level.client()
    return client, client.keygen()


# -- what is chosen -------------------------------------------------------------------------------


def test_bands_are_the_cheapest_of_all_ways_to_cut():
    rng = np.random.default_rng(4)
    chain = build_chain(2048, Need(5, 8, 40, 6), 2, insecure=True)
    levels = [chain.main.basis(level) for level in range(chain.main.top + 1)]
    most = chain.log2_qp + 60
    cuts = {top: list(gadgets_for(chain, q[-1] + 1, most, 6)) for top, q in enumerate(levels)}
    for _ in range(5):
        table = rng.uniform(0.5, 1.5, (len(levels), 8, 8))  # of a level, by special primes and digits
        own = rng.uniform(0.5, 1.2, len(levels))

        def band(top, special, digits, table=table):
            """Prices that do not only add up: a band has to pay for what all its levels share."""
            total = 0.1
            for level in range(top, -1, -1):
                total += table[level, special % 8, len(digits) % 8]
                yield total

        def ways(top):
            """All costs of the levels up to `top`, cut in every way."""
            if top < 0:
                return [0.0]
            prices = [list(band(top, *cut)) for cut in cuts[top]]
            return [rest + p[top - low] for low in range(top + 1) for rest in ways(low - 1) for p in prices]

        every = [cost + own[top + 1 :].sum() for top in range(-1, len(levels)) for cost in ways(top)]
        best = cheapest_bands(chain, levels, band, lambda low, own=own: own[low:].sum(), most, 6, top_too=True)
        tops = sorted(limbs for limbs in best)
        cost, low = 0.0, 0
        for limbs in tops:
            top = next(n for n, q in enumerate(levels) if q[-1] + 1 == limbs)
            digits = dict(cuts[top])[best[limbs]]
            cost += list(band(top, best[limbs], digits))[top - low]
            low = top + 1
        assert cost + own[low:].sum() == pytest.approx(min(every))


def test_a_rotation_at_the_top_and_at_the_bottom_has_two_keys(by_level):
    plan = by_level.plan
    assert plan.chain.gadgets
    turns = [key for key in plan.keys if key.kind == "galois"]
    assert len({key.galois_element for key in turns}) == 1 and len(turns) == 2
    high, low = sorted(turns, key=lambda key: -key.level)
    assert not plan.chain.covers((0, high.level), (0, low.level))


def test_what_is_predicted_of_bands_is_what_the_plan_takes(by_level, monkeypatch):
    before = compiled(monkeypatch).plan
    bands = _Bands(before.chain, COSTS, LevelUses(before))
    taken = [estimate(model, COSTS).warm_seconds for model in (before, by_level.plan)]
    assert 1 - taken[1] / taken[0] >= LEAST_GAIN / 2
    gain = bands.cost(before.chain) - bands.cost(by_level.plan.chain)
    assert gain == pytest.approx(taken[0] - taken[1], rel=0.05)


def test_a_price_of_bytes_leaves_fewer_of_them(by_level):
    dear = compiled(key_price=50.0).plan
    assert dear.client.manifest.total_stored_bytes < by_level.plan.client.manifest.total_stored_bytes


def test_plans_that_would_gain_little_stay_as_they_were(monkeypatch):
    @lw.program
    def squared(x: lw.Secret[64]):
        return x * x

    assert compiled(program=squared).plan == compiled(monkeypatch, squared).plan


def test_plans_of_integers_are_left_alone():
    @lw.circuit
    def both(a: lw.bits(4), b: lw.bits(4)):
        return a * b

    plan = lw.compile(both, scheme="bfv", ring_degree=2048, insecure=True).plan
    assert plan.chain.scheme == "bfv" and with_key_bands(plan, COSTS) is None


# -- how secure and how precise -------------------------------------------------------------------


class Alike:
    """Uses: a rotation and a product at every level."""

    def __init__(self, chain):
        self.others, self.switching, self.keys = {}, {}, {("relin", 0): set(), ("galois", 5): set()}
        for level in range(chain.main.top + 1):
            shape = level_shape(chain, level)
            self.switching[shape.q_limbs] = {("rotate", replace(shape, target=shape.q_limbs)): 20.0}
            for used in self.keys.values():
                used.add(level)


@pytest.mark.parametrize("depth, special", [(9, 1), (8, 2), (5, 1)])
def test_no_key_is_larger_than_the_table_allows(depth, special):
    chain = build_chain(1 << 14, Need(depth, 8, 36, 6), special)
    bands = _Bands(chain, COSTS, Alike(chain))
    made = bands.choose()
    limit = modulus_limit_bits(1 << 14, 128)
    assert made.gadgets and is_secure(made)
    assert max(made.most_log2_qp, *made.log2_qp_of_gadgets) <= limit
    assert bands.cost(made) < bands.cost(chain)


def test_a_chain_at_the_limit_keeps_the_keys_of_its_top():
    limit = modulus_limit_bits(1 << 14, 128)
    chain = build_chain(1 << 14, Need(9, 8, 36, 12), 1)
    assert chain.log2_qp + 49 > limit >= chain.log2_qp  # no special prime can be added
    made = _Bands(chain, COSTS, Alike(chain)).choose()
    assert made.special == chain.special and made.digits == chain.digits and is_secure(made)


def test_an_insecure_chain_gets_no_larger_keys(by_level):
    assert by_level.plan.chain.insecure
    assert by_level.plan.chain.most_log2_qp == by_level.plan.chain.log2_qp


def test_results_are_as_precise(by_level, owned, monkeypatch):
    client, keys = owned
    got = client.decrypt(by_level.server(keys.public())(client.encrypt(X))).reveal()
    assert np.max(np.abs(got - by_numpy(X))) < 2.0**-10
    before = compiled(monkeypatch).plan
    errors = [
        np.std(simulate(plan, [X], noise=np.random.default_rng(2))[0] - by_numpy(X)) for plan in (before, by_level.plan)
    ]
    assert errors[1] < 1.2 * errors[0]
    assert by_level.plan.chain.primes == before.chain.primes and by_level.plan.chain.tracks == before.chain.tracks
    assert by_level.plan.chain.special[0] == before.chain.special[0]  # of fresh encryptions


# -- clients, servers and keys ----------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["ref", "sim"])
def test_backends_agree_to_the_byte(by_level, owned, backend, monkeypatch):
    client, keys = owned
    sent = client.encrypt(X)
    expected = by_level.server(keys.public())(sent).to_bytes()
    monkeypatch.setattr(device, "HOST", backend)
    assert by_level.server(keys.public())(sent).to_bytes() == expected


def test_old_clients_and_new_servers_refuse_each_other_by_name(by_level, owned, monkeypatch):
    old = compiled(monkeypatch)
    client = old.client()
    theirs = client.keygen().public()
    with pytest.raises(ParameterMismatchError):
        by_level.server(theirs)
    with pytest.raises(ParameterMismatchError):
        old.server(owned[1].public())
    with pytest.raises(ParameterMismatchError):
        by_level.server(owned[1].public())(client.encrypt(X))


def test_old_plans_run_as_they_did(monkeypatch, tmp_path):
    old = compiled(monkeypatch)
    old.save(tmp_path / "old.lwplan")
    again = lw.Model.load(tmp_path / "old.lwplan", allow_insecure=True)
    assert again.plan == old.plan and not again.plan.chain.gadgets
    client = again.client()
    got = client.decrypt(again.server(client.keygen().public())(client.encrypt(X))).reveal()
    assert np.max(np.abs(got - by_numpy(X))) < 2.0**-10


def test_a_budget_for_keys_reads_them_by_band(by_level, owned, tmp_path):
    client, keys = owned
    by_level.save(tmp_path / "m.lwplan")
    keys.public().save(tmp_path / "keys")
    largest = max(by_level.plan.client.manifest.bytes_resident)
    server = lw.Server.load(tmp_path / "m.lwplan", tmp_path / "keys", key_memory=2 * largest)
    got = client.decrypt(server(client.encrypt(X))).reveal()
    assert np.max(np.abs(got - by_numpy(X))) < 2.0**-10


def test_a_model_that_is_trained_again_keeps_its_keys(by_level, owned):
    again = compiled(like=by_level)
    assert again.plan.chain == by_level.plan.chain
    client, keys = owned
    got = client.decrypt(again.server(keys.public())(client.encrypt(X))).reveal()
    assert np.max(np.abs(got - by_numpy(X))) < 2.0**-10


def test_a_model_that_is_trained_again_gets_no_bands_where_the_old_one_had_none(monkeypatch):
    old = compiled(monkeypatch)
    assert not old.plan.chain.gadgets
    assert compiled(like=old).plan.chain == old.plan.chain
