"""Plans of rows that need no evaluation key: what has one, what has none, and that results are within their bounds."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import latticework as lw
from latticework.compiler import plan_without_keys
from latticework.plan.analysis.simulate import simulate
from latticework.plan.parameters.chain_without_keys import chain_without_keys, count_primes, ring_without_keys
from latticework.plan.parameters.security import modulus_limit_bits

ROWS = 512
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (ROWS, 6))
FIRST, SECOND = RNG.uniform(-1, 1, (6, 5)), RNG.uniform(-1, 1, (5, 3))
BIAS, END = RNG.uniform(-1, 1, 5), RNG.uniform(-1, 1, 3)


@lw.program
def network(x: lw.Secret[6], first, bias, second, end):
    return np.square(x @ first + bias) @ second + end


def clear(rows, first=FIRST, bias=BIAS, second=SECOND, end=END):
    return np.square(rows @ first + bias) @ second + end


def compiled(program=network, weights=(FIRST, BIAS, SECOND, END), rows=X, **options):
    return lw.compile(program, weights=weights, calibrate=rows, batch=len(rows), **{"precision_bits": 8, **options})


def run(model, rows):
    client = model.client()
    return client.decrypt(model.server(client.keygen().public())(client.encrypt(rows)))


def test_a_network_of_one_square_needs_no_key():
    model = compiled()
    plan = model.plan
    assert plan.keys == () and plan.chain.special == () and plan.client.manifest.uses == ()
    assert not plan.chain.insecure and plan.chain.log2_qp <= modulus_limit_bits(plan.chain.ring_degree, 128)
    assert plan.chain.ring_degree == 4096 and {o.level for o in plan.client.outputs} == {plan.chain.main.top}
    client = model.client()
    sent = model.server(client.keygen().public())(client.encrypt(X))
    result = client.decrypt(sent)
    assert np.abs(result.reveal() - clear(X)).max() <= result.error_bound < 0.05
    assert 0.95 < model.costs().client.result_bytes / len(sent.to_bytes()) < 1.0
    assert "0 keys" in model.report().text() and model.report().html()


def test_results_are_within_bounds_at_the_corners_of_what_is_accepted():
    model = compiled()
    spec = model.plan.client.secret_inputs[0]
    corners = np.array(list(product([np.min(spec.low), np.max(spec.high)], repeat=6)))
    rows = np.resize(corners, (ROWS, 6))
    result = run(model, rows)
    assert np.abs(result.reveal() - clear(rows)).max() <= result.error_bound


def test_sums_far_larger_than_in_calibration_do_not_wrap_around():
    """All signs as the weights': 16 times what rows by chance give, and 256 times after the square."""
    weights = RNG.choice([-1.0, 1.0], (256, 64))
    rows = RNG.uniform(-1, 1, (2048, 256))

    @lw.program
    def energy(x: lw.Secret[256], w):
        return np.square(x @ w)

    model = lw.compile(energy, weights=(weights,), calibrate=rows, batch=2048, precision_bits=8)
    assert model.plan.keys == ()
    largest = np.resize(np.sign(weights[:, 0]), (2048, 256)) * np.linspace(0.25, 1, 2048)[:, None]
    result = run(model, largest)
    wanted = np.square(largest @ weights)
    assert wanted.max() > 10 * np.square(rows @ weights).max()
    assert np.abs(result.reveal() - wanted).max() < 2.0**-8 * wanted.max()
    assert not result.is_certain.all() or np.abs(result.reveal() - wanted).max() <= result.error_bound


def test_weights_of_all_sizes_and_more_rows_than_a_run():
    first = FIRST * 10.0 ** RNG.uniform(-4, 1, FIRST.shape)
    first[2] = 0.0
    rows = RNG.uniform(-1, 1, (ROWS + 3, 6))
    model = compiled(weights=(first, BIAS, SECOND, END), rows=rows[:ROWS])
    result = run(model, rows)
    assert model.plan.keys == ()
    assert np.abs(result.reveal() - clear(rows, first)).max() <= result.error_bound


def test_files_keep_degree_and_scale(tmp_path):
    model = compiled()
    client = model.client()
    keys = client.keygen()
    model.save(tmp_path / "model.lwplan")
    keys.public().save(tmp_path / "public")
    server = lw.Server.load(tmp_path / "model.lwplan", tmp_path / "public")
    server(client.encrypt(X)).save(tmp_path / "result.lwct")
    found = client.decrypt(client.load_encrypted(tmp_path / "result.lwct"))
    assert np.abs(found.reveal() - clear(X)).max() <= found.error_bound


def test_every_device_and_number_of_threads_makes_the_same_bytes():
    model = compiled()
    client = model.client()
    keys, sent = client.keygen().public(), client.encrypt(X)
    devices = ("cpu", lw.Device("sim", arithmetic="fp64"), lw.Device("sim", arithmetic="u64"))
    found = {model.server(keys, device=d, threads=n)(sent).to_bytes() for d in devices for n in (1, 2)}
    assert len(found) == 1


def test_a_public_key_is_refused():
    """Its noise is not divided by anything there, and was not reckoned with."""
    model = compiled()
    keys = model.client().keygen().public()
    with pytest.raises(lw.UserError, match="no room for the noise of a public key; encrypt with the secret key, or"):
        model.client().use_public_key(keys.encryption)


def test_noise_is_as_modelled():
    plan = compiled().plan
    (exact,), (noisy,) = simulate(plan, [X]), simulate(plan, [X], noise=np.random.default_rng(1))
    drawn = np.std(noisy - exact)
    real = np.std(run(compiled(), X).reveal() - exact)
    assert 0.5 < real / drawn < 2


@lw.program
def to_the_eighth(x: lw.Secret[6], w):
    return np.square(np.square(np.square(0.5 * x @ w)))


@lw.program
def of_both_scales(x: lw.Secret[6], w):
    return np.square(x) @ w + x @ w


@lw.program
def exponential(x: lw.Secret[6], w):
    return np.exp(x @ w)


@pytest.mark.parametrize("program", [to_the_eighth, of_both_scales, exponential])
def test_other_programs_have_keys(program):
    model = compiled(program, (FIRST,))
    result = run(model, X)
    assert model.plan.keys and model.plan.chain.special
    wanted = np.stack([program(row, FIRST) for row in X])
    assert np.abs(result.reveal() - wanted).max() <= result.error_bound


def test_without_the_technique_and_without_rows_there_are_keys():
    assert compiled(techniques=lw.Techniques(matrix_products=False)).plan.keys
    assert lw.compile(network, weights=(FIRST, BIAS, SECOND, END), calibrate=X, precision_bits=8).plan.keys


@lw.program
def differences(x: lw.Secret[6], y: lw.Secret[6], w):
    return 1.5 - (x * y) @ w, -(x - y) @ w - 0.25


def test_products_of_two_inputs_and_differences_from_numbers():
    y = RNG.uniform(-1, 1, X.shape)
    model = lw.compile(differences, weights=(FIRST,), calibrate=(X[:64], y[:64]), batch=64, precision_bits=8)
    assert model.plan.keys == ()
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(X[:64], y[:64])))
    wanted = 1.5 - (X[:64] * y[:64]) @ FIRST, -(X[:64] - y[:64]) @ FIRST - 0.25
    for result, exact in zip(found, wanted, strict=True):
        assert np.abs(result.reveal() - exact).max() <= result.error_bound


def test_a_ring_that_is_asked_for_is_taken_or_the_plan_has_keys():
    assert compiled(ring_degree=8192).plan.chain.ring_degree == 8192
    small = compiled(ring_degree=1024, insecure=True).plan
    assert small.chain.ring_degree == 1024 and small.chain.insecure


@pytest.mark.parametrize("bits", [29.0, 59.9, 75.0, 89.5, 120.0])
def test_chains_have_the_bits_that_are_asked_for(bits):
    chain = chain_without_keys(bits, 24, 4096, insecure=True)
    assert bits <= chain.log2_qp < bits + 0.2 and len(chain.primes) == count_primes(bits)
    assert max(prime.bit_length() for prime in chain.primes) <= 31


def test_rings_hold_bits_and_slots():
    assert ring_without_keys(100, 64) == 4096 and ring_without_keys(100, 4096) == 8192
    assert ring_without_keys(120, 64) == 8192 and ring_without_keys(10_000, 64) is None


@lw.program
def of_two_squares(x: lw.Secret[6], first, bias, second, end):
    return np.square(np.square(x @ first + bias) @ second + end) @ second.T + bias


def test_squares_of_squares_have_degree_four():
    model = compiled(of_two_squares, objective="throughput")
    (output,) = model.plan.client.outputs
    kinds = [model.plan.kind(o.register) for o in model.plan.blocks[0].code[-1].operands]
    assert model.plan.keys == () and [kind.degree for kind in kinds] == [4] and output.scale > 2.0**100
    result = run(model, X)
    assert np.abs(result.reveal() - (clear(X) ** 2 @ SECOND.T + BIAS)).max() <= result.error_bound


def test_loops_that_square_often_need_keys():
    @lw.program
    def looped(x: lw.Secret[4]):
        return lw.for_loop(3, lambda _i, h: h * h, x)

    rows = RNG.uniform(-1, 1, (8, 4))
    model = lw.compile(looped, calibrate=rows, batch=8, precision_bits=8)
    result = run(model, rows)
    assert model.plan.keys and np.abs(result.reveal() - rows**8).max() <= result.error_bound


def test_the_scale_goes_no_lower_than_one_that_was_too_small(monkeypatch):
    """On a chain with room for anything it may seem enough, and the next one up to have two bits to spare."""
    tried = []

    class Trial:
        bits = 100.0

        def __init__(self, scale_bits):
            self.scale_bits = scale_bits

        def missing_bits(self):
            tried.append(self.scale_bits)
            return {24: -4, 20: 0, 21: -2}[self.scale_bits]

        def ring_for(self, bits):
            return 8192

        def on(self, bits, ring_degree):
            return (None, 1) if self.scale_bits == 20 else ("the plan", -2)

    made = SimpleNamespace(of=lambda search, scale_bits: Trial(scale_bits))
    monkeypatch.setattr(plan_without_keys, "_Trial", made)
    search = SimpleNamespace(
        options=SimpleNamespace(rows=64),
        vectors=SimpleNamespace(circuit=None),
        techniques=SimpleNamespace(matrix_products=True),
    )
    assert plan_without_keys.plan_without_keys(search) == "the plan" and tried == [24, 20, 21]
