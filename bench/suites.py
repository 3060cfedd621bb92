"""The suites by name: each is a typer application, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

SUITES = {
    "boot": "bench.boot",
    "micro": "bench.micro.suite",
    "peers": "bench.peers.suite",
    "digits": "bench.digits.suite",
    "lenet": "bench.lenet.suite",
    "keys": "bench.keys",
    "threads": "bench.threads",
    "constants": "bench.constants",
    "reading": "bench.reading",
    "rotom": "bench.rotom.suite",
    "coyote": "bench.coyote.suite",
    "halo": "bench.halo.suite",
    "xehe": "bench.xehe.suite",
    "keymemrt": "bench.keymemrt.suite",
    "placement": "bench.placement.suite",
    "many-rows": "bench.many_rows.suite",
    "suite": "bench.suite.driver",
    "scales": "bench.scales",
    "prices": "bench.prices",
    "quote": "bench.quote",
    "compile-time": "bench.compile_time",
    "zoo": "bench.zoo.suite",
    "like": "bench.retraining.suite",
    "export": "bench.export.suite",
    "pipelines": "bench.pipelines.suite",
    "keymemrt-openfhe": "bench.keymemrt.on_openfhe.suite",
    "start": "bench.start",
    "show": "bench.stored",
}


def suite(name: str) -> Any:
    """The typer application of a suite."""
    return import_module(SUITES[name]).app
