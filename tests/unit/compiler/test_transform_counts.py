"""What the transforms by default cost in instructions, as the compiler made them for two generations of GPUs."""

import pytest
from machine_code import ARCHITECTURES, Code, needs_compiler

BUTTERFLIES_OF_PASS = 12  # of radix 8, by one thread
PASSES = 5  # of radix 8, of a row of 2^15 words: four in tiles, and one on columns
COLUMNS = 2  # of a thread
MOST_REGISTERS = {"rest": 64, "columns": 128}  # of 512 threads a block; of 128, which have twice as many words each
PAPER_WORK = 456  # integer operations of a thread in a pass of radix 8, in the paper on XeHE
OF_FLOATS = {"DADD", "DFMA", "DMUL"}
OF_MEMORY = ("LD", "ST")
MOST_INSTRUCTIONS = {  # of the whole transform, for each butterfly
    "fp64_47_forward": 13.2,
    "fp64_47_inverse": 13.6,
    "fp64_50_forward": 13.8,
    "fp64_50_inverse": 14.4,
    "u64_50_forward": 28.6,
    "u64_50_inverse": 28,
    "u64_60_forward": 33.6,
    "u64_60_inverse": 33.4,
}


pytestmark = needs_compiler


class TransformCode(Code):
    """Parts of transforms."""

    def butterfly(self, name):
        """Instructions of one butterfly in registers: four more rounds of radix 8."""
        more = self.counts[f"{name}_butterflies_8"] - self.counts[f"{name}_butterflies_4"]
        return {code: count / (4 * BUTTERFLIES_OF_PASS) for code, count in more.items()}

    def transform(self, name):
        """Those of eight words in both kernels."""
        columns = {code: count / COLUMNS for code, count in self.counts[f"{name}_columns"].items()}
        rest = self.counts[f"{name}_rest"]
        return {code: rest.get(code, 0) + columns.get(code, 0) for code in {*rest, *columns}}


@pytest.fixture(scope="module", params=ARCHITECTURES)
def code(request, tmp_path_factory):
    found = TransformCode("transform_counts.cu", request.param, tmp_path_factory.mktemp("cubins"))
    assert len(found.counts) == 8 * 4
    return found


def test_parts_stay_in_registers(code):
    for name, (*memory, registers) in code.figures.items():
        assert memory == [0, 0, 0] and registers <= MOST_REGISTERS.get(name.rpartition("_")[2], 64), name


@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_butterflies_take_few_instructions(code, direction):
    floats = code.butterfly(f"fp64_47_{direction}")
    assert sum(floats.values()) <= 10
    assert sum(floats.get(name, 0) for name in OF_FLOATS) <= 8.5
    assert sum(code.butterfly(f"u64_50_{direction}").values()) <= 24


@pytest.mark.parametrize("name", MOST_INSTRUCTIONS)
def test_transforms_take_few_instructions(code, name):
    butterflies = PASSES * BUTTERFLIES_OF_PASS
    assert sum(code.transform(name).values()) / butterflies <= MOST_INSTRUCTIONS[name]


@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_passes_of_integers_take_less_than_those_of_the_paper(code, direction):
    """All that does not go to memory is taken for an operation on integers."""
    counts = code.transform(f"u64_50_{direction}")
    work = sum(count for name, count in counts.items() if not name.startswith(OF_MEMORY)) / PASSES
    assert work <= 315 < PAPER_WORK
