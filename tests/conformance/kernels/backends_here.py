"""The backends that the suite runs: every one by itself, `cpu` once for each instruction set, `sim` for each order."""

import pytest

from latticework import _core
from latticework.devices.drivers import load_driver

load_driver()
VARIANTS = [*_core.backend_variants("cpu"), *_core.backend_variants("sim")]  # for `cpu` and `sim` themselves
if "cuda" in _core.backend_names():
    VARIANTS += _core.backend_variants("cuda")
BACKENDS = [
    pytest.param(name, id=name, marks=[] if is_here else pytest.mark.skip(f"no instructions for {name} here"))
    for name, is_here in [
        *VARIANTS,
        *((name, True) for name in _core.backend_names() if name not in ("cpu", "cuda", "sim")),
    ]
]
DEVICES = {
    name for of in ("cuda", "sim") for name, _ in _core.backend_variants(of)
}  # that do not compute in threads of the host
EXCEPT_REF = [backend for backend in BACKENDS if backend.id != "ref"]


def with_sizes(backends, sizes, most_in_other_orders):
    """Each with each, but for `sim` in other orders than forward, which only repeat it, up to a size."""
    return [
        pytest.param(*backend.values, size, id=f"{backend.id}-{size}", marks=backend.marks)
        for backend in backends
        for size in sizes
        if size <= most_in_other_orders or not backend.id.endswith(("-reversed", "-shuffled"))
    ]
