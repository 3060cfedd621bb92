"""Public run-time integers, such as trip counts, as client or server give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from latticework.errors import DtypeError, RangeError, TraceError
from latticework.plan.schema.schema import ClientSpec, IndexInput
from latticework.runtime.exchange.decrypted import OwnerValue
from latticework.runtime.exchange.encrypted import Encrypted


def check_integer(where: str, spec: IndexInput, value: Any) -> int:
    """A value of a run-time integer.

    raises  DtypeError for what is no whole number, RangeError outside of what the plan was compiled for
    """
    if isinstance(value, Encrypted | OwnerValue):
        raise DtypeError(f"{where} is an {type(value).__name__}; how often a loop runs is public: give a whole number")
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise DtypeError(f"{where} is a {type(value).__name__}; give a whole number, such as a number of iterations")
    if not 0 <= value <= spec.limit:
        remedy = "give a number in this range"
        if value > 0:
            remedy = (
                f"compile with calibrate={{..., {spec.name!r}: {value}}} (and at_most={value} of its loop) for more"
            )
        raise RangeError(f"{where} is {value}; the program was compiled for 0 to {spec.limit}: {remedy}")
    return int(value)


def check_integers(spec: ClientSpec, given: Mapping[str, Any]) -> dict[str, int]:
    """Run-time integers by name, as the server gives them.

    raises  TraceError for a name that is none; as `check_integer`
    """
    known = {i.name: i for i in spec.inputs if isinstance(i, IndexInput)}
    for name in given:
        if name not in known:
            listed = ", ".join(known) or "none"
            is_secret = any(i.name == name for i in spec.inputs)
            told = "is encrypted by the client" if is_secret else "is no input of it"
            raise TraceError(
                f"program {spec.name}: {name} {told}; the server may choose the run-time integers (lw.Index), which "
                f"are {listed}"
            )
    return {n: check_integer(f"program {spec.name}, input {n}", known[n], value) for n, value in given.items()}
