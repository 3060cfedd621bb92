"""What two primes below 2^30 would take in place of one word, on cards with few float64 units (bench/results/NOTES.md)."""

import pytest
from machine_code import Code, needs_compiler

pytestmark = needs_compiler

ARCHITECTURES = ("sm_86", "sm_120")
STEPS = {
    "butterflies": 2,
    "products": 2,
    "terms": 4,
}  # of 32 bits, for one of 60: sums have twice the terms and targets
# Thread instructions of cards for each byte of their memory, at most: multiprocessors x 128 lanes x clock / bandwidth,
# of an RTX 3090 and an RTX 5090.
INSTRUCTIONS_A_BYTE = {"sm_86": 82 * 128 * 1.695e9 / 936e9, "sm_120": 170 * 128 * 2.407e9 / 1792e9}
PASSES, STAGES = 2, 16  # of a transform of 2^16 words through memory


@pytest.fixture(scope="module", params=ARCHITECTURES)
def code(request, tmp_path_factory):
    found = Code("narrow_counts.cu", request.param, tmp_path_factory.mktemp("cubins"))
    found.architecture = request.param
    return found


def of_step(code, name, step):
    more = code.counts[f"{name}_{step}_24"] - code.counts[f"{name}_{step}_12"]
    return (more.total() - more["LDG"]) / 12


def test_two_narrow_primes_take_fewer_instructions_than_one_word(code):
    """For as many bits: 1.4 times fewer at least; and against primes below 2^50 as well."""
    for step, times in STEPS.items():
        narrow = times * of_step(code, "u32_30", step)
        assert of_step(code, "u64_60", step) > 1.4 * narrow
        assert of_step(code, "u64_50", step) * 60 / 50 > 1.4 * narrow
    assert 2 * of_step(code, "u32_30", "butterflies") > 1.5 * of_step(code, "fp64_50", "butterflies")


def test_butterflies_are_fewer_a_byte_of_memory_than_the_card_begins(code):
    """So bytes bound transforms that go through memory, and two words of 32 bits are as many as one of 64."""
    instructions = STAGES / 2 * of_step(code, "u64_60", "butterflies")
    assert instructions / (PASSES * 2 * 8) < INSTRUCTIONS_A_BYTE[code.architecture] / 2


def test_the_steps_stay_in_registers(code):
    assert all(memory == [0, 0, 0] for *memory, _ in code.figures.values())
