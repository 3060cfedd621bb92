"""What our compiler is measured against on its own machine: itself without what others do not have.

Both baselines use the same kernels, threads, security and precision as the rest; they differ in what compilation may
do.
"""

from __future__ import annotations

from dataclasses import replace

from latticework.techniques import Techniques

# Rotom, by its paper and public code: layouts with rolls chosen by counts; a client sends tensors without copies; one
# product at a time, by the square-root split; nothing hoisted, products relinearised one by one and rescaled lazily
# (by OpenFHE), no imaginary halves.
ROTOM = Techniques(
    calibrated_costs=False,
    client_copies=False,
    tuned_widths=False,
    hoisting=False,
    complex_packing=False,
    shared_babies=False,
    shared_giants=False,
    lazy_relinearization=False,
)

# Fhelipe's way, as the Rotom paper compares with: tensors in order, general permutations by masks and rotations,
# products by rotating and adding. The diagonals of convolutions are one rotation each.
ROW_MAJOR = replace(ROTOM, layout_search=False, rolls=False, baby_steps=False)
