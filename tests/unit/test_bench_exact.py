"""The studies with exact models: small kernels are solved, and what is proved is what is known of them."""

from __future__ import annotations

from bench.coyote.cases import cases
from bench.coyote.exact import alignment, placement
from bench.coyote.measuring import How

BY_NAME = {case.name: case for case in cases()}


def test_alignment_has_no_more_instructions_than_lists():
    (row,) = alignment([BY_NAME["conv.4.2.fully"]], How(), 1, print)
    assert row.ours == row.reference == 2  # one product, one addition
    assert row.details["proved"]
    assert row.details["published: more compile time"] == 0.225


def test_placement_of_a_scalar_product_is_proved():
    (row,) = placement([BY_NAME["dot.3.un"]], How(), 1, print)
    assert row.ours == row.reference == 2
    assert row.details["proved"]
    assert row.details["rotations at least, of any code"] == 2
