"""Measure the cases in this process, and print the figures as JSON: run by the interpreter of a wheel's environment."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import warnings
from pathlib import Path
from statistics import median
from typing import Any

import latticework
from bench.performance.interleaved import Samples, calibrate, measure, processor_seconds, seconds_of
from bench.performance.timed_cases import all_cases
from latticework.commands.machine.machine_description import describe_machine

SOURCES = Path(__file__).parents[2]


def measure_here(rounds: int, only: list[str]) -> dict[str, Any]:
    """Figures of the cases, of those in `only` if it names any."""
    place = Path(latticework.__file__).resolve()
    if SOURCES in place.parents:
        sys.exit(f"{place} is the source tree; measure an installed wheel (python -m bench.performance makes one)")
    found: dict[str, Samples] = {}
    chosen = ((name, action) for name, action in all_cases() if not only or name in only)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measure(chosen, rounds, found)
    return {
        "cpu": describe_machine()["cpu"],
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        "calibration": float(f"{median(seconds_of(calibrate, processor_seconds) for _ in range(9)):.4g}"),
        "samples": {name: [samples.seconds, samples.ratios] for name, samples in found.items()},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int)
    parser.add_argument("only", nargs="*")
    given = parser.parse_args()
    print(json.dumps(measure_here(given.rounds, given.only)))
