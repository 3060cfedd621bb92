"""Numbers in messages never contradict what the message says."""

import re
import warnings

import numpy as np
import pytest

import latticework as lw
from latticework.errors import LevelError, RangeError
from latticework.errors.rounded_numbers import large, outside, over, write_value
from latticework.plan.parameters import Need, modulus_limit_bits, select_chain
from latticework.plan.parameters.bfv_chain import plain_prime


@pytest.mark.parametrize("limit", [0, 27, 214, 438])
@pytest.mark.parametrize("excess", [1e-6, 0.004, 0.04, 0.4, 3.0, 1e4])
def test_a_number_beyond_a_limit_is_printed_beyond_it(limit, excess):
    assert float(over(limit + excess, limit)) > limit and float(over(limit + excess, limit, 0)) > limit
    assert abs(float(over(limit + excess, limit)) - limit - excess) <= 0.05


def test_ranges_differ_in_print_where_they_differ():
    low, high, least, most = map(float, outside(1.0, 3.0000001, 1.0, 3.0))
    assert low == least and high > most
    assert outside(-1.0, 1.25, -1.0, 1.0) == ("-1", "1.25", "-1", "1")


def test_large_numbers_are_powers_of_two():
    assert large(-(10**19)) == "-10000000000000000000" and large(-(1 << 20_000)) == "about -2^20000"
    assert (
        large(float("inf")) == "more than 2^1000"
        and write_value(10**5000) == "about 2^16610"
        and write_value("x") == "'x'"
    )


@pytest.mark.parametrize("degree", [4096, 8192])
def test_needed_bits_of_modulus_are_more_than_are_allowed(degree):
    limit = modulus_limit_bits(degree, 128)
    seen = 0
    for scale_bits in range(degree // 1024 * 2 + 20, degree // 1024 * 2 + 30):
        for depth in (1, 3):
            for headroom in (2, 7):
                try:
                    select_chain(Need(depth, 16, scale_bits, headroom), ring_degree=degree)
                except LevelError as error:
                    match = re.search(r"at least ([\d.]+) bits of modulus .* allows (\d+)", str(error))
                    if match is None:
                        assert "lowest level" in str(error)
                        continue
                    assert int(match[2]) == limit and float(match[1]) > limit
                    seen += 1
    assert seen


@pytest.mark.parametrize("degree", [1024, 4096, 8192, 32768, 1 << 17])
def test_the_sizes_of_plaintext_moduli_that_are_named_are_those_that_exist(degree):
    with pytest.raises(RangeError, match=f"modulo 2N = {2 * degree}") as caught:
        plain_prime(degree, 50, None)
    *single, span = re.search(r"plain_bits may be (.*), or give", str(caught.value))[1].split(", ")
    least, most = map(int, span.split(" to "))
    named = {*map(int, single), *range(least, most + 1)}

    def exists(bits):
        try:
            return plain_prime(degree, bits, None).bit_length() == bits
        except RangeError:
            return False

    assert named == {bits for bits in range(2, 60) if exists(bits)}


@lw.circuit
def square(x: lw.scalar()):
    return x * x


def test_a_ring_that_could_be_used_names_its_plaintext_moduli():
    with pytest.raises(RangeError, match=r"plain_bits may be (\d+)") as caught:
        lw.compile(square, scheme="bfv", plain_bits=14)
    least = int(re.search(r"plain_bits may be (\d+)", str(caught.value))[1])
    assert least <= 17  # which compiles


def test_results_of_thousands_of_digits_are_warned_of():
    @lw.circuit
    def huge(x: lw.scalar(low=-(2**40), high=2**40)):
        for _ in range(10):
            x = x * x
        return x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lw.compile(huge, scheme="bfv", ring_degree=32768, insecure=True, algorithm="scalar")
    assert "between 0 and more than 2^1000 for inputs" in str(caught[0].message)


def test_an_input_just_outside_is_refused_with_the_range_alone():
    @lw.circuit
    def f(x: lw.scalar(low=0, high=1)):
        return x + 1

    client = lw.compile(f, ring_degree=1024, insecure=True).client()
    with pytest.raises(RangeError, match="input x is outside 0 to 1, which the circuit was compiled for") as caught:
        client.checked((), {"x": np.float64(1.0000001)})
    assert "1.0000001" not in str(caught.value)
