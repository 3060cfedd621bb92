"""Labels as an estimator has them (names, or numbers of its own), as numbers of its classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latticework.errors import RangeError
from latticework.errors.rounded_numbers import write_value
from latticework.values.inputs.foreign_arrays import in_numpy, is_tensor

_SHOWN = 8


def number_labels(labels: Any, classes: Sequence[Any]) -> Any:
    """Labels by the places that they have among classes; as they are where they are floats, or of no class.

    classes  of the estimator, in the order of its columns; (): they are not known
    raises   RangeError for texts of which one is no class
    """
    if labels is None or not len(classes):
        return labels
    given = np.asarray(in_numpy(labels) if is_tensor(labels) else labels)
    if given.dtype.kind not in "iubUSO":
        return labels
    known, is_text = np.asarray(classes), given.dtype.kind in "USO"
    if is_text or known.dtype.kind not in "iubf":
        if not is_text:
            return labels  # numbers of classes that have names
        given, known = given.astype(str), known.astype(str)
    strange = ~np.isin(given, known)
    if strange.any() and not is_text:
        return labels
    if strange.any():
        listed = ", ".join(known[:_SHOWN].tolist()) + (" ..." if len(known) > _SHOWN else "")
        raise RangeError(
            f"labels hold {write_value(given[strange][0].item())}, which is none of the {len(known)} classes of the "
            f"estimator ({listed}); give labels by those names"
        )
    order = np.argsort(known, kind="stable")
    return order[np.searchsorted(known[order], given)]
