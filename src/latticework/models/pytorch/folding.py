"""Fold values that no input reaches: PyTorch computes them at import, so they are exactly the module's.

Masks, positions and reshaped weights are such; whole numbers stay whole numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import ShapeError, TraceError
from latticework.ir.location import Loc
from latticework.models.pytorch.export import first_sentence
from latticework.values.inputs.reading_budget import limit_remedy, take_elements


def fold(torch: Any, node: Any, values: dict[Any, Any], at: Loc) -> Any:
    """The value of a node of an exported graph whose operands are all in `values`.

    raises  TraceError where PyTorch cannot compute it
    """

    def value_of(argument: Any) -> Any:
        return torch.fx.node.map_arg(argument, lambda operand: values[operand])

    made = node.meta.get("val")
    for each in made if isinstance(made, tuple | list) else (made,):
        if isinstance(each, torch.Tensor) and not take_elements(int(each.numel())):
            raise ShapeError(
                f"{node.target} makes {each.numel()} public numbers, more than allowed here: "
                f"{limit_remedy('memory_bytes')}",
                at=at,
            )
    try:
        with torch.no_grad():
            value = node.target(*value_of(node.args), **value_of(node.kwargs))
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        raise TraceError(
            f"{node.target} of public numbers fails in PyTorch ({first_sentence(str(error))}); compute them beforehand "
            "and register them as a buffer",
            at=at,
        ) from error
    return torch.zeros_like(value) if is_uninitialised(torch, node) else value


def is_uninitialised(torch: Any, node: Any) -> bool:
    """Whether an operator gives memory as it is: all of it is written later, and until then it could hold a NaN."""
    names = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")
    return getattr(node.target, "overloadpacket", None) in [getattr(torch.ops.aten, name) for name in names]


def is_random(torch: Any, node: Any) -> bool:
    """Whether an operator draws random numbers."""
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def to_numpy(torch: Any, tensor: Any) -> npt.NDArray[Any]:
    """A tensor as an array that shares its memory; bfloat16, which NumPy has not, as float32."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    return np.asarray(tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy())
