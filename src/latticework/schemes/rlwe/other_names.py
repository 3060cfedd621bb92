"""Names that other libraries use for calls here: asking for one says what it is called."""

from __future__ import annotations

from typing import NoReturn

from latticework.schemes.rlwe.checks import type_text

# Of SEAL, OpenFHE and Lattigo (docs/expert-names.md has all), where the name says which call is meant.
OTHER_NAMES = {
    "multiply": "mul", "multiply_plain": "mul_plain", "negate": "neg", "exponentiate": "power",
    "rescale_to_next": "rescale", "mod_switch_to_next": "mod_switch", "mod_switch_to": "mod_switch",
    "rotate_vector": "rotate", "rotate_rows": "rotate", "rotate_columns": "swap_rows",
    "complex_conjugate": "conjugate", "invariant_noise_budget": "noise_budget",
    "create_public_key": "public_key", "create_relin_keys": "relin_key", "create_galois_keys": "galois_keys",
    "EvalAdd": "add", "EvalSub": "sub", "EvalNegate": "neg", "EvalMult": "mul_relin", "EvalMultNoRelin": "mul",
    "EvalSquare": "square", "EvalRotate": "rotate", "EvalAtIndex": "rotate", "EvalFastRotation": "rotate_many",
    "EvalSum": "inner_sum", "EvalBootstrap": "bootstrap", "Relinearize": "relinearize", "Rescale": "rescale",
    "LevelReduce": "mod_switch", "Compress": "mod_switch", "MulRelinNew": "mul_relin", "MulNew": "mul",
    "DropLevel": "mod_switch", "InnerSum": "inner_sum", "RotateHoistedNew": "rotate_many",
}  # fmt: skip


class KnowsOtherNames:
    """An object whose calls are found by their names here only, and whose errors know the others."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        here = OTHER_NAMES.get(name, "")
        if here and hasattr(type(self), here):
            raise AttributeError(f"{type_text(self)} has no {name}: it is called {here} here (docs/expert-names.md)")
        raise AttributeError(f"{type_text(self)} has no attribute {name!r}")
