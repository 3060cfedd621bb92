"""Formulas of loop nests, in the notation of the user's own loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from latticework.compiler.lanes.nests import Nest, Reading, Stage

Shape = tuple[int, ...]
LETTERS = "ijklmnopqrstuvwxyzabcdefgh"  # of loops


def formula(stage: Stage, name: str, names: Sequence[str], stages: Sequence[Stage]) -> str:
    """A stage in words: result[i, j] = sum over k of a[i, k] * b[k, j]."""
    text = ""
    for nest in stage.nests:
        sign, term = _nest_text(nest, names, stages)
        text += f" {'-' if sign < 0 else '+'} {term}" if text else ("-" if sign < 0 else "") + term
    if not stage.shape:
        return f"{name} = {text}"
    own = ", ".join(LETTERS[: len(stage.shape)])
    alike = all(nest.extents[: nest.num_result_loops] == stage.shape for nest in stage.nests)
    return f"{name}[{own}] = {text}" if alike else f"{name} in order of {_loops(stage.nests[0])} = {text}"


def _loops(nest: Nest) -> str:
    return ", ".join(LETTERS[i] for i in range(nest.num_result_loops))


def _nest_text(nest: Nest, names: Sequence[str], stages: Sequence[Stage]) -> tuple[int, str]:
    summed = [LETTERS[i] for i in range(nest.num_result_loops, len(nest.extents)) if nest.extents[i] > 1]
    parts, sign = [], 1
    if np.ndim(nest.coefficients):
        parts.append("public")
    else:
        sign = -1 if nest.coefficients < 0 else 1
        if abs(nest.coefficients) != 1.0 or not nest.factors:
            parts.append(f"{abs(float(nest.coefficients)):g}")
    parts += [
        _reading_text(reading, nest.extents, names[reading.array], stages[reading.array].shape)
        for reading in nest.factors
    ]
    text = " * ".join(parts)
    return sign, f"sum over {', '.join(summed)} of {text}" if summed else text


def _reading_text(reading: Reading, extents: Shape, name: str, shape: Shape) -> str:
    """a[i, j + 1]: strides and start taken apart by the axes of the array; a.flat[i] where loops run over several."""
    subscripts = []
    rest = [*reading.strides, reading.start]
    for axis in range(len(shape)):
        weight = prod(shape[axis + 1 :])
        taken = [int(n / weight) for n in rest]  # rounded towards zero
        rest = [n - weight * t for n, t in zip(rest, taken, strict=True)]
        reach = sum(abs(t) * (n - 1) for t, n in zip(taken, extents, strict=False))
        if reach >= shape[axis]:
            return f"{name}.flat[{_sum_text(reading.strides, reading.start)}]"
        subscripts.append(_sum_text(taken[:-1], taken[-1]))
    return f"{name}[{', '.join(subscripts)}]" if shape else name


def _sum_text(multiples: Sequence[int], start: int) -> str:
    terms = [(n, LETTERS[i] if abs(n) == 1 else f"{abs(n)}{LETTERS[i]}") for i, n in enumerate(multiples) if n]
    terms += [(start, str(abs(start)))] if start or not terms else []
    terms.sort(key=lambda term: term[0] < 0)  # so that none begins with a minus if it can be helped
    text = ("-" if terms[0][0] < 0 else "") + terms[0][1]
    return text + "".join(f" {'-' if n < 0 else '+'} {term}" for n, term in terms[1:])
