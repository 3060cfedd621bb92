"""Parameters with num_special=0: Q alone counts, what needs no key computes, and an evaluation key is made by no route."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework import _core, bfv, ckks
from latticework.errors import (
    FormatError,
    LevelError,
    MissingKeyError,
    ParameterMismatchError,
    RangeError,
    SecurityError,
    UserError,
)
from latticework.plan.files.check_file import check_chain
from latticework.plan.files.serialise import read_client, write_client
from latticework.plan.parameters.bootstrap_chain import bootstrap_chain
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.parameters.modulus_chain import Gadget
from latticework.values.packing.key_manifest import KeySpec

RING = 2**12
REAL = ckks.Parameters(RING, [36, 35, 34.9], scale_bits=34, num_special=0)
EXACT = bfv.Parameters(RING, [36, 35, 35], plain_bits=17, num_special=0)
TWINS = {  # the same primes of Q, and special ones
    REAL: ckks.Parameters(RING, primes=REAL.primes, scale_bits=34, num_special=1, insecure=True),
    EXACT: bfv.Parameters(RING, primes=EXACT.primes, plain_bits=17, num_special=1, insecure=True),
}
SCHEMES = pytest.mark.parametrize(("module", "keyless"), [(ckks, REAL), (bfv, EXACT)], ids=["ckks", "bfv"])
NO_KEYS = r"have no special primes \(num_special=0\).* make parameters with num_special=1 or more"
RELIN = KeySpec("relin", 0, 0, 2)


@lw.program
def turned(x: lw.Secret[16]):
    return np.roll(x, 1)


# -- what is secure ----------------------------------------------------------------------------------------------------


@SCHEMES
def test_the_modulus_of_ciphertexts_alone_counts(module, keyless):
    assert 105.8 < keyless.log2_q == keyless.log2_qp <= keyless.limit_bits == 106
    assert keyless.special == () and keyless.num_digits == 0 and not keyless.is_insecure
    sizes = {"scale_bits": 30} if module is ckks else {"plain_bits": 17}
    with pytest.raises(SecurityError, match=r"log2\(Q\) = 107\.0, .* at N=4096 allows at most 106 \(1\.0 too many\)"):
        module.Parameters(RING, [36, 36, 35], num_special=0, **sizes)
    assert module.Parameters(RING, [36, 36, 35], num_special=0, insecure=True, **sizes).is_insecure
    with pytest.raises(SecurityError, match=r"log2\(QP\) = 1.*or num_special=0 where no evaluation key is needed"):
        module.Parameters(RING, [36, 35, 34.9], **sizes)
    with pytest.raises(SecurityError, match=r"log2\(Q\) = 10\d\.\d.*ternary secrets of weight 64 at N=4096"):
        module.Parameters(RING, [36, 35, 34.9], num_special=0, secret_weight=64, **sizes)
    forged = replace(module.Parameters(RING, [36, 36, 35], num_special=0, insecure=True, **sizes).chain, insecure=False)
    with pytest.raises(SecurityError, match="they were altered"):
        module.Parameters.of_chain(forged)


def test_thirty_bits_three_times_are_secure():
    assert ckks.Parameters(RING, [30, 30, 30], scale_bits=28, num_special=0).log2_qp == pytest.approx(90, abs=0.1)


@SCHEMES
@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"num_digits": 2}, RangeError, "num_digits=2 with num_special=0"),
        ({"special_below": {0: 1}}, RangeError, "special_below: num_special=0 leaves no evaluation keys"),
        ({"p_bits": [40]}, RangeError, "p_bits has 1 entries, num_special is 0"),
        ({"special": REAL.primes[:1]}, RangeError, "give special, or p_bits or num_special"),
        ({"num_special": -1}, RangeError, "num_special=-1"),
        ({"num_special": False}, RangeError, "num_special=False"),
        ({"num_special": 0.0}, RangeError, "num_special=0.0"),
        ({"num_special": None, "p_bits": []}, (LevelError, RangeError), "p_bits"),
    ],
)
def test_options_that_contradict_it(module, keyless, options, error, text):
    sizes = {"scale_bits": 30} if module is ckks else {"plain_bits": 17}
    with pytest.raises(error, match=text):
        module.Parameters(RING, [36, 35, 34.9], **{"num_special": 0, **sizes, **options})


# -- what computes -----------------------------------------------------------------------------------------------------


def ckks_results(parameters, public):
    """Bytes of what a key-less set computes, with the values that they decrypt to and those of NumPy."""
    generator = ckks.KeyGenerator(parameters, insecure_seed=1)
    secret = generator.secret_key()
    evaluator = ckks.Evaluator(parameters)
    encryptor = ckks.Encryptor(parameters, generator.public_key() if public else secret, insecure_seed=2)
    rng = np.random.default_rng(3)
    a, b, w = rng.uniform(-1, 1, (3, RING // 2))
    x, y = encryptor.encrypt(a), encryptor.encrypt(b)
    product = evaluator.mul(x, y)
    low = evaluator.rescale(product)
    results = [
        (evaluator.sub(evaluator.add(x, y), w), a + b - w),
        (evaluator.rescale(evaluator.mul_plain(x, w)), a * w),
        (evaluator.mul_int(evaluator.neg(x), 3), -3 * a),
        (product, a * b),
        (evaluator.add(product, evaluator.square(x)), a * b + a * a),
        (evaluator.rescale(evaluator.mul_plain(low, w)), a * b * w),
        (evaluator.mod_switch(x, 0), a),
    ]
    decryptor = ckks.Decryptor(parameters, secret)
    return [(c.to_bytes(), c.degree, decryptor.decrypt(c, float), wanted) for c, wanted in results]


@pytest.mark.parametrize("public", [False, True], ids=["secret", "public"])
def test_real_slots_are_those_of_numpy_and_bytes_those_of_the_reference(public):
    marked = REAL.mark_insecure()
    found = ckks_results(marked, public)
    for data, degree, got, wanted in found:
        np.testing.assert_allclose(got, wanted, atol=5e-4)
        assert ckks.Ciphertext.from_bytes(data, marked).degree == degree
    for backend in ("ref", "cpu", "sim"):
        assert [r[0] for r in ckks_results(marked.on(backend=backend), public)] == [r[0] for r in found]


def bfv_results(parameters, public):
    generator = bfv.KeyGenerator(parameters, insecure_seed=1)
    secret = generator.secret_key()
    evaluator = bfv.Evaluator(parameters)
    encryptor = bfv.Encryptor(parameters, generator.public_key() if public else secret, insecure_seed=2)
    a, b, w = np.random.default_rng(3).integers(-200, 200, (3, 2, RING // 2))
    x, y = encryptor.encrypt(a), encryptor.encrypt(b)
    product = evaluator.mul(x, y)
    results = [
        (evaluator.sub(evaluator.add(x, y), w), a + b - w),
        (evaluator.mul_plain(x, w), a * w),
        (product, a * b),
        (evaluator.add(product, evaluator.square(x)), a * b + a * a),
        (evaluator.mod_switch(product, 1), a * b),
    ]
    decryptor = bfv.Decryptor(parameters, secret)
    t = parameters.plain_modulus
    return [(c.to_bytes(), decryptor.decrypt(c) % t, wanted % t) for c, wanted in results]


@pytest.mark.parametrize("public", [False, True], ids=["secret", "public"])
def test_integers_are_those_of_numpy_and_bytes_those_of_the_reference(public):
    marked = EXACT.mark_insecure()
    found = bfv_results(marked, public)
    for _, got, wanted in found:
        np.testing.assert_array_equal(got, wanted)
    for backend in ("ref", "cpu", "sim"):
        assert [r[0] for r in bfv_results(marked.on(backend=backend), public)] == [r[0] for r in found]


def test_noise_is_as_predicted():
    generator, model = bfv.KeyGenerator(EXACT), bfv.NoiseModel(EXACT)
    decryptor, evaluator = bfv.Decryptor(EXACT, generator.secret_key()), bfv.Evaluator(EXACT)
    for key, is_public in ((generator.public_key(), True), (generator.secret_key(), False)):
        x = bfv.Encryptor(EXACT, key).encrypt(np.arange(99))
        fresh = model.fresh(public_key=is_public)
        assert decryptor.noise_budget(x) == pytest.approx(model.budget(fresh), abs=2)
        assert decryptor.noise_budget(x) >= model.worst_budget(fresh)
        square = model.mul(fresh, fresh, relinearized=False)
        assert decryptor.noise_budget(evaluator.square(x)) == pytest.approx(model.budget(square), abs=2)
    with pytest.raises(MissingKeyError, match=NO_KEYS):
        model.mul(fresh, fresh)
    real = ckks.KeyGenerator(REAL)
    values = np.random.default_rng(1).uniform(-1, 1, RING // 2)
    for key, is_public in ((real.public_key(), True), (real.secret_key(), False)):
        x = ckks.Encryptor(REAL, key).encrypt(values)
        error = np.abs(ckks.Decryptor(REAL, real.secret_key()).decrypt(x, float) - values)
        bound = ckks.Estimator(REAL).fresh(1.0, ciphertext=x, public_key=is_public).core.bound
        assert bound.average / 2 < np.sqrt(np.mean(error**2)) < 2 * bound.average and error.max() < bound.worst


# -- files -------------------------------------------------------------------------------------------------------------


@SCHEMES
def test_files_come_back_and_are_of_this_set_alone(module, keyless, tmp_path):
    twin = TWINS[keyless]
    keyless.save(tmp_path / "set")
    again = module.Parameters.load(tmp_path / "set")
    assert again == keyless == module.Parameters.from_bytes(keyless.to_bytes())
    assert again.fingerprint == keyless.fingerprint != twin.fingerprint and again.to_bytes() == keyless.to_bytes()
    assert twin.primes == keyless.primes and twin != keyless
    core = core_parameters(keyless.chain)
    assert list(core.p) == [] and _core.Parameters.from_cbor(core.to_cbor()).fingerprint == core.fingerprint
    generator = module.KeyGenerator(again)
    secret = module.SecretKey.from_bytes(generator.secret_key().to_bytes(), keyless)
    public = module.PublicKey.from_bytes(generator.public_key().to_bytes(), keyless)
    sent = module.Encryptor(keyless, public).encrypt([1, 2]).to_bytes()
    got = module.Decryptor(keyless, secret).decrypt(module.Ciphertext.from_bytes(sent, again))
    np.testing.assert_allclose(np.ravel(got)[:2].real, [1, 2], atol=1e-3)
    for kind, data in (
        (module.SecretKey, secret.to_bytes()),
        (module.PublicKey, public.to_bytes()),
        (module.Ciphertext, sent),
    ):
        with pytest.raises(ParameterMismatchError):
            kind.from_bytes(data, twin)
    marked = keyless.mark_insecure()
    assert public.residues().shape == (2, 3, RING)
    made = module.PublicKey.from_residues(public.residues(), marked, key_set=secret.key_set)
    assert (made.residues() == public.residues()).all()


def test_the_summary_says_so():
    assert "evaluation key       none  without special primes" in REAL.summary()


# -- the adversary: an evaluation key by any route ---------------------------------------------------------------------


@SCHEMES
def test_no_generator_makes_one(module, keyless):
    other = {"conjugate": True} if module is ckks else {"swap_rows": True}
    for parameters in (keyless, keyless.mark_insecure(), module.Parameters.from_bytes(keyless.to_bytes())):
        generator = module.KeyGenerator(parameters)
        for who, ask in (
            ("relin_key", generator.relin_key),
            ("relin_key", lambda g=generator: g.relin_key(level=0)),
            ("galois_keys", lambda g=generator: g.galois_keys([1])),
            ("galois_keys", lambda g=generator: g.galois_keys(**other)),
            ("evaluation_keys", generator.evaluation_keys),
            ("evaluation_keys", lambda g=generator: g.evaluation_keys(relin=False, required=[RELIN])),
        ):
            with pytest.raises(MissingKeyError, match=f"{who}: .*{NO_KEYS}"):
                ask()


@SCHEMES
@pytest.mark.parametrize("kind", ["relin", "galois", "to_sparse", "to_dense"])
def test_no_function_of_the_core_makes_one(module, keyless, kind, tmp_path):
    context = keyless.context
    core = _core.KeyGenerator(context)
    secret = core.secret_key()
    spec = {"kind": kind, "galois_element": 5 if kind == "galois" else 0, "track": 0, "level": 0}
    refused = pytest.raises(ValueError, match="no special primes, and so no evaluation keys")
    with refused:
        core.evaluation_keys(secret, [spec], None)
    with refused:
        _core.UnfinishedKeys(tmp_path / "keys", secret.key_set, [spec], context, False)
    with refused:
        _core.key_limbs(context, spec)
    with refused:
        _core.evaluation_keys_from_residues(context, [spec], [np.zeros((2, 3, RING), np.uint64)], True, bytes(16))
    assert not list(tmp_path.iterdir())


@SCHEMES
def test_keys_of_the_set_with_special_primes_do_not_fit(module, keyless):
    twin = TWINS[keyless]
    keys = module.KeyGenerator(twin).evaluation_keys(steps=[1])
    with pytest.raises(ParameterMismatchError):
        module.Evaluator(keyless, keys)
    with pytest.raises(MissingKeyError, match=NO_KEYS):
        module.EvaluationKeys.from_bytes(keys.to_bytes(), keyless)
    with pytest.raises(MissingKeyError, match=NO_KEYS):
        residues = {spec: keys.residues(spec) for spec in keys.specs}
        module.EvaluationKeys.from_residues(residues, keyless.mark_insecure(), key_set=keys.key_set)
    with pytest.raises(ParameterMismatchError):
        module.KeyGenerator(twin, module.KeyGenerator(keyless).secret_key())
    reader = _core.ContainerReader(keys.to_bytes(), kinds=[_core.FileKind.EVALUATION_KEYS])
    sections = [(reader.section_kind(i), reader.section(i)) for i in range(reader.num_sections)]
    forged = _core.write_container(None, int(reader.kind), keyless.fingerprint, reader.header, sections)
    with pytest.raises(FormatError, match="no special primes"):
        _core.load_evaluation_keys(forged, keyless.context)


def test_no_chain_without_special_primes_has_digits_or_gadgets():
    chain, twin = REAL.chain, TWINS[REAL].chain
    low = twin.special
    gadget = Gadget(1, 1, ((0,),))
    for forged in (
        replace(chain, digits=((0, 1, 2),)),
        replace(chain, low_special=low, gadgets=(gadget,)),
        replace(chain, gadgets=(Gadget(1, 0, ((0,),)),)),
        replace(chain, low_special=low),
        replace(twin, digits=()),
    ):
        with pytest.raises(RangeError, match="parameters: "):
            ckks.Parameters.of_chain(forged)


# -- what needs them ---------------------------------------------------------------------------------------------------


def test_operations_with_keys_are_refused_by_name():
    generator, evaluator = ckks.KeyGenerator(REAL), ckks.Evaluator(REAL)
    x = ckks.Encryptor(REAL, generator.secret_key(), evaluator=evaluator).encrypt([0.5, 0.25])
    product = x * x
    estimated = ckks.Estimator(REAL)
    fresh = estimated.fresh(1.0)
    for who, ask in {
        "rotate": lambda: evaluator.rotate(x, 1),
        "rotate_many": lambda: evaluator.rotate_many(x, [1]),
        "conjugate": lambda: evaluator.conjugate(x),
        "relinearize": lambda: evaluator.relinearize(product),
        "relinearize: ": lambda: product * x,
        "inner_sum": lambda: evaluator.inner_sum(x),
        "linear_transform": lambda: evaluator.linear_transform(x, np.eye(2)),
        "polynomial": lambda: evaluator.polynomial(x, ckks.Polynomial([0, 1, 1])),
        "bootstrap": lambda: evaluator.bootstrap(x, ckks.Bootstrapper("T11")),
        "polynomial: required_keys": lambda: ckks.Polynomial([0, 1, 1]).required_keys(REAL),
        "bootstrap: required_keys": lambda: ckks.Bootstrapper("T11").required_keys(REAL),
        "Bootstrapper": lambda: ckks.Bootstrapper(REAL),
        "key_bytes": REAL.key_bytes,
        "rotate: ": lambda: estimated.rotate(fresh, 1),
        "relinearize: Parameters": lambda: estimated.relinearize(estimated.mul(fresh, fresh)),
        "bootstrap: Parameters": lambda: estimated.run(ckks.Bootstrapper("T11"), fresh),
    }.items():
        with pytest.raises(MissingKeyError, match=f"{who}.*{NO_KEYS}"):
            ask()
    server = bfv.Evaluator(EXACT)
    y = bfv.Encryptor(EXACT, bfv.KeyGenerator(EXACT).secret_key(), evaluator=server).encrypt([3, 4])
    for ask in (
        lambda: server.swap_rows(y),
        lambda: server.mul_relin(y, y),
        lambda: server.inner_sum(y),
        lambda: y**3,
        lambda: (y * y).rotate(1),
    ):
        with pytest.raises(MissingKeyError, match=NO_KEYS):
            ask()


def test_files_and_models_that_ask_for_keys_of_such_a_set_are_refused():
    model = lw.compile(turned)
    chain = replace(model.plan.chain, special=(), digits=())
    client = replace(model.plan.client, chain=chain)
    assert client.manifest.uses
    with pytest.raises(FormatError, match="it asks for 1 evaluation keys, and its parameters have no special primes"):
        read_client(write_client(client))
    plan = replace(model.plan, client=client)
    with pytest.raises(UserError, match="given as like= has no special primes"):
        lw.compile(turned, like=lw.Model(plan))
    chain = replace(bootstrap_chain("T11"), special=(), digits=(), low_special=(), gadgets=())
    with pytest.raises(FormatError, match="it bootstraps, and its parameters have no special primes"):
        check_chain(chain)
    with pytest.raises(MissingKeyError, match=NO_KEYS):
        ckks.Bootstrapper(ckks.Parameters.of_chain(chain))
