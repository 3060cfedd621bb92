"""`OldModel`: the model given as `like=`, as a compilation takes over of it what it can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps import Affine, OwnerStages
from latticework.plan.parameters import ModulusChain
from latticework.plan.schema.schema import ClientSpec, Plan, SecretInput
from latticework.values.packing.key_manifest import KeySpec

Range = tuple[float, float]


@dataclass(frozen=True)
class OldModel:
    """A model whose parameters a new one has: its plan, of which nothing but the client's part and degrees is read."""

    plan: Plan

    @property
    def client(self) -> ClientSpec:
        """Its client file."""
        return self.plan.client

    @property
    def chain(self) -> ModulusChain:
        """Its parameters."""
        return self.plan.chain

    @property
    def keys(self) -> tuple[KeySpec, ...]:
        """The evaluation keys that its server has."""
        return self.client.manifest.specs

    @property
    def levels(self) -> int:
        """Levels that a program may spend, between bootstraps if there are any."""
        return self.chain.main.top - self.chain.floor

    def starts(self, names: Sequence[str | None]) -> tuple[int, ...] | None:
        """Levels at which its inputs start, counted down from the top; None where inputs have other names.

        names  None: a run-time integer, which has no level
        """
        top = self.chain.main.top
        known: dict[str | None, int] = {each.name: each.level for each in self.client.secret_inputs}
        known[None] = top
        return tuple(known[name] - top for name in names) if all(name in known for name in names) else None

    def ends(self, names: Sequence[str]) -> dict[int, int]:
        """Levels at which its outputs end, counted so, by number."""
        known = {each.name: each.level for each in self.client.outputs}
        return {n: known[name] - self.chain.main.top for n, name in enumerate(names) if name in known}

    def ranges(self, samples: Sequence[Mapping[str, Any]]) -> dict[str, Range]:
        """Ranges that its client accepts of those inputs whose samples all lie within."""
        return {
            each.name: (each.low, each.high)
            for each in self.client.secret_inputs
            if all(each.name in sample and _lies_in(sample[each.name], each) for sample in samples)
        }

    def degrees(self) -> list[int | None]:
        """Degrees of the polynomials of its functions, in the order of the program; None: what is no single polynomial,
        or has a degree that its user gave."""
        return [None if each.form or each.given else each.degree for each in self.plan.approximations]

    def intervals(self) -> tuple[Range, ...]:
        """Intervals on which its functions are approximated, in the order of the program."""
        return tuple((each.low, each.high) for each in self.plan.approximations)

    def column_scaling(self, stages: OwnerStages, name: str, columns: npt.NDArray[np.float64]) -> Affine | None:
        """The step by which its client brings columns of an input to [-1, 1], if that fits the new model too.

        stages   what the owner of the new model does before: the same as of the old one, or there is none
        columns  rows of the input, (count, columns)
        """
        known = next((each for each in self.client.secret_inputs if each.name == name), None)
        prepared = None if self.client.owner is None else self.client.owner.prepared(name)
        if known is None or prepared is None:
            return None
        steps = prepared.steps or prepared.pieces[0].steps
        step = steps[-1] if steps else None
        if not isinstance(step, Affine) or step.scale.shape != columns.shape[1:] or not step.scale.array.all():
            return None
        is_same = stages.followed_by(name, known.shape, step).prepared(name) == prepared
        return step if is_same and _lies_in(step.apply(columns), known) else None


def _lies_in(values: Any, given: SecretInput) -> bool:
    array = np.asarray(values, dtype=np.float64)
    return bool(array.size and given.low <= array.min() and array.max() <= given.high)
