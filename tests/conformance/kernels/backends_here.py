"""The backends that the suite runs: every one by itself, `cpu` once for each instruction set, `sim` for each order."""

import pytest
from devices_here import DRIVEN

from latticework import _core
from latticework.runtime.devices.drivers import DRIVERS

VARIANTS = [*_core.backend_variants("cpu"), *_core.backend_variants("sim")]  # for `cpu` and `sim` themselves
for kind in DRIVEN:
    VARIANTS += _core.backend_variants(kind)
BACKENDS = [
    pytest.param(name, id=name, marks=[] if is_here else pytest.mark.skip(f"no instructions for {name} here"))
    for name, is_here in [
        *VARIANTS,
        *((name, True) for name in _core.backend_names() if name not in ("cpu", *DRIVEN, "sim")),
    ]
]
DEVICES = {
    name for of in (*DRIVERS, "sim") for name, _ in _core.backend_variants(of)
}  # that do not compute in threads of the host
EXCEPT_REF = [backend for backend in BACKENDS if backend.id != "ref"]


def is_other_order(name):
    """Whether a backend repeats another one, of which only the order of blocks and threads differs."""
    return name.endswith(("-reversed", "-shuffled"))


ONE_ORDER = [backend for backend in BACKENDS if not is_other_order(backend.id)]


def with_sizes(backends, sizes, most_in_other_orders, most_quick=1 << 17):
    """Each with each, but in other orders of `sim` up to a size. Slow are what is simulated of more than `most_quick`,
    and degrees above 1024 in other orders."""
    return [
        pytest.param(*backend.values, size, id=f"{backend.id}-{size}",
                     marks=[*backend.marks, *([pytest.mark.slow] if is_slow(backend.id, size, most_quick) else [])])
        for backend in backends
        for size in sizes
        if size <= most_in_other_orders or not is_other_order(backend.id)
    ]  # fmt: skip


def is_slow(name, size, most_quick):
    return "sim-" in name and size > (min(most_quick, 1024) if is_other_order(name) else most_quick)
