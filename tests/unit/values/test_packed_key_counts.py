"""What it would cost to read keys that are bit-packed on the device: instructions against bytes (cpp/backend/gpu/README.md)."""

import pytest
from machine_code import Code, needs_compiler

pytestmark = needs_compiler

DIGITS_MORE = 4  # of the longer kernel of each kind
KEY_WIDTH = 49  # bits of the primes of a chain
# An H100: 132 multiprocessors that begin four instructions of 32 threads a cycle, and read 3.0 TB/s.
THREAD_INSTRUCTIONS = 132 * 4 * 32 * 1.755e9
BYTES = 3.0e12


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    return Code("packed_key_counts.cu", "sm_90", tmp_path_factory.mktemp("cubins"))


def of_digit(code, name):
    """Instructions of a thread for one more digit, both halves of the key."""
    return (code.counts[f"{name}_8"] - code.counts[f"{name}_4"]).total() / DIGITS_MORE


@pytest.mark.parametrize(("arithmetic", "plain", "packed"), [("fp64", 17.5, 39.5), ("u64", 45, 65)])
def test_unpacking_takes_ten_instructions_a_word_which_memory_hides(code, arithmetic, plain, packed):
    """A word of a digit and two of a key: from memory, or the digit from the cache that all multiprocessors share."""
    found = of_digit(code, f"{arithmetic}_plain"), of_digit(code, f"{arithmetic}_packed")
    assert found[0] <= plain and found[1] <= packed
    assert 9 < (found[1] - found[0]) / 2 < 12
    for digit_bytes, gain in ((8, 0.15), (0, 0.23)):
        reading = [(digit_bytes + 2 * width / 8) / BYTES for width in (64, KEY_WIDTH)]
        computing = [count / THREAD_INSTRUCTIONS for count in found]
        assert computing[1] < reading[1] / 1.7
        assert 1 - reading[1] / reading[0] > gain


def test_unpacking_stays_in_registers(code):
    for name, (*memory, registers) in code.figures.items():
        assert memory == [0, 0, 0] and registers <= 48, name
