"""The order of passes: the one place that knows it. The order of stages is in `pipeline.py`."""

from __future__ import annotations

from collections.abc import Callable

from latticework.compiler.levels import unroll
from latticework.compiler.passes import (
    center_parabolas,
    cse,
    dce,
    factor_sums,
    fold_affine,
    fold_splats,
    hoist_invariants,
    inverse_products,
    merge_maps,
    merge_matrices,
    normalize_polynomials,
    share_inputs,
    share_outputs,
)
from latticework.ir import PassEvent

TIDY_PASSES = (cse.PASS, dce.PASS)
TENSOR_PASSES = TIDY_PASSES
PARABOLA_PASSES = (center_parabolas.PASS, *TENSOR_PASSES)
AFFINE_PASSES = (fold_affine.PASS, *TIDY_PASSES)
AFFINE_PASSES_WHOLE = (fold_affine.PASS_WHOLE, *TIDY_PASSES)
MATRIX_PASSES = (merge_matrices.PASS, *TIDY_PASSES)
REWRITING_PASSES = (cse.PASS, inverse_products.PASS, dce.PASS)
FOLDING_PASSES = (normalize_polynomials.PASS, fold_splats.PASS, *TIDY_PASSES)
MERGING_PASSES = (merge_maps.PASS, *TIDY_PASSES)
MERGING_PASSES_ONCE = (merge_maps.PASS_ONCE, *TIDY_PASSES)
SHARING_PASSES = (share_outputs.PASS, *TIDY_PASSES, share_inputs.PASS, *TIDY_PASSES)
VECTOR_PASSES = (*FOLDING_PASSES, *SHARING_PASSES)
HOISTING_PASSES = (hoist_invariants.PASS, *TIDY_PASSES)
FACTORING_PASSES = (factor_sums.PASS, *TIDY_PASSES)
UNROLLING_PASSES = (unroll.PASS, *TIDY_PASSES)
LEFT_OUT = {"shared_babies": share_inputs.PASS, "shared_giants": share_outputs.PASS}  # with a technique

OnPassEvent = Callable[[PassEvent], None]
