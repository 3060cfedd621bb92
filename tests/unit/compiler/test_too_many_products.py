"""Circuits on integers that multiply more often in a row than any ring has room for: refused at once, by their lines."""

import re

import numpy as np
import pytest

import latticework as lw
from latticework.errors import LevelError
from latticework.plan.parameters.bfv_chain import chain_for_depth, plain_prime
from latticework.plan.parameters.bfv_noise import least_product_bits

SMALL = {"ring_degree": 4096}


def refused(circuit, **options):
    """The error of a compilation, which is at a line of this file."""
    with pytest.raises(LevelError) as caught:
        lw.compile(circuit, scheme="bfv", **options)
    assert caught.value.at is not None and caught.value.at.file == __file__
    assert "a table has at most" not in caught.value.message
    return caught.value


def squares(times):
    @lw.circuit
    def squared(x: lw.scalar(low=-1, high=1)):
        for _ in range(times):
            x = x * x - 1
        return x

    return squared


@lw.circuit
def looked_up(x: lw.scalar(low=0, high=7)):
    for _ in range(9):
        x = lw.table(x, [3, 1, 2, 0, 7, 5, 6, 4])
    return x


@lw.circuit
def smallest_so_far(x: lw.bits(8), y: lw.bits(8)):
    z = x
    for _ in range(9):
        z = lw.select(z < y, x, y)
    return z


@lw.circuit
def counted(x: lw.scalar(low=0, high=7)):
    for _ in range(9):
        x = lw.select(x == 3, x, 1)
    return x


@pytest.mark.parametrize(
    ("circuit", "named"), [(looked_up, "lw.table"), (smallest_so_far, "<"), (counted, "==")], ids=["table", "<", "=="]
)
def test_small_tables_are_not_blamed_for_depth(circuit, named):
    """A table of 8 values is small: it is what comes before it that takes the products."""
    error = refused(circuit, ring_degree=16384)
    found = re.match(
        rf"{named} takes (\d+) products in a row after the (\d+) that its operand took: (\d+) in all; ring_degree=16384 at "
        r"128-bit security has room for about (\d+) with a plaintext modulus of 20 bits: do fewer steps",
        error.message,
    )
    own, before, every, held = map(int, found.groups())
    assert own + before == every > held >= before


def test_wide_tables_are_still_refused_for_their_size():
    @lw.circuit
    def wide(x: lw.scalar(low=0, high=5000)):
        return lw.table(x, lambda i: i % 3)

    with pytest.raises(lw.UserError, match="lies between 0 and 5000: a table has at most 1025 values"):
        lw.compile(wide, scheme="bfv")


def test_products_in_a_row_are_refused_by_their_line():
    error = refused(squares(30), **SMALL)
    assert "circuit squared multiplies encrypted numbers 30 times one after another; ring_degree=4096" in error.message
    assert re.search(r"They are in line \d+ \(x = x \* x - 1\) 30; about \d of the 30 operations", error.message)
    assert "smaller plaintext modulus (plain_bits)" in error.message


def test_what_just_does_not_fit_names_its_lines_too():
    """The early check lets it pass, and the choice of parameters does not."""
    fits = next(n for n in range(1, 9) if not holds(n + 1))
    error = refused(squares(fits + 1), **SMALL)
    assert re.search(r"line \d+ \(x = x \* x - 1\)", error.message)


def holds(times):
    try:
        lw.compile(squares(times), scheme="bfv", algorithm="scalar", **SMALL)
    except LevelError:
        return False
    return True


@pytest.mark.parametrize("log2_degree", [12, 13, 14])
def test_bits_that_products_take_at_least(log2_degree):
    """No chain that the noise model finds has fewer."""
    degree = 1 << log2_degree
    plain = plain_prime(degree, 20, None)
    found = [chain_for_depth(depth, degree, plain) for depth in range(5)]
    bits = [sum(np.log2(chain.primes)) for chain in found if chain is not None]
    least = [least_product_bits(depth, degree, plain) for depth in range(len(bits))]
    assert len(bits) >= 1 and all(np.array(least) <= bits)
