"""Rotations by signed powers of two: the digits, and that only such rotations are left."""

from itertools import pairwise

import numpy as np
import pytest
from gather_cases import random_gather
from test_block_expansion import program
from vec_cases import expanded, small_chain

from latticework.compiler.options.techniques import Techniques
from latticework.compiler.passes.powers_of_two import digits, powers_of_two
from latticework.ir import interpret
from latticework.values.packing.key_manifest import galois_element
from latticework.values.packing.packed_constants import LinearMap


@pytest.mark.parametrize("steps", range(-200, 201))
def test_digits_are_not_adjacent_and_add_up(steps):
    found = digits(steps)
    assert sum(found) == steps
    powers = [abs(digit).bit_length() - 1 for digit in found]
    assert all(abs(digit) == 1 << power for digit, power in zip(found, powers, strict=True))
    assert all(a - b >= 2 for a, b in pairwise(powers))


def test_a_rotation_goes_the_shorter_way_around():
    assert powers_of_two(5, 16) == [4, 1] and powers_of_two(15, 16) == [-1] and powers_of_two(-1, 16) == [-1]
    assert powers_of_two(0, 16) == [] and powers_of_two(16, 16) == [] and powers_of_two(8, 16) == [8]
    for steps in range(64):
        assert sum(powers_of_two(steps, 64)) % 64 == steps


@pytest.mark.parametrize("seed", range(8))
def test_only_powers_are_turned_by(seed):
    rng = np.random.default_rng(seed)
    gather, sources = random_gather(rng)
    linear_map, chain = LinearMap.of(gather), small_chain(1)
    module = expanded(program(linear_map, sources), chain, techniques=Techniques(rotation_keys="powers-of-two"))
    few = {galois_element(sign * (1 << power), chain.ring_degree) for power in range(10) for sign in (1, -1)}
    assert {op.attrs["spec"].galois_element for op in module.walk() if op.name == "key.demand"} <= few
    x = rng.uniform(-1, 1, (linear_map.count_in, linear_map.slots) if linear_map.count_in > 1 else (linear_map.slots,))
    (got,) = interpret(module, [x])
    np.testing.assert_allclose(got, linear_map.apply(x, sources), atol=1e-6)
