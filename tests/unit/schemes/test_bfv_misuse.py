"""What BFV refuses, and what it says; files."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from bfv_cases import Case, backends, make_case, shared_case, small_parameters

from latticework import _core, bfv
from latticework.errors import (
    DtypeError,
    LevelError,
    MissingKeyError,
    ParameterMismatchError,
    RangeError,
    SecretKeyError,
    ShapeError,
    UserError,
)
from latticework.plan.parameters.fingerprint import core_parameters


@pytest.fixture
def case() -> Case:
    return shared_case(17, "ref")


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ([0.5, 1.0], DtypeError, "slots hold integers"),
        ([True, False], DtypeError, "dtype bool"),
        (np.zeros((3, 4), dtype=int), ShapeError, "up to 2 rows"),
        (np.zeros((2, 513), dtype=int), ShapeError, "up to 512"),
        (np.zeros(1025, dtype=int), ShapeError, "1024 slots"),
        ([60_417], RangeError, r"the value at .* is outside \[-60416, 60416\]"),
        ([-60_417], RangeError, "signed"),
        (np.array([120_833], dtype=np.uint64), RangeError, r"outside \[0, 120832\].*unsigned"),
    ],
)
def test_values_that_do_not_fit(case, values, error, text):
    assert case.t == 120_833
    with pytest.raises(error, match=text):
        case.encoder.encode(values)
    with pytest.raises(error, match=text):
        case.encryptor.encrypt(1) + np.asarray(values)


def test_shapes_that_fit(case):
    half = case.parameters.row_slots
    vector = np.arange(half + 3)
    wide = np.zeros((2, half), dtype=np.int64)
    wide.reshape(-1)[: half + 3] = vector
    np.testing.assert_array_equal(case.encoder.decode(case.encoder.encode(vector)), wide)
    rows = case.encoder.decode(case.encoder.encode([[1, -2], [3, -4]]))
    assert rows[:, :3].tolist() == [[1, -2, 0], [3, -4, 0]]
    assert (case.encoder.decode(case.encoder.encode(-7)) == -7).all()
    assert case.encoder.decode(case.encoder.encode(-7), np.uint64)[0, 0] == case.t - 7
    with pytest.raises(DtypeError, match="int32"):
        case.encoder.decode(case.encoder.encode(1), np.int32)


def test_constants_that_do_not_fit(case):
    x = case.encryptor.encrypt(1)
    for number in (case.t, -case.t, 2**70):
        with pytest.raises(RangeError, match="not between -t and t"):
            x * number
        with pytest.raises(RangeError, match="not between -t and t"):
            x + number
    with pytest.raises(TypeError, match="no truth value"):
        bool(x)


def test_missing_keys(case):
    x = case.encryptor.encrypt(1)
    with pytest.raises(MissingKeyError, match="no key for rotation by 2 among the 5 keys"):
        x.rotate(2)
    bare = bfv.Encryptor(case.parameters, case.keygen.secret_key()).encrypt(2)
    with pytest.raises(MissingKeyError, match="Evaluator\\(parameters, keys\\)"):
        bare.rotate(1)
    product = bare * bare
    assert product.degree == 2 and (case.decryptor.decrypt(product) == 4).all()
    with pytest.raises(MissingKeyError, match="relinearize: this evaluator has no keys"):
        product * bare
    assert (bare * x).degree == 1  # by the keys of the other operand
    with pytest.raises(UserError, match="no key is asked for; give relin=True, steps, swap_rows=True or required"):
        case.keygen.evaluation_keys(relin=False)
    with pytest.raises(LevelError, match="mod_switch: there is no level 9; these parameters have levels 0 to 4"):
        case.evaluator.mod_switch(x, 9)


def test_things_of_other_parameters_or_keys(case):
    other = shared_case(30, "ref")
    x, y = case.encryptor.encrypt(1), other.encryptor.encrypt(1)
    with pytest.raises(ParameterMismatchError):
        x + y
    with pytest.raises(ParameterMismatchError):
        other.decryptor.decrypt(x)
    with pytest.raises(ParameterMismatchError):
        bfv.Evaluator(other.parameters, case.keys)
    stranger = make_case(small_parameters(17), "ref")
    with pytest.raises(ParameterMismatchError, match="key set"):
        stranger.decryptor.decrypt(x)
    with pytest.raises(ParameterMismatchError, match="key set"):
        x * stranger.encryptor.encrypt(1)


def test_things_of_another_backend(case):
    other = case.parameters.on(backend="cpu" if "cpu" in backends() else "ref")
    encoder = bfv.Encoder(other)
    if other.context.backend == "ref":
        assert (case.decryptor.decrypt(case.encryptor.encrypt(3) * encoder.encode(2)) == 6).all()
        return
    with pytest.raises(ParameterMismatchError, match="backend"):
        case.encryptor.encrypt(3) * encoder.encode(2)


def test_ckks_refuses_bfv_and_bfv_refuses_ckks(case):
    context, x = case.parameters.context, case.encryptor.encrypt(1).core
    evaluator = _core.Evaluator(context)
    for refused in (
        lambda: _core.Encoder(context),
        lambda: evaluator.mul(x, x),
        lambda: evaluator.square(x),
        lambda: evaluator.rescale(x),
        lambda: _core.Decryptor(context, case.keygen.secret_key().core).coefficients(x),
        lambda: _core.Decryptor(context, case.keygen.secret_key().core).decrypt(x),
    ):
        with pytest.raises(ParameterMismatchError, match="BFV"):
            refused()
    p = case.parameters
    ckks = _core.Context(
        _core.Parameters(
            p.ring_degree,
            list(p.chain.primes),
            list(p.chain.special),
            [[i] for i in range(5)],
            core_parameters(p.chain).tracks,
            insecure=True,
        )
    )
    secret = _core.KeyGenerator(ckks).secret_key()
    for refused in (
        lambda: _core.BfvEncoder(ckks),
        lambda: _core.BfvEvaluator(ckks),
        lambda: _core.BfvDecryptor(ckks, secret),
    ):
        with pytest.raises(ParameterMismatchError, match="CKKS"):
            refused()
    number = _core.Encryptor(ckks, secret).encrypt(_core.Encoder(ckks).encode([1.0], (0, 4), 2.0**30))
    with pytest.raises(ParameterMismatchError):
        _core.BfvEvaluator(context).mul(x, number)
    with pytest.raises(ParameterMismatchError):
        evaluator.add(x, number)


def test_secret_keys_stay(case):
    with pytest.raises(SecretKeyError):
        pickle.dumps(case.keygen.secret_key())
    with pytest.raises(SecretKeyError):
        copy.copy(case.keygen.secret_key())


def test_files(case, tmp_path):
    x = np.arange(1024).reshape(2, 512)
    keygen, parameters = case.keygen, case.parameters
    keygen.secret_key().save(tmp_path / "secret")
    keygen.public_key().save(tmp_path / "public")
    case.keys.save(tmp_path / "keys")
    evaluator = bfv.Evaluator(parameters, bfv.EvaluationKeys.load(tmp_path / "keys", parameters))
    public = bfv.Encryptor(parameters, bfv.PublicKey.load(tmp_path / "public", parameters))
    low = case.evaluator.mod_switch(case.encryptor.encrypt(x), 2)
    bfv.save_ciphertexts(tmp_path / "x", {"fresh": case.encryptor.encrypt(x), "low": low, "public": public.encrypt(x)})
    loaded = bfv.load_ciphertexts(tmp_path / "x", parameters, evaluator=evaluator)
    decryptor = bfv.Decryptor(parameters, bfv.SecretKey.load(tmp_path / "secret", parameters))
    assert list(loaded) == ["fresh", "low", "public"]
    for c in loaded.values():
        np.testing.assert_array_equal(decryptor.decrypt(c), x)
        np.testing.assert_array_equal(decryptor.decrypt((c * c).rotate(1), np.uint64), np.roll(x * x % case.t, -1, 1))
    with pytest.raises(ParameterMismatchError):
        bfv.load_ciphertexts(tmp_path / "x", shared_case(30, "ref").parameters)


HERE = r"test_bfv_misuse\.py:\d+: "  # errors name the caller's own line


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda c: bfv.KeyGenerator(4096), DtypeError, "KeyGenerator: the parameters: got int; give bfv.Parameters"),
        (lambda c: c.parameters.on(threads=-1), RangeError, "threads=-1; give 1 to 1024"),
        (lambda c: c.parameters.on(backend="gpu"), UserError, "no backend 'gpu'; choose one of"),
        (lambda c: bfv.Evaluator(c.parameters, c.keygen.secret_key()), DtypeError, "the keys: got bfv.SecretKey"),
        (lambda c: bfv.Encryptor(c.parameters, c.keygen.public_key), DtypeError, "got method; give keygen.public_key"),
        (lambda c: bfv.Decryptor(c.parameters, c.keygen.public_key()), DtypeError, "got bfv.PublicKey; give keygen.secret"),
        (lambda c: c.decryptor.decrypt([1]), DtypeError, "got list; give one bfv.Ciphertext; decrypt_many takes lists"),
        (lambda c: c.encryptor.encrypt([[1, 2], [3]]), ShapeError, "rows of different lengths"),
        (lambda c: c.encryptor.encrypt([]), ShapeError, "no values"),
        (lambda c: c.encryptor.encrypt([10**30]), RangeError, "more than 64 bits; reduce"),
        (lambda c: c.encryptor.encrypt(1) + None, DtypeError, "got NoneType; a BFV operand"),
        (lambda c: c.encryptor.encrypt(1) / 2, TypeError, r"no quotients; multiply by pow\(n, -1, 120833\)"),
        (lambda c: c.encryptor.encrypt(1) ** 0, RangeError, r"x\*\*0 is the number 1"),
        (lambda c: c.encryptor.encrypt(1) ** 0.5, DtypeError, "exponent is 0.5, a float"),
        (lambda c: c.encryptor.encrypt(1).rotate(1.5), DtypeError, "steps is 1.5, a float"),
        (lambda c: c.encryptor.encrypt(1).rotate(2), MissingKeyError, r"make it with KeyGenerator.galois_keys\(steps=\[2\]\)"),
        (lambda c: c.encryptor.encrypt(1).rotate_many(3), DtypeError, "give a list of whole numbers"),
        (lambda c: c.keygen.evaluation_keys(steps="12"), DtypeError, "give a list of whole numbers"),
        (lambda c: c.evaluator.mod_switch(c.encryptor.encrypt(1), "1"), DtypeError, "level is '1', a str"),
        (lambda c: bfv.ciphertexts_to_bytes([1]), DtypeError, "'0': got int; give a bfv.Ciphertext"),
        (lambda c: bfv.ciphertexts_to_bytes({}), ShapeError, "at least one"),
        (lambda c: bfv.load_ciphertexts("x", c.evaluator), DtypeError, "the parameters: got bfv.Evaluator; give bfv.Par"),
        (lambda c: bfv.Parameters.choose(depth=1, ring_degree=5000, plain_bits=17), RangeError, "5000 is not a power of two"),
        (lambda c: bfv.Parameters.choose(plain_bits=17, depth="2"), DtypeError, "depth is '2'"),
        (lambda c: bfv.Parameters.choose(depth=1, plain_bits=17.5), DtypeError, "plain_bits is 17.5"),
        (lambda c: bfv.Parameters.choose(depth=1, plain_bits=17, security_bits=100), RangeError, "choose one of 128, 192, 256"),
        (lambda c: bfv.Parameters.choose(depth=1, ring_degree=8192, plain_modulus=65536), RangeError, "65537 and 114689 are the nearest"),
        (lambda c: bfv.Parameters.choose(depth=1, plain_modulus=257), RangeError, "257 is not a prime that is 1 modulo 2N"),
        (lambda c: bfv.Parameters(4096, [60], p_bits=[49], plain_bits=17), RangeError, "at most 49 bits"),
        (lambda c: bfv.Parameters(4096, [40], p_bits=[], plain_bits=17), RangeError, r"p_bits=\[\]"),
        (lambda c: bfv.Parameters.of_chain(replace(c.parameters.chain, primes=(15,) * 5)), RangeError,
         "prime 15 is not 1 modulo 2N"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do_and_where(case, wrong, error, text):
    with pytest.raises(error, match=HERE + ".*" + text):
        wrong(case)


@pytest.mark.parametrize("exponent", [1, 2, 3, 5])
def test_powers(case, exponent):
    x = np.arange(-512, 512).reshape(2, 512)
    expected = np.array([[pow(int(v), exponent, case.t) for v in row] for row in x], dtype=np.uint64)
    power = case.encryptor.encrypt(x) ** exponent
    np.testing.assert_array_equal(case.decryptor.decrypt(power, np.uint64), expected)


def test_nothing_secret_is_printed(case):
    assert repr(case.keygen.secret_key()) == "SecretKey(bfv, N=2^10, hidden)"
    assert repr(case.keys).startswith("EvaluationKeys(bfv, N=2^10, relinearisation, 4 Galois keys, ")
