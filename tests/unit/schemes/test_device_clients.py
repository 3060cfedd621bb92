"""Encoding, encryption and decryption on a simulated device: the bytes of the host, fresh randomness, and no key there
that was not asked for."""

import gc
import itertools

import numpy as np
import pytest
from devices_here import KINDS

from latticework import _core, bfv, ckks
from latticework.errors import DeviceError, ParameterMismatchError, RangeError, ShapeError, UserError
from latticework.runtime.devices.device import Device

PARAMETERS = ckks.Parameters(1024, [40, 30, 30], scale_bits=30, insecure=True)
TOP = (0, PARAMETERS.levels)
SCALE = 2.0**30
on_each = pytest.mark.parametrize("device_kind", KINDS)  # whose names are those of devices
SEED = bytes(range(32))  # of tests, from which host and device draw in one order
BFV = bfv.Parameters(1024, [45, 45, 45], plain_bits=16, insecure=True)


@pytest.fixture(scope="module")
def generator():
    return ckks.KeyGenerator(PARAMETERS)


@pytest.fixture
def device():
    found = _core.SimulatedDevice("sim")
    gc.collect()
    _core.settle_device("sim", 0)
    found.reset_counters()
    yield found
    for demand in (found.fail_allocations, found.fail_launches, found.fail_copies):
        demand(0, 0)
    found.lose(0)
    found.forget_failure()


def key_of(generator, kind):
    return generator.secret_key() if kind == "secret" else generator.public_key()


def stored(ciphertext) -> bytes:
    return bytes(_core.save_ciphertexts(None, [ciphertext], ["0"], {}))


def vectors(count, slots, is_real=True):
    random = np.random.default_rng(slots)
    values = random.normal(size=(count, slots))
    return values if is_real else values + 1j * random.normal(size=(count, slots))


def on_host(parameters, key, values, level=TOP, scale=SCALE):
    """Ciphertexts by the host, with SEED."""
    encoder, encryptor = _core.Encoder(parameters.context), _core.Encryptor(parameters.context, key.core, SEED)
    return [encryptor.encrypt(encoder.encode(x, level, scale)) for x in values]


def there(parameters, key, values, place, level=TOP, scale=SCALE, **options):
    """The same on a device."""
    at = parameters._at(place)
    numbers = values.view(np.float64), values.dtype == np.float64
    encryptor = _core.DeviceEncryptor(at.context, key.core, SEED)
    return encryptor.encrypt(at._device_encoder, *numbers, level, scale, **options)


@on_each
@pytest.mark.parametrize("arithmetic", ["fp64", "u64"])
@pytest.mark.parametrize("kind", ["secret", "public"])
@pytest.mark.parametrize(("slots", "is_real", "level"), [(1, True, 2), (64, False, 1), (512, True, 0)])
def test_bytes_are_those_of_the_host(generator, device_kind, arithmetic, kind, slots, is_real, level):
    """Of ciphertexts for the same seeds, and of what is decrypted from them."""
    place, key, values = Device(device_kind, arithmetic=arithmetic), key_of(generator, kind), vectors(3, slots, is_real)
    wanted = on_host(PARAMETERS, key, values, (0, level), 2.0**20)
    found = there(PARAMETERS, key, values, place, (0, level), 2.0**20)
    assert [stored(x) for x in found] == [stored(x) for x in wanted]
    at, secret = PARAMETERS._at(place), generator.secret_key().core
    numbers = _core.DeviceDecryptor(at.context, secret).decrypt(at._device_encoder, found, is_real)
    host = np.array([_core.Decryptor(PARAMETERS.context, secret).decrypt(x) for x in wanted])
    np.testing.assert_array_equal(numbers if is_real else numbers.view(np.complex128), host.real if is_real else host)


@on_each
def test_bytes_of_many_slots_are_those_of_the_host(device_kind):
    """More slots than a block has room for: some stages are kernels of their own."""
    parameters = ckks.Parameters(1 << 14, [40], scale_bits=30).mark_insecure()
    generator = ckks.KeyGenerator(parameters)
    key, values, level = generator.secret_key(), vectors(1, 1 << 13, is_real=True), (0, 0)
    wanted = on_host(parameters, key, values, level)
    found = there(parameters, key, values, Device(device_kind), level)
    assert stored(found[0]) == stored(wanted[0])
    at = parameters._at(Device(device_kind))
    for is_real in (True, False):
        numbers = _core.DeviceDecryptor(at.context, key.core).decrypt(at._device_encoder, found, is_real)
        host = np.array(_core.Decryptor(parameters.context, key.core).decrypt(wanted[0]))
        np.testing.assert_array_equal(numbers[0] if is_real else numbers[0].view(np.complex128),
                                      host.real if is_real else host)  # fmt: skip


@pytest.mark.parametrize("kind", ["secret", "public"])
def test_neither_order_nor_parts_of_a_batch_change_bytes(generator, kind):
    key, values = key_of(generator, kind), vectors(5, 8)
    wanted = [stored(x) for x in there(PARAMETERS, key, values, Device("sim"))]
    for most in (1, 2, 4):  # and so on two queues
        assert [stored(x) for x in there(PARAMETERS, key, values, Device("sim"), most_at_once=most)] == wanted
    assert stored(there(PARAMETERS, key, values[:1].copy(), Device("sim"))[0]) == wanted[0]


def test_products_are_at_the_secret_too(generator):
    """Degree 2, at two levels and scales in one list, in its order."""
    evaluator = ckks.Evaluator(PARAMETERS)
    x, y = (ckks.Encryptor(PARAMETERS, generator.secret_key()).encrypt(v) for v in vectors(2, 16))
    product = evaluator.mul(x, y)
    some = [product, x, evaluator.mod_switch(y), y, evaluator.mul(evaluator.mod_switch(x), evaluator.mod_switch(y))]
    host = ckks.Decryptor(PARAMETERS, generator.secret_key()).decrypt_many(some)
    found = ckks.Decryptor(PARAMETERS, generator.secret_key(), device="sim").decrypt_many(some)
    assert product.degree == 2
    for a, b in zip(found, host, strict=True):
        np.testing.assert_array_equal(a, b)


def test_no_randomness_comes_twice(generator, device):
    """In a batch, in the next one, and after the device failed in between: c1 and c0 all differ, for one message."""
    same = np.ones((6, 4))
    for kind, seed in itertools.product(("secret", "public"), (None, 1)):
        encryptor = ckks.Encryptor(PARAMETERS, key_of(generator, kind), device="sim", insecure_seed=seed)
        made = encryptor.encrypt_many(same)
        texts = [stored(x.core) for x in made + encryptor.encrypt_many(same)]
        device.fail_launches(3, 1)
        with pytest.raises(DeviceError):
            encryptor.encrypt_many(same)
        device.fail_launches(0, 0)
        device.forget_failure()
        texts += [stored(x.core) for x in encryptor.encrypt_many(same)]
        bodies = [text[-4096:] for text in texts]
        assert len(set(texts)) == len(set(bodies)) == 18


@pytest.mark.parametrize("kind", ["secret", "public"])
def test_a_device_that_fails_gives_no_ciphertext(generator, device, kind):
    """Whichever call fails, of each kind: an error, and then ciphertexts that are right."""
    key, decryptor = key_of(generator, kind), ckks.Decryptor(PARAMETERS, generator.secret_key())
    encryptor = ckks.Encryptor(PARAMETERS, key, device="sim")
    for demand in (device.fail_launches, device.fail_copies):
        for number in range(1, 30):
            encryptor.encrypt(np.ones(4))  # with what is made at first
            demand(number, 1)
            try:
                found = decryptor.decrypt_many(encryptor.encrypt_many(np.ones((2, 4))), dtype=float)
            except DeviceError:  # of the call itself, or of whoever uses what is lost since
                device.forget_failure()
                continue
            np.testing.assert_allclose(found, 1, atol=1e-3)
            demand(0, 0)
            break
        assert number > 2
        encryptor = ckks.Encryptor(PARAMETERS, key, device="sim")


def test_a_key_goes_to_a_device_only_where_it_is_asked_for(generator, device):
    """Bytes that go up: none of the keys on the host's way, and those of the secret key once."""
    there, key = PARAMETERS.on(device="sim"), generator.secret_key()
    ckks.Encryptor(there, key).encrypt(np.ones(4))  # with tables of the ring
    device.reset_counters()
    x = ckks.Encryptor(there, key).encrypt(np.ones(4))
    ckks.Decryptor(there, key).decrypt(x)
    moved = device.counters()["bytes_up"]
    assert moved < 1.1 * x.num_bytes  # the ciphertext alone
    device.reset_counters()
    encryptor = ckks.Encryptor(there, key, device="sim")
    assert device.counters()["bytes_up"] == 8 * PARAMETERS.ring_degree
    encryptor.encrypt_many(np.ones((8, 4)))
    assert device.counters()["bytes_up"] < 8 * PARAMETERS.ring_degree + 8 * (64 + 32 + 16)
    device.reset_counters()
    public = ckks.Encryptor(there, generator.public_key(), device="sim")
    public.encrypt_many(np.ones((2, 4)))
    assert device.counters()["bytes_up"] < 1.1 * generator.public_key().num_bytes


def test_secrets_are_overwritten_when_they_are_dropped(generator, device):
    """As many words are set to zero as a key and its form have, before they can be anybody's."""
    encryptor = ckks.Encryptor(PARAMETERS, generator.secret_key(), device="sim")
    encryptor.encrypt(np.ones(4))
    _core.settle_device("sim", 0)
    device.reset_counters()
    del encryptor
    gc.collect()
    assert device.counters()["launches"] == {"fp64_monomial": 2}  # which the ring zeroes limbs by


def test_launches_do_not_grow_with_a_batch(generator, device):
    counts = []
    encryptor = ckks.Encryptor(PARAMETERS, generator.secret_key(), device="sim")
    decryptor = ckks.Decryptor(PARAMETERS, generator.secret_key(), device="sim")
    for count in (1, 1, 20):  # tables at first
        device.reset_counters()
        decryptor.decrypt_many(encryptor.encrypt_many(vectors(count, 16)), dtype=float)
        counts.append(device.counters())
    one, many = (sum(found["launches"].values()) for found in counts[1:])
    assert one == many <= 16
    assert counts[2]["host_waits"] == counts[1]["host_waits"] <= 3


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_what_the_host_refuses_is_refused(generator, device):
    """Of a batch with one wrong row, by the same words."""
    encryptor = ckks.Encryptor(PARAMETERS, generator.secret_key(), device=device)
    rows = np.ones((3, 4))
    rows[1, 2] = np.nan
    with pytest.raises(RangeError, match="1 of 4 values are NaN or infinite"):
        encryptor.encrypt_many(rows)
    rows[1, 2] = 2.0**40
    with pytest.raises(RangeError, match="need coefficients of 2\\^62 or more"):
        encryptor.encrypt_many(rows)
    with pytest.raises(RangeError, match="do not fit the modulus"):
        encryptor.encrypt_many(np.full((2, 4), 2.0**12), level=0)
    with pytest.raises(ShapeError, match="3 values; a vector has 1, 2, 4"):
        encryptor.encrypt_many(np.ones((2, 3)))
    with pytest.raises(UserError, match="a Plaintext has its level and scale"):
        encryptor.encrypt(ckks.Encoder(PARAMETERS).encode([1.0]), level=1)


def test_a_number_that_is_too_large_is_found_on_the_device_too(generator):
    """If nobody looked at it before."""
    for wrong in (np.nan, np.inf, 2.0**40):
        values = np.ones((2, 4))
        values[1, 3] = wrong
        with pytest.raises(RangeError, match="not finite, or too large"):
            there(PARAMETERS, generator.secret_key(), values, Device("sim"))


def test_other_keys_and_parameters_are_refused(generator):
    other = ckks.KeyGenerator(PARAMETERS)
    ours, theirs = (ckks.Encryptor(PARAMETERS, g.secret_key(), device="sim").encrypt([1.0]) for g in (generator, other))
    decryptor = ckks.Decryptor(PARAMETERS, generator.secret_key(), device="sim")
    with pytest.raises(ParameterMismatchError, match="the key that it was encrypted for"):
        decryptor.decrypt_many([ours, theirs])
    short = ckks.Parameters(1024, [40, 30], scale_bits=30, insecure=True)
    foreign = ckks.Encryptor(short, ckks.KeyGenerator(short).secret_key()).encrypt([1.0])
    with pytest.raises(ParameterMismatchError):
        decryptor.decrypt_many([ours, foreign])
    with pytest.raises(ParameterMismatchError):
        ckks.Encryptor(PARAMETERS, ckks.KeyGenerator(short).secret_key(), device="sim")
    with pytest.raises(UserError, match="give parameters of the host, or the same"):
        ckks.Encryptor(PARAMETERS.on(device="sim:1"), generator.secret_key(), device="sim")


def test_mixed_lists_keep_their_order(generator):
    """Vectors of several lengths, and plaintexts of several levels; results are for the device."""
    encoder = ckks.Encoder(PARAMETERS)
    plain = [encoder.encode([3.0], level=1), encoder.encode([4.0, 5.0])]
    for key in (generator.secret_key(), generator.public_key()):
        encryptor = ckks.Encryptor(PARAMETERS, key, device="sim")
        some = encryptor.encrypt_many([[1.0, 2.0], plain[0], 2j, np.ones(8), plain[1], [6.0, 7.0]])
        assert {x.device for x in some} == {"sim:0"}
        assert [x.level for x in some] == [2, 1, 2, 2, 2, 2]
        found = ckks.Decryptor(PARAMETERS, generator.secret_key(), device="sim").decrypt_many(some)
        for got, wanted in zip(found, [[1, 2], [3], [2j], [1] * 8, [4, 5], [6, 7]], strict=True):
            np.testing.assert_allclose(got, wanted, atol=1e-2)


def test_plaintexts_are_encoded_on_their_device():
    there = PARAMETERS.on(device="sim")
    trivial = _core.Evaluator(there.context).trivial(ckks.Encoder(there).encode(vectors(1, 64)[0], 1).core)
    wanted = _core.Evaluator(PARAMETERS.context).trivial(ckks.Encoder(PARAMETERS).encode(vectors(1, 64)[0], 1).core)
    assert stored(trivial) == stored(wanted)


@on_each
def test_integers_have_the_bytes_of_the_host(device_kind):
    generator = bfv.KeyGenerator(BFV)
    rows = [np.arange(8) + i for i in range(3)]
    plain = [bfv.Encoder(BFV).encode(row) for row in rows]
    there = BFV._at(Device(device_kind))
    for key in (generator.secret_key(), generator.public_key()):
        by_host = _core.Encryptor(BFV.context, key.core, SEED)
        host = [by_host.encrypt(p._as_addend(BFV.levels)) for p in plain]
        moved = [p._at(Device(device_kind))._as_addend(BFV.levels) for p in plain]
        found = _core.DeviceEncryptor(there.context, key.core, SEED).encrypt_plaintexts(moved)
        assert [stored(x) for x in found] == [stored(x) for x in host]
        some = bfv.Encryptor(BFV, key, device=device_kind).encrypt_many(rows)
        decryptor = bfv.Decryptor(BFV, generator.secret_key(), device=device_kind)
        for got, row in zip(decryptor.decrypt_many(some), rows, strict=True):
            np.testing.assert_array_equal(got[0, :8], row)
        budget = bfv.Decryptor(BFV, generator.secret_key()).noise_budget(some[0])
        assert decryptor.noise_budget(some[0]) == budget > 2
