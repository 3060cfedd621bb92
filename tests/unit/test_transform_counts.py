"""What the transforms by default cost in instructions, as the compiler made them for two generations of GPUs."""

import pytest
from machine_code import ARCHITECTURES, Code, needs_compiler

BUTTERFLIES_OF_PASS = 12  # of radix 8, by one thread
PASSES = {"rest": 4, "columns": 1}  # of a row of 2^15 words
PAPER_WORK = 456  # integer operations of a thread in a pass of radix 8, in the paper on XeHE
OF_FLOATS = {"DADD", "DFMA", "DMUL"}
OF_MEMORY = ("LD", "ST")
MOST_INSTRUCTIONS = {  # of the whole transform, for each butterfly
    "fp64_47_forward": 14.0,
    "fp64_47_inverse": 15.5,
    "fp64_50_forward": 15.2,
    "fp64_50_inverse": 16.1,
    "u64_50_forward": 32,
    "u64_50_inverse": 32,
    "u64_60_forward": 34.1,
    "u64_60_inverse": 35,
}


pytestmark = needs_compiler


class TransformCode(Code):
    """Parts of transforms."""

    def butterfly(self, name):
        """Instructions of one butterfly in registers: four more rounds of radix 8."""
        more = self.counts[f"{name}_butterflies_8"] - self.counts[f"{name}_butterflies_4"]
        return {code: count / (4 * BUTTERFLIES_OF_PASS) for code, count in more.items()}

    def transform(self, name):
        """Those of a thread in both kernels."""
        return self.counts[f"{name}_rest"] + self.counts[f"{name}_columns"]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def code(request, tmp_path_factory):
    found = TransformCode("transform_counts.cu", request.param, tmp_path_factory.mktemp("cubins"))
    assert len(found.counts) == 8 * 4
    return found


def test_parts_stay_in_registers(code):
    for name, (*memory, registers) in code.figures.items():
        assert memory == [0, 0, 0] and registers <= 64, name


@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_butterflies_take_few_instructions(code, direction):
    floats = code.butterfly(f"fp64_47_{direction}")
    assert sum(floats.values()) <= 10
    assert sum(floats.get(name, 0) for name in OF_FLOATS) <= 8.5
    assert sum(code.butterfly(f"u64_50_{direction}").values()) <= 24


@pytest.mark.parametrize("name", MOST_INSTRUCTIONS)
def test_transforms_take_few_instructions(code, name):
    butterflies = sum(PASSES.values()) * BUTTERFLIES_OF_PASS
    assert code.transform(name).total() / butterflies <= MOST_INSTRUCTIONS[name]


@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_passes_of_integers_take_less_than_those_of_the_paper(code, direction):
    """All that does not go to memory is taken for an operation on integers."""
    counts = code.transform(f"u64_50_{direction}")
    work = sum(count for name, count in counts.items() if not name.startswith(OF_MEMORY)) / sum(PASSES.values())
    assert work <= 330 < PAPER_WORK
