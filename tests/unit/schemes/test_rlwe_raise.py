"""The sparse secret of bootstrapping: its keys, the switch to it, the raise of the modulus, and every refusal."""

import functools

import numpy as np
import pytest
from rlwe_cases import SCALE, galois, plain_parameters, primes, random_slots, spec, to_bytes

from latticework import _core
from latticework.errors import LevelError, MissingKeyError, ParameterMismatchError, SecurityError, ShapeError

N = 1024
Q0_BITS, P_BITS = 45, 49


@functools.cache
def raise_parameters() -> _core.Parameters:
    """INSECURE. q0, three levels of 40 bits, and above the second a track that skips one and ends in a pair."""
    p49 = primes(49, N, 3)
    q = [primes(Q0_BITS, N, 1)[0], *primes(40, N, 3), *primes(28, N, 2), p49[0]]
    main = {"groups": [[0], [1], [2], [3]], "scales": [SCALE] * 4}
    raised = {"groups": [[0], [1], [3], [4, 5], [6]], "scales": [SCALE] * 5}
    digits = [[0, 1], [2, 3, 4], [5, 6]]  # the second splits a pair
    return _core.Parameters(N, q, [p49[1], p49[2], *primes(47, N, 1)], digits, [main, raised], insecure=True)


TOP = (1, 4)
SPECS = [spec("to_sparse", 0, 0), spec("to_dense", 0, 4, track=1), spec("galois", 5, 4, track=1)]


class Raised:
    def __init__(self, backend):
        self.parameters = raise_parameters()
        self.context = _core.Context(self.parameters, backend=backend, threads=2)
        self.generator = _core.KeyGenerator(self.context)
        self.secret_key = self.generator.secret_key()
        self.keys = self.generator.evaluation_keys(self.secret_key, SPECS)
        self.evaluator = _core.Evaluator(self.context)
        self.encoder = _core.Encoder(self.context)
        self.encryptor = _core.Encryptor(self.context, self.secret_key)
        self.decryptor = _core.Decryptor(self.context, self.secret_key)
        self.q0 = self.parameters.q[0]

    def encrypt(self, values, level=(0, 0)):
        return self.encryptor.encrypt(self.encoder.encode(values, level, SCALE / 4))


@pytest.fixture
def rng():
    return np.random.default_rng(20260417)


@pytest.fixture(scope="module", params=_core.backend_names())
def case(request):
    return Raised(request.param)


def raise_modulus(case, x, level, factor, keys=None):
    keys = case.keys if keys is None else keys
    return case.evaluator.mod_raise(case.evaluator.to_sparse(x, keys), level, factor, keys)


@pytest.mark.parametrize("level", [(1, 0), (1, 1), (1, 3), TOP], ids=str)
@pytest.mark.parametrize("factor", [1, 1000003])
def test_a_raised_value_is_the_message_plus_multiples_of_q0(case, rng, level, factor):
    x = case.encrypt(random_slots(rng, 64))
    message = case.decryptor.coefficients(x)
    raised = raise_modulus(case, x, level, factor)
    assert (raised.level, raised.basis, raised.slots) == (level, "QP", N // 2)
    assert raised.scale == x.scale * factor
    down = case.evaluator.mod_down(raised, level, raised.scale)
    t = case.decryptor.coefficients(down) / factor
    if level == (1, 0):  # modulo q0 itself nothing is visible but the product with the factor
        residual = (case.decryptor.coefficients(down) - factor * message + case.q0 / 2) % case.q0 - case.q0 / 2
        assert np.abs(residual / factor).max() < 2.0**12
        return
    integer = np.rint((t - message) / case.q0)
    assert np.abs(t - message - case.q0 * integer).max() < 2.0**12
    assert 1 <= np.abs(integer).max() <= 16
    assert np.var(integer) == pytest.approx(33 / 12, rel=0.3)  # a sum of 33 uniform terms


def test_raised_values_keep_computing(case, rng):
    """At the top of a track with a pair of primes and skipped limbs, with a key that is made for that track."""
    values = random_slots(rng, 64)
    raised = raise_modulus(case, case.encrypt(values), TOP, 8)
    down = case.evaluator.mod_down(raised, TOP, raised.scale)
    turned = case.evaluator.rotate(down, 5, case.keys)
    np.testing.assert_allclose(case.decryptor.decrypt(turned), np.roll(case.decryptor.decrypt(down), -1), atol=2.0**-20)


def test_the_sparse_secret_is_fresh_in_every_call(case, rng):
    other = case.generator.evaluation_keys(case.secret_key, SPECS)
    x = case.encrypt(random_slots(rng, 64))
    sparse = case.evaluator.to_sparse(x, case.keys)
    down = case.evaluator.mod_raise(sparse, TOP, 1, other)
    t = case.decryptor.coefficients(case.evaluator.mod_down(down, TOP, down.scale))
    residual = (t - case.decryptor.coefficients(x)) / case.q0
    assert np.abs(residual - np.rint(residual)).max() > 0.4  # noise: the keys do not belong together


def test_keys_of_two_sparse_secrets_do_not_merge(case):
    again = case.generator.evaluation_keys(case.secret_key, SPECS[:2])
    with pytest.raises(ParameterMismatchError, match="generate the keys of all bootstraps in one call"):
        case.keys.merged(again)
    with pytest.raises(ParameterMismatchError, match="in one call"):
        case.generator.evaluation_keys(case.secret_key, SPECS[2:]).merged(again).merged(case.keys)
    galois_only = case.generator.evaluation_keys(case.secret_key, SPECS[2:])
    assert len(galois_only.merged(case.keys).merged(case.keys)) == 7


def test_sparse_values_are_refused_elsewhere(case):
    e, x = case.evaluator, case.encrypt(np.ones(4))
    sparse = e.to_sparse(x, case.keys)
    plain = case.encoder.encode(np.ones(4), (0, 0), SCALE / 4)
    for operation in (
        lambda: e.add(x, sparse),
        lambda: e.sub(sparse, x),
        lambda: e.neg(sparse),
        lambda: e.add_plain(sparse, plain),
        lambda: e.mul_plain(sparse, plain),
        lambda: e.mul(sparse, sparse),
        lambda: e.square(sparse),
        lambda: e.rotate(sparse, 5, case.keys),
        lambda: e.rotate_many(sparse, [5], case.keys),
        lambda: e.hoist(sparse),
        lambda: e.extend(sparse),
        lambda: e.mul_monomial(sparse, 1),
        lambda: e.relabel(sparse, (0, 0), SCALE, 4),
        lambda: e.drop_level(sparse, (0, 0)),
        lambda: e.to_sparse(sparse, case.keys),
        lambda: case.decryptor.decrypt(sparse),
        lambda: to_bytes(sparse),
    ):
        with pytest.raises(ShapeError, match="under the sparse secret"):
            operation()


def test_misuse_of_the_switches_is_refused(case):
    e, x = case.evaluator, case.encrypt(np.ones(4))
    with pytest.raises(LevelError, match="only level 0 of track 0"):
        e.to_sparse(case.encrypt(np.ones(4), (0, 1)), case.keys)
    with pytest.raises(ShapeError, match="needs a ciphertext under the sparse secret"):
        e.mod_raise(x, TOP, 1, case.keys)
    with pytest.raises(ValueError, match="factor 0"):
        e.mod_raise(e.to_sparse(x, case.keys), TOP, 0, case.keys)
    with pytest.raises(LevelError, match="no level 5"):
        e.mod_raise(e.to_sparse(x, case.keys), (1, 5), 1, case.keys)
    with pytest.raises(MissingKeyError, match="from the sparse secret"):
        e.mod_raise(e.to_sparse(x, case.keys), (0, 3), 1, case.keys)  # limb 2 is not on track 1
    others = case.generator.evaluation_keys(case.generator.secret_key(), SPECS)
    with pytest.raises(ParameterMismatchError, match="key set"):
        e.to_sparse(x, others)
    galois_only = case.generator.evaluation_keys(case.secret_key, SPECS[2:])
    with pytest.raises(MissingKeyError, match="to the sparse secret"):
        e.to_sparse(x, galois_only)


def test_keys_of_the_sparse_secret_come_together(case):
    to_sparse, to_dense = SPECS[:2]
    for specs in ([to_sparse], [to_dense], [to_sparse, to_sparse, to_dense]):
        with pytest.raises(ValueError, match="in one call"):
            case.generator.evaluation_keys(case.secret_key, specs)
    both = case.generator.evaluation_keys(case.secret_key, [to_dense, to_sparse, spec("to_dense", 0, 3)])
    assert [s["kind"] for s in both.specs] == ["to_dense", "to_sparse", "to_dense"]
    with pytest.raises(LevelError, match="level 0 of track 0 only"):
        case.generator.evaluation_keys(case.secret_key, [spec("to_sparse", 0, 1), to_dense])
    with pytest.raises(ValueError, match="key kind must be"):
        case.generator.evaluation_keys(case.secret_key, [spec("to_mars", 0, 1)])
    with pytest.raises(ValueError, match="galois element"):
        case.generator.evaluation_keys(case.secret_key, [spec("to_sparse", 5, 0), to_dense])


def test_sizes_of_the_two_keys(case):
    """One digit over q0 and one special prime; one digit over the whole raised basis."""
    to_sparse, to_dense = (
        case.generator.evaluation_keys(case.secret_key, [SPECS[0], SPECS[1]]).num_bytes,
        case.generator.evaluation_keys(case.secret_key, [SPECS[0], spec("to_dense", 0, 0, track=1)]).num_bytes,
    )
    row = 2 * (N if case.context.backend == "sim" else N + 8) * 8
    assert to_dense == row * (2 + 1 + 3)
    assert to_sparse == row * (2 + 6 + 3)


def test_keys_of_the_sparse_secret_survive_files(case, rng):
    loaded = _core.load_evaluation_keys(_core.save_evaluation_keys(None, case.keys), case.context)
    assert loaded.specs == case.keys.specs
    x = case.encrypt(random_slots(rng, 64))
    raised = [raise_modulus(case, x, TOP, 3, keys) for keys in (case.keys, loaded)]
    down = [case.evaluator.mod_down(value, TOP, value.scale) for value in raised]
    assert to_bytes(down[0]) == to_bytes(down[1])


def secure_parameters(q0_bits: int, p_bits: int, ring_degree: int = 2**15) -> _core.Parameters:
    q = primes(q0_bits, ring_degree, 1)
    p = [prime for prime in primes(p_bits, ring_degree, 2) if prime not in q][:1]
    track = {"groups": [[0]], "scales": [SCALE]}
    return _core.Parameters(ring_degree, [*q], p, [[0]], [track])


@pytest.mark.parametrize(("q0_bits", "ring_degree"), [(40, 2**15), (30, 2**14)])
def test_the_modulus_under_the_sparse_secret_is_limited(q0_bits, ring_degree):
    """89 bits at 2^15; below, no modulus is allowed."""
    context = _core.Context(secure_parameters(q0_bits, 49, ring_degree))
    generator = _core.KeyGenerator(context)
    secret_key = generator.secret_key()
    with pytest.raises(SecurityError, match="sparse secret"):
        generator.evaluation_keys(secret_key, [spec("to_sparse", 0, 0), spec("to_dense", 0, 0)])


def test_a_modulus_within_the_limit_is_allowed():
    generator = _core.KeyGenerator(_core.Context(secure_parameters(36, 49)))
    keys = generator.evaluation_keys(generator.secret_key(), [spec("to_sparse", 0, 0), spec("to_dense", 0, 0)])
    assert len(keys) == 2


def test_the_table_for_sparse_secrets():
    table = _core.sparse_security_table()
    assert {degree: limits[128] for degree, limits in table.items()} == {2**15: 86, 2**16: 98, 2**17: 98}
    assert all(limits[192] is None and limits[256] is None for limits in table.values())


@pytest.mark.parametrize(("size", "weight"), [(1024, 32), (64, 64), (64, 0), (2048, 1)])
def test_sparse_secrets_have_exactly_their_weight(size, weight):
    seeds = [bytes([k]) * 32 for k in range(8)]
    drawn = np.array([_core.sample_sparse(size, weight, seed) for seed in seeds])
    assert set(np.unique(drawn)) <= {-1, 0, 1}
    np.testing.assert_array_equal(np.count_nonzero(drawn, axis=1), weight)
    np.testing.assert_array_equal(drawn[0], _core.sample_sparse(size, weight, seeds[0]))


def test_places_and_signs_of_sparse_secrets_are_uniform():
    drawn = np.array([_core.sample_sparse(64, 16, k.to_bytes(32, "little")) for k in range(2000)])
    occupied = np.abs(drawn).mean(axis=0)
    assert np.abs(occupied - 0.25).max() < 6 * np.sqrt(0.25 * 0.75 / 2000)
    assert abs(drawn.sum()) < 6 * np.sqrt(2000 * 16)
    with pytest.raises(ValueError, match="larger than the size"):
        _core.sample_sparse(8, 9, bytes(32))


def test_ordinary_parameters_have_no_way_to_the_sparse_secret_above_level_0():
    context = _core.Context(plain_parameters())
    generator = _core.KeyGenerator(context)
    secret_key = generator.secret_key()
    keys = generator.evaluation_keys(secret_key, [spec("galois", galois(1, 1024), 4)])
    x = _core.Encryptor(context, secret_key).encrypt(_core.Encoder(context).encode(np.ones(4), (0, 0), SCALE))
    with pytest.raises(MissingKeyError, match="key to the sparse secret"):
        _core.Evaluator(context).to_sparse(x, keys)
