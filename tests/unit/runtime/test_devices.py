"""Values, evaluators and servers on devices: what runs where, what is moved and when, and options of devices."""

import numpy as np
import pytest

import latticework as lw
from latticework import _core, bfv, ckks
from latticework.errors import DeviceError, ParameterMismatchError, UserError

PARAMETERS = ckks.Parameters(1024, [40, 30, 30, 30], scale_bits=30, insecure=True)
VALUES = np.linspace(-1, 1, 16)


@pytest.fixture(scope="module")
def generator():
    return ckks.KeyGenerator(PARAMETERS)


@pytest.fixture
def evaluator(generator):
    return ckks.Evaluator(PARAMETERS, generator.evaluation_keys(relin=True, steps=[1]))


@pytest.fixture
def x(generator, evaluator):
    return ckks.Encryptor(PARAMETERS, generator.secret_key(), evaluator=evaluator).encrypt(VALUES)


@pytest.fixture
def device():
    found = _core.SimulatedDevice("sim")
    found.reset_counters()
    yield found
    found.fail_allocations(0, 0)
    found.fail_launches(0, 0)


def test_a_mark_moves_nothing(x, device):
    y = x.gpu("sim")
    assert (x.device, y.device, y.cpu().device) == ("cpu", "sim:0", "cpu")
    assert device.counters()["bytes_up"] == 0


def test_an_operation_runs_where_an_operand_is_to_be(x, generator, device):
    y = x.gpu("sim")
    z = (y * x + 0.5).rotate(1) - np.ones(16)
    assert z.device == "sim:0"
    assert device.counters()["launches"]["fp64_key_product"] == 2
    assert z.to_bytes() == ((x * x + 0.5).rotate(1) - np.ones(16)).to_bytes()
    found = ckks.Decryptor(PARAMETERS, generator.secret_key()).decrypt(z, dtype=np.float64)
    np.testing.assert_allclose(found, np.roll(VALUES**2, -1) - 0.5, atol=1e-5)


def test_operands_are_brought_over_once(x, device):
    y = x.gpu("sim")
    (y + x).download()
    device.reset_counters()
    (y + x).download()
    (x.gpu("sim") + 0.25).download()  # another handle of the same value
    assert device.counters()["bytes_up"] < x.num_bytes


def test_results_come_back_when_they_are_asked_for(x, device):
    z = x.gpu("sim") * 2
    assert device.counters()["bytes_down"] < 1024  # a verdict, whether residues were reduced
    assert (z.device, z.download().device) == ("sim:0", "cpu")
    assert x.num_bytes * 1024 // 1032 <= device.counters()["bytes_down"] < x.num_bytes + 1024
    assert (z.cpu() + x).device == "cpu"
    assert (z.cpu() + x).to_bytes() == (x * 2 + x).to_bytes()


def test_two_devices_are_two_places(x):
    y = x.gpu("sim:1") * x
    assert y.device == "sim:1"
    with pytest.raises(UserError, match=r"test_devices\.py:\d+: .*different devices \(sim:0, sim:1\)"):
        y + x.gpu("sim:0")
    with pytest.raises(UserError, match=r"operands are for one device with different options \(sim:1\)"):
        y + x.gpu(lw.Device("sim:1", synchronous=True))
    assert (y.gpu("sim:0") + x).to_bytes() == (x * x + x).to_bytes()


def test_plaintexts_and_lists_are_placed_too(x, evaluator):
    encoder = ckks.Encoder(PARAMETERS)
    p = encoder.encode(VALUES)
    assert evaluator.mul_plain(x, p.gpu("sim")).device == "sim:0"
    np.testing.assert_allclose(encoder.decode(p.gpu("sim")), VALUES, atol=1e-6)
    assert [y.device for y in evaluator.add([x, x], [x.gpu("sim"), x])] == ["sim:0", "cpu"]
    assert [y.device for y in x.gpu("sim").rotate_many([0, 1])] == ["sim:0", "sim:0"]


def test_integers_on_a_device():
    parameters = bfv.Parameters.choose(depth=1, plain_bits=17, ring_degree=1024, insecure=True)
    generator = bfv.KeyGenerator(parameters)
    evaluator = bfv.Evaluator(parameters, generator.evaluation_keys(relin=True, steps=[1]))
    x = bfv.Encryptor(parameters, generator.secret_key(), evaluator=evaluator).encrypt(np.arange(8))
    p = bfv.Encoder(parameters).encode(np.full(8, 3))
    y = (x.gpu("sim") * x + 2).rotate(1) * p.gpu("sim") + p
    assert y.device == "sim:0"
    assert y.to_bytes() == ((x * x + 2).rotate(1) * p + p).to_bytes()


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        (
            "gpu",
            UserError,
            '\'gpu\' is no device; choose "cpu", "cuda", "sim", "sycl:cpu", "sycl:gpu", or one with its number',
        ),
        ("sim:x", UserError, "'sim:x' is no device"),
        (3, UserError, "3 is no device"),
        ("sim:7", DeviceError, "'sim:7': there are 2 of this kind, counted from 0"),
    ],
)
def test_what_is_no_device_is_refused(x, name, error, text):
    for place in (x.gpu, lambda name: PARAMETERS.on(device=name), lw.Device):
        with pytest.raises(error, match=text):
            place(name)


def test_options_of_devices_are_checked():
    with pytest.raises(UserError, match="arithmetic='f32'; choose one of auto, fp64, u64"):
        lw.Device("sim", arithmetic="f32")
    for option in ("cache", "synchronous"):
        with pytest.raises(UserError, match=f"{option}='no'; give True or False"):
            lw.Device("sim", **{option: "no"})
    with pytest.raises(UserError, match="memory='much' is not an amount of memory"):
        lw.Device("sim", memory="much")
    with pytest.raises(UserError, match="give one of them"):
        PARAMETERS.on(device="sim", backend="ref")
    assert PARAMETERS.on(device="sim").device == "sim:0"


def test_memory_is_bounded(x):
    small = x.gpu(lw.Device("sim", memory="6MB"))
    with pytest.raises(MemoryError, match=r"no memory .* lower the memory budget"):
        [small * x for _ in range(100)]


def test_without_a_cache_all_memory_is_new(x, device):
    for cache, allocations in ((True, False), (False, True)):
        place = lw.Device("sim", cache=cache)
        x.gpu(place) * x
        device.reset_counters()
        x.gpu(place) * x
        assert (device.counters()["allocations"] > 0) == allocations


def test_synchronous_errors_name_their_kernel(x, device):
    y = x.gpu(lw.Device("sim", synchronous=True))
    (y + x).download()
    device.fail_launches(1, 1)
    with pytest.raises(DeviceError, match=r"simulated GPU 0 \(device 0\): fp64_add: "):
        (y + x).download()


def test_values_of_a_device_that_failed_are_refused(generator, device):
    there = PARAMETERS.on(device="sim")
    encryptor = ckks.Encryptor(there, ckks.SecretKey.from_bytes(generator.secret_key().to_bytes(), there))
    x = encryptor.encrypt(VALUES)
    device.fail_launches(1, 1)
    with pytest.raises(DeviceError):
        (x + x).download()
    again = ckks.Evaluator(PARAMETERS.on(device="sim"))
    with pytest.raises((DeviceError, ParameterMismatchError), match="nothing computed on it since|before it failed"):
        again.add(x, x).download()


def test_a_device_that_failed_is_used_again(x, device):
    y = x.gpu("sim")
    device.fail_launches(1, 1)
    with pytest.raises(DeviceError):
        (y + x).download()
    assert (y + x).to_bytes() == (x + x).to_bytes()  # on memory that is brought there anew


@pytest.mark.parametrize("place", ["sim", lw.Device("sim:1", arithmetic="u64"), lw.Device("sim", synchronous=True)])
def test_servers_compute_the_same_bytes_on_a_device(place):
    @lw.program
    def program(x: lw.Secret[8], w):
        return (w @ x) ** 2

    rng = np.random.default_rng(1)
    data, w = rng.uniform(-1, 1, (16, 8)), rng.normal(size=(4, 8))
    model = lw.compile(program, weights=(w,), calibrate=data, ring_degree=2048, insecure=True)
    client = model.client()
    keys = client.keygen()
    inputs = client.encrypt(data[0])
    expected = model.server(keys.public())(inputs)
    server = model.server(keys.public(), device=place)
    assert server(inputs).to_bytes() == expected.to_bytes()
    np.testing.assert_allclose(client.decrypt(server(inputs)).reveal(), (w @ data[0]) ** 2, atol=1e-3)
    assert model.server(keys.public(), device=place, memory="1GB")(inputs).to_bytes() == expected.to_bytes()


def test_later_runs_of_a_server_ask_for_nothing_new(device):
    """Memory is there, keys and constants too, and inputs that were used before: only lists of addresses go up."""

    @lw.program
    def program(x: lw.Secret[8], w):
        return (w @ x) ** 2

    rng = np.random.default_rng(1)
    data, w = rng.uniform(-1, 1, (16, 8)), rng.normal(size=(4, 8))
    model = lw.compile(program, weights=(w,), calibrate=data, ring_degree=2048, insecure=True)
    client = model.client()
    server = model.server(client.keygen().public(), device="sim")
    inputs = client.encrypt(data[0])
    for _ in range(2):
        server(inputs)
    device.reset_counters()
    result = server(inputs)
    asked = device.counters()
    assert (asked["allocations"], asked["bytes_down"], asked["host_waits"]) == (0, 0, 1)
    assert asked["bytes_up"] < 4096
    assert result.num_bytes > 4096


@pytest.mark.parametrize(
    ("operation", "launches"),
    [
        (lambda x: x + x, 1),
        (lambda x: x.rotate(1), 11),
        (lambda x: x.rotate_many([1, 2, 3]), 21),  # five for each one more
        (lambda x: (x * x).settle(), 14),
    ],
    ids=["sum", "rotation", "three hoisted", "product"],
)
def test_operations_take_as_many_launches_as_they_did(operation, launches, device):
    """At N = 2^14, with 8 limbs in 4 digits and 2 special primes."""
    parameters = ckks.Parameters.choose(depth=6, ring_degree=1 << 14).on(device="sim")
    generator = ckks.KeyGenerator(parameters)
    keys = generator.evaluation_keys(relin=True, steps=[1, 2, 3])
    encryptor = ckks.Encryptor(parameters, generator.secret_key(), evaluator=ckks.Evaluator(parameters, keys))
    x = encryptor.encrypt(VALUES)
    operation(x)
    device.reset_counters()
    operation(x)
    asked = device.counters()
    assert sum(asked["launches"].values()) == launches
    assert (asked["allocations"], asked["bytes_down"], asked["host_waits"]) == (0, 0, 0)


def test_a_frame_gives_memory_back_and_says_how_much(x, device):
    with lw.frame("sim") as frame:
        kept = x.gpu("sim") * x
        for _ in range(3):
            kept * x
    assert frame.held == frame.freed + frame.kept
    assert frame.freed > 0 and frame.kept >= kept.num_bytes
    assert "held" in repr(frame)
    assert kept.to_bytes() == (x * x).to_bytes()
    device.fail_launches(1, 1)
    with pytest.raises(DeviceError), lw.frame("sim"):
        kept + x
    with pytest.raises(UserError, match="the host's memory needs no frame"):
        lw.frame("cpu")


def test_what_there_is_can_be_listed():
    found = {entry["device"]: entry for entry in lw.devices()}
    assert {"cpu", "sim:0", "sim:1"} <= found.keys()
    cuda = next(entry for name, entry in found.items() if name.startswith("cuda"))
    assert cuda.get("unusable", "").startswith("no GPU: ") or cuda["memory"] > 0
