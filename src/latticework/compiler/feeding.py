"""Results that are inputs of the next run, still encrypted: which output is which input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from latticework.dialects.tensor import TensorType
from latticework.errors import ShapeError, TraceError, UserError
from latticework.frontend import Program
from latticework.ir import Module


def find_fed(program: Program, module: Module, feed: Any) -> Mapping[int, int]:
    """Numbers of outputs -> numbers of inputs, of {input: output} by name.

    raises  TraceError for names that are none, or an output that is two inputs; ShapeError for other shapes
    """
    if feed is None:
        return {}
    if not isinstance(feed, Mapping):
        raise UserError(
            f"compile: feed= is a {type(feed).__name__}; give a dictionary of inputs and the results that they are in "
            "the next run, such as {'w': 'result'}",
            at=program.loc,
        )
    secret = [name for name, v in zip(module.input_names, module.inputs, strict=True) if isinstance(v.type, TensorType)]
    found: dict[int, int] = {}
    for name, output in feed.items():
        if name not in secret or output not in module.outputs:
            raise TraceError(
                f"compile: feed= makes {output!r} the input {name!r}; encrypted inputs of program {program.name} are "
                f"{', '.join(secret) or 'none'}, results {', '.join(module.outputs)}",
                at=program.loc,
            )
        of, number = module.input_names.index(name), module.outputs.index(output)
        if number in found:
            raise TraceError(f"compile: feed= makes {output!r} two inputs; return it twice", at=program.loc)
        shapes = module.inputs[of].type.shape, module.body.terminator.operands[number].type.shape  # type: ignore[attr-defined]
        if shapes[0] != shapes[1]:
            raise ShapeError(
                f"compile: feed= makes {output!r} of shape {shapes[1]} the input {name!r} of shape {shapes[0]}",
                at=program.loc,
            )
        found[number] = of
    return found
