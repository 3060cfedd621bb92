"""The GPU code on the simulated device, through everything above it: values, failures, memory and order."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from latticework import _core, bfv, ckks
from latticework.errors import DeviceError, ParameterMismatchError

VARIANTS = [name for name, _ in _core.backend_variants("sim")]
PARAMETERS = ckks.Parameters(1024, [40, 30, 30, 30], scale_bits=30, insecure=True)
VALUES = np.linspace(-1, 1, 16)


class Owner:
    """Keys and values on one backend."""

    def __init__(self, backend):
        self.parameters = PARAMETERS.on(backend=backend)
        generator = ckks.KeyGenerator(self.parameters)
        self.keys = generator.evaluation_keys(relin=True, steps=[1, 3])
        self.evaluator = ckks.Evaluator(self.parameters, self.keys)
        self.secret_key = generator.secret_key()
        self.encryptor = ckks.Encryptor(self.parameters, generator.secret_key())
        self.decryptor = ckks.Decryptor(self.parameters, generator.secret_key())

    def encrypt(self, values):
        return self.encryptor.encrypt(values).using(self.evaluator)


@pytest.fixture
def owner():
    return Owner("sim")


@pytest.fixture
def device():
    found = _core.SimulatedDevice("sim")
    yield found
    found.fail_allocations(0, 0)
    found.fail_launches(0, 0)


def program(x):
    return ((x * x + x).rotate(3) * 0.5 - x.rotate(1)).settle()


def meaning(x):
    return np.roll(x * x + x, -3) * 0.5 - np.roll(x, -1)


@pytest.mark.parametrize("backend", VARIANTS)
def test_programs_compute_what_they_say(backend):
    owner = Owner(backend)
    found = owner.decryptor.decrypt(program(owner.encrypt(VALUES)), dtype=np.float64)
    np.testing.assert_allclose(found, meaning(VALUES), atol=1e-5)


def test_results_are_those_of_the_host_to_the_bit(tmp_path, owner):
    owner.keys.save(tmp_path / "keys")
    x = owner.encrypt(VALUES)
    results = set()
    for backend in ("auto", "ref", *VARIANTS):
        there = PARAMETERS.on(backend=backend)
        keys = ckks.EvaluationKeys.load(tmp_path / "keys", there)
        moved = ckks.Ciphertext.from_bytes(x.to_bytes(), there, evaluator=ckks.Evaluator(there, keys))
        results.add(program(moved).to_bytes())
    assert len(results) == 1


def test_integers_are_exact():
    parameters = bfv.Parameters.choose(depth=1, plain_bits=17, ring_degree=1024, insecure=True).on(backend="sim")
    generator = bfv.KeyGenerator(parameters)
    evaluator = bfv.Evaluator(parameters, generator.evaluation_keys(relin=True, steps=[1]))
    encryptor, decryptor = (kind(parameters, generator.secret_key()) for kind in (bfv.Encryptor, bfv.Decryptor))
    values = np.arange(8)
    x = encryptor.encrypt(values).using(evaluator)
    np.testing.assert_array_equal(decryptor.decrypt((x * x + 3).rotate(1))[0, :7], values[1:] ** 2 + 3)


def test_values_of_the_host_are_refused(owner):
    other = PARAMETERS.on(backend="cpu" if "cpu" in _core.backend_names() else "ref")
    x = ckks.Encryptor(other, owner.secret_key).encrypt(VALUES)
    with pytest.raises(
        ParameterMismatchError, match=r"held as .* on the host; the backend \"sim\" takes .* on the sim:0"
    ):
        owner.evaluator.neg(x)


def test_a_kernel_that_fails_leaves_no_result(owner, device):
    x = owner.encrypt(VALUES)
    device.fail_launches(3, 1)
    with pytest.raises(DeviceError, match=r"simulated GPU 0 .*nothing computed on it since is to be trusted"):
        owner.decryptor.decrypt(program(x))
    with pytest.raises(DeviceError, match="nothing computed on it since"):  # nor does anything after it
        owner.decryptor.decrypt(x)
    again = Owner("sim")
    np.testing.assert_allclose(
        again.decryptor.decrypt(program(again.encrypt(VALUES)), dtype=np.float64), meaning(VALUES), atol=1e-5
    )


def test_no_memory_is_an_error_that_loses_nothing(owner, device):
    x = owner.encrypt(VALUES)
    device.fail_allocations(1, 1_000)
    with pytest.raises(MemoryError, match=r"sim:0: no memory for \d+ bytes, \d+ in use; lower the memory budget"):
        [x.rotate(1) for _ in range(1_000)]
    device.fail_allocations(0, 0)
    np.testing.assert_allclose(owner.decryptor.decrypt(program(x), dtype=np.float64), meaning(VALUES), atol=1e-5)


def test_memory_is_used_again(owner, device):
    x = owner.encrypt(VALUES)
    program(x)
    device.reset_counters()
    for _ in range(3):
        program(x)
    assert device.counters()["allocations"] == 0


def test_runs_at_once_share_what_they_read():
    """Each run has a queue of its own; keys and inputs that they all read were made on another one."""
    transform = ckks.LinearTransform(np.eye(16)[::-1])
    parameters = PARAMETERS.on(backend="sim-fp64-shuffled")
    generator = ckks.KeyGenerator(parameters)
    keys = generator.evaluation_keys(required=transform.required_keys(parameters))
    evaluator = ckks.Evaluator(parameters, keys)
    x = ckks.Encryptor(parameters, generator.secret_key()).encrypt(VALUES)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: evaluator.linear_transform(x, transform), range(12)))
    assert len({y.to_bytes() for y in results}) == 1
    decryptor = ckks.Decryptor(parameters, generator.secret_key())
    np.testing.assert_allclose(decryptor.decrypt(results[0], dtype=np.float64), VALUES[::-1], atol=1e-4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_is_told_that_it_has_no_device(owner):
    x = owner.encrypt(VALUES)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            owner.decryptor.decrypt(x.rotate(1))
            os.write(write, b"computed")
        except DeviceError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert b"a process made by fork has no devices" in pipe.read()
    np.testing.assert_allclose(owner.decryptor.decrypt(x, dtype=np.float64), VALUES, atol=1e-6)
