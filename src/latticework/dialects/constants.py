"""The compact constants of ``plan`` registered as attributes: the values, maps and polynomials that ops carry."""

from __future__ import annotations

from latticework.ir import register_attribute
from latticework.plan.butterflies import Butterflies
from latticework.plan.constants import Access, ConstRef, Diagonal, Gather, LinearMap, Polynomial
from latticework.plan.pack import PackDim, PackMap

for _name, _class in {
    "pack_dim": PackDim,
    "pack_map": PackMap,
    "access": Access,
    "gather": Gather,
    "butterflies": Butterflies,
    "const_ref": ConstRef,
    "diagonal": Diagonal,
    "linear_map": LinearMap,
    "polynomial": Polynomial,
}.items():
    register_attribute(_name)(_class)

__all__ = ["ConstRef", "Diagonal", "LinearMap", "Polynomial"]
