"""Fine-tuning: modules of PyTorch whose functions are already the polynomials that will run encrypted.

`prepare_module.py` makes such a module of another, and `training.py` has what its training takes.
`trainable_polynomial.py` is one function of it; `calls.py` puts something in the place of the functions that a forward
calls, which `sequence.py` knows again in every forward; `finding.py` says which of them are functions of one number,
`argument_ranges.py` what they are given.

The only part of latticework that imports PyTorch where it is imported itself: nothing but `lw.torch` does that.
"""

from latticework.models.pytorch.export import import_torch

import_torch("lw.torch")

from latticework.models.finetuning.prepare_module import PreparedModule, prepare  # noqa: E402
from latticework.models.finetuning.trainable_polynomial import PolynomialFunction  # noqa: E402
from latticework.models.finetuning.training import range_loss, recalibrate  # noqa: E402

__all__ = ["PolynomialFunction", "PreparedModule", "prepare", "range_loss", "recalibrate"]
