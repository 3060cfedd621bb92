"""What our compiler is measured against on its own machine: itself without what others do not have.

Both baselines use the same kernels, threads, security and precision as the rest; they differ in what compilation may
do.
"""

from __future__ import annotations

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
