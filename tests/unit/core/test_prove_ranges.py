"""The proof that transforms stay exact holds for the sources, and fails for every reduction that is taken away."""

import re
import runpy
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from latticework import _core

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "tools" / "prove_ranges.py"
TABLE = Path("cpp/backend/cpu/ntt_ranges.hpp")
SOURCE = (ROOT / TABLE).read_text()
ROW = re.compile(r"    \{(\d+), (\d+), (.*)\},")
ROWS = {(int(match[1]), 1 << int(match[2])): match[3].split(", ") for match in ROW.finditer(SOURCE)}  # bits, words
GPU_TABLE = Path("cpp/backend/gpu/ntt_ranges.hpp")
GPU_SOURCE = (ROOT / GPU_TABLE).read_text()
GPU_ROW = re.compile(r"    \{(\d+), 0b([01]+), 0b([01]+)\},")
GPU_ROWS = {int(match[1]): (match[2], match[3]) for match in GPU_ROW.finditer(GPU_SOURCE)}  # bits
GPU_FOLDER = Path("cpp/backend/gpu")
LAZY = [GPU_FOLDER / name for name in ("u64_lazy.hpp", "kernels/ntt_tile.hpp", "kernels/ntt_cluster.hpp")]
TAILS = {2, 3}  # fields whose reductions are of four values at a time in vectors of eight words


def prove(root):
    return subprocess.run(
        [sys.executable, SCRIPT, "--root", root], capture_output=True, text=True, check=False, timeout=120
    )


def planted(tmp_path, text=SOURCE, gpu_text=GPU_SOURCE):
    for table, of in ((TABLE, text), (GPU_TABLE, gpu_text)):
        target = tmp_path / table
        target.parent.mkdir(parents=True)
        target.write_text(of)
    return tmp_path


def test_the_sources_are_proved():
    result = prove(ROOT)
    assert (result.returncode, result.stdout.count("exact below")) == (0, len(ROWS) + len(GPU_ROWS))
    assert "integers on GPUs: words up to 16384 q of 16384 q" in result.stdout
    assert sorted(GPU_ROWS) == list(GPU_ROWS) == [47, 49, 50]
    for words in (4, 8):
        bits = [b for b, of in ROWS if of == words]
        assert bits == sorted(bits) and max(bits) == 50


def with_cleared_bits(row, field, bits):
    masks = list(ROWS[row])
    masks[field] = f"0b{int(masks[field], 2) & ~bits:0{len(masks[field]) - 2}b}"
    before, after = (f"    {{{row[0]}, {row[1].bit_length() - 1}, {', '.join(m)}}}," for m in (ROWS[row], masks))
    return SOURCE.replace(before, after)


REDUCTIONS = [
    (row, field, bits)
    for row, masks in ROWS.items()
    for field, mask in enumerate(masks)
    for bits in ((0x0F, 0xF0) if row[1] == 8 and field in TAILS else [1 << bit for bit in range(8)])
    if int(mask, 2) & bits
]


@pytest.mark.parametrize(("row", "field", "bits"), [r for r in REDUCTIONS if r[0][0] >= 49])
def test_a_removed_reduction_is_noticed(tmp_path, row, field, bits):
    changed = with_cleared_bits(row, field, bits)
    assert changed != SOURCE
    result = prove(planted(tmp_path, changed))
    assert result.returncode == 1 and f"2^{row[0]}" in result.stdout and " can reach " in result.stdout


GPU_REDUCTIONS = [
    (bits, field, place)
    for bits, masks in GPU_ROWS.items()
    for field, mask in enumerate(masks)
    for place, bit in enumerate(mask)
    if bit == "1"
]


@pytest.mark.parametrize(("bits", "field", "place"), GPU_REDUCTIONS)
def test_a_removed_reduction_of_gpus_is_noticed(tmp_path, bits, field, place):
    masks = list(GPU_ROWS[bits])
    masks[field] = masks[field][:place] + "0" + masks[field][place + 1 :]
    before, after = (f"    {{{bits}, 0b{of[0]}, 0b{of[1]}}}," for of in (GPU_ROWS[bits], masks))
    assert before in GPU_SOURCE
    result = prove(planted(tmp_path, gpu_text=GPU_SOURCE.replace(before, after)))
    assert result.returncode == 1 and f"GPUs, primes below 2^{bits}" in result.stdout


@pytest.mark.parametrize(
    ("file", "before", "after", "text"),
    [
        (0, "kLazyMultipleBits = 13", "kLazyMultipleBits = 12", "a difference of 8192 q, to which 4096 q are added"),
        (0, "kLazyMultipleBits = 13", "kLazyMultipleBits = 14", r"a word can reach 24576 q, and 2\^64 is 16384 q"),
        (0, "kLazyBits = 50", "kLazyBits = 51", r"a word can reach 16384 q, and 2\^64 is 8192 q"),
        (1, "RadixOf<4, 12>", "RadixOf<4, 15>", "a difference of 16384 q"),
        (2, "RadixOfCluster : Radix8", "RadixOfCluster : Radix4", "a difference of 16384 q"),
        (1, "RadixOf<", "TileOf<", "are not what they were"),
    ],
)
def test_integers_of_gpus_that_get_too_large_are_noticed(file, before, after, text):
    script = runpy.run_path(str(SCRIPT))
    sources = [(ROOT / path).read_text() for path in LAZY]
    assert before in sources[file]
    sources[file] = sources[file].replace(before, after)
    with pytest.raises(script["RangeError"], match=text):
        script["prove_lazy"](*sources)


def test_a_table_of_other_fields_is_refused(tmp_path):
    result = prove(planted(tmp_path, SOURCE.replace("forward8, forward4", "forward4, forward8")))
    assert result.returncode == 1 and "fields" in result.stdout


def test_a_table_of_other_fields_of_gpus_is_refused(tmp_path):
    result = prove(planted(tmp_path, gpu_text=GPU_SOURCE.replace("forward, inverse;", "inverse, forward;")))
    assert result.returncode == 1 and "fields" in result.stdout and "GPUs" in result.stdout


def test_small_primes_of_streams_need_their_reduction():
    script = runpy.run_path(str(SCRIPT))
    prove_streams = script["prove_streams"]
    assert "2^17" in prove_streams("is_small_(p.q < 0x1p17)")
    for source in ("is_small_(p.q < 0x1p16)", "is_small_(p.q < 0x1p1)", "is_small_(false)"):
        with pytest.raises(script["RangeError"], match=r"2\^16 can leave|2\^1 can leave|does not say"):
            prove_streams(source)


def exact_product(x, w, over_q, q):
    """The product modulo q as the kernels compute it, each operation rounded as float64 does."""
    high = x * w
    quotient = round(x * over_q)
    low = float(Fraction(x) * Fraction(w) - Fraction(high))
    rest = float(Fraction(high) - quotient * q)
    return Fraction(low) + Fraction(rest), Fraction(low + rest)


@pytest.mark.parametrize("bits", sorted({bits for bits, _ in ROWS}))
def test_bounds_of_one_product_hold_on_extreme_operands(bits):
    q = max(p for p in _core.primes_near(2**bits - 2**17, 2**17, 4) if p < 2**bits)
    rng = np.random.default_rng(7)
    reach = 2 ** (52 - bits) * q - 1  # half of what is exact
    for x in [float(reach), -float(reach), *rng.integers(-reach, reach, 200).astype(float).tolist()]:
        for w in [float(q // 2), -float(q // 2), float(rng.integers(-(q // 2), q // 2))]:
            exact, computed = exact_product(x, w, w * (1.0 / q), q)
            assert computed == exact and (exact - int(x) * int(w)) % q == 0
            slack = abs(Fraction(x) * Fraction(w)) / q * ((1 + Fraction(1, 2**53)) ** 3 - 1)
            assert abs(exact) <= q * Fraction(1, 2) + slack * q


def test_every_pointwise_kernel_has_a_proof():
    script = runpy.run_path(str(SCRIPT))
    names = set(script["POINTWISE"].findall(script["KERNELS"].read_text()))
    assert {"add", "neg", "mul_add", "sub_scale"} <= names
    script["require_all"](dict.fromkeys(names, Fraction(0)))
    with pytest.raises(script["RangeError"], match="pointwise kernels mul; add"):
        script["require_all"](dict.fromkeys(names - {"mul"}, Fraction(0)))
