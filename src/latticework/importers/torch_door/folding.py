"""What no input reaches: computed by PyTorch itself when a module is imported, so it is exactly what the module has.

Masks, positions and reshaped weights are such; whole numbers stay whole numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def fold(torch: Any, node: Any, values: dict[Any, Any]) -> Any:
    """The value of a node of an exported graph whose operands are all in `values`."""

    def given(argument: Any) -> Any:
        return torch.fx.node.map_arg(argument, lambda operand: values[operand])

    with torch.no_grad():
        return node.target(*given(node.args), **given(node.kwargs))


def is_random(torch: Any, node: Any) -> bool:
    """Whether an operator draws random numbers."""
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def to_numpy(torch: Any, tensor: Any) -> npt.NDArray[Any]:
    """A tensor as an array that shares its memory; bfloat16, which NumPy has not, as float32."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    return np.asarray(tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy())
