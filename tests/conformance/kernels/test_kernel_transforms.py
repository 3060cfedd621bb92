"""The forms of the transforms on GPUs: each gives what `ref` gives, in as many kernels as it says."""

import numpy as np
import pytest
import ring_oracles as oracle
from backends_here import BACKENDS, DEVICES, DRIVEN, with_sizes

from latticework import _core

GPUS = [backend for backend in BACKENDS if backend.id in DEVICES]
DEFAULT = "radix-8"
BELOW_50_BITS = 2**50 - 2**25  # close to the largest prime of fp64, and of butterflies that correct nothing
STARTS = {"fp64": (BELOW_50_BITS, 2**29), "u64": (BELOW_50_BITS, 2**64 // 17)}
PAPER_DENSITY = 8.9  # operations on integers for each byte between chip and memory, in the paper on XeHE
PAPER_WORK = 456 * 5 / 8  # for each word of a row of 2^15, with radix 8


def rings(backend, log_degree):
    """A ring there, its likeness on `ref`, and limbs."""
    degree = 2**log_degree
    starts = STARTS["u64" if "u64" in backend else "fp64"]
    primes = oracle.find_primes(starts if log_degree < 16 else starts[:1], degree)
    return [_core.Ring(degree, primes, backend=name, threads=1) for name in (backend, "ref")], list(range(len(primes)))


def transforms_of(backend):
    kind = backend.partition("-")[0]
    has_clusters = kind not in DRIVEN or _core.driver_devices(kind)[0]["has_clusters"]
    return [name for name in _core.transform_names() if has_clusters or name != "cluster"]


def launches(work):
    device = _core.SimulatedDevice("sim-fp64-forward")
    device.reset_counters()
    work()
    return device.counters()["launches"]


@pytest.mark.parametrize(("backend", "log_degree"), with_sizes(GPUS, range(4, 18), 6, most_quick=13))
def test_every_form_gives_the_same(backend, log_degree, rng):
    (ring, ref), limbs = rings(backend, log_degree)
    x = np.stack([rng.integers(0, q, ring.degree, np.uint64) for q in ring.primes])[None]
    x[:, :, :3] = oracle.column(ring.primes) - 1
    values, coefficients = ref.ntt(x, limbs), ref.intt(x, limbs)
    for transform in transforms_of(backend):
        ring.transform = transform
        in_place = log_degree % 2 == 0
        np.testing.assert_array_equal(ring.ntt(x, limbs, in_place=in_place), values, err_msg=transform)
        np.testing.assert_array_equal(ring.intt(x, limbs, in_place=in_place), coefficients, err_msg=transform)


@pytest.mark.parametrize("backend", [backend for backend in GPUS if backend.id.endswith("-forward")])
@pytest.mark.parametrize("value", ["largest", "one", "alternating"])
def test_sums_of_extreme_values_do_not_overflow(backend, value):
    """Residues that make every sum of a transform as large as it gets."""
    (ring, ref), limbs = rings(backend, 13)
    x = np.zeros((1, len(limbs), ring.degree), np.uint64)
    x[:] = {"largest": oracle.column(ring.primes) - 1, "one": 1, "alternating": 0}[value]
    if value == "alternating":
        x[:, :, ::2] = oracle.column(ring.primes) - 1
    for transform in transforms_of(backend):
        ring.transform = transform
        np.testing.assert_array_equal(ring.ntt(x, limbs), ref.ntt(x, limbs), err_msg=transform)
        np.testing.assert_array_equal(ring.intt(x, limbs), ref.intt(x, limbs), err_msg=transform)


@pytest.mark.parametrize(
    ("transform", "of_12", "of_15"),
    [("naive", 12, 15), ("radix-2", 2, 2), ("radix-2-shuffle-32", 2, 2), ("radix-8", 1, 2), ("cluster", 1, 1)],
)
def test_launches_of_a_transform(transform, of_12, of_15):
    for log_degree, expected in ((12, of_12), (15, of_15)):
        (ring, _), limbs = rings("sim-fp64-forward", log_degree)
        ring.transform = transform
        x = np.zeros((1, len(limbs), ring.degree), np.uint64)
        for kernel, name in ((ring.ntt, "_ntt_"), (ring.intt, "_intt_")):
            found = launches(lambda kernel=kernel, x=x, limbs=limbs: kernel(x, limbs))
            assert sum(count for kernel_name, count in found.items() if name in kernel_name) == expected


@pytest.mark.parametrize("transform", [DEFAULT, "cluster"])
def test_density_is_that_of_the_paper(transform):
    """Words go to the chip and back once for each kernel, in 16 bytes."""
    (ring, _), limbs = rings("sim-fp64-forward", 15)
    ring.transform = transform
    x = np.zeros((1, len(limbs), ring.degree), np.uint64)
    kernels = sum(count for name, count in launches(lambda: ring.ntt(x, limbs)).items() if "ntt" in name)
    assert PAPER_WORK / (16 * kernels) >= PAPER_DENSITY


def test_the_form_is_a_choice_of_the_ring():
    (ring, ref), _ = rings("sim-fp64-forward", 4)
    (other, _), _ = rings("sim-fp64-forward", 4)
    assert ring.transform == DEFAULT
    ring.transform = "naive"
    assert (ring.transform, other.transform) == ("naive", DEFAULT)
    with pytest.raises(ValueError, match=r"radix-3.*choose one of naive, radix-2, .*cluster"):
        ring.transform = "radix-3"
    assert ring.transform == "naive"
    with pytest.raises(ValueError, match="ref.*nothing to choose"):
        ref.transform = "naive"
