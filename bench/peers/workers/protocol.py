"""A worker: a process that runs one library's operations when told to. Python 3.10, standard library and NumPy only.

It reads one JSON object a line and answers with one: {"op", "seconds", "least", "most"} runs an operation at least
`least` times, for about `seconds`, and answers {"wall": [...], "cpu": [...]} in seconds; {"check": op} compares the
result of its last run with NumPy and answers {"error": largest difference}; {"value": op} answers what it returned,
a number. What a library itself prints goes to
standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Operation:
    """Something to time. check: largest error of what `run` returned last, None where there is nothing to compare."""

    run: Callable[[], Any]
    check: Callable[[Any], float] | None = None
    result: Any = None


@dataclass
class Session:
    """One library with one parameter set: its facts, and how each operation is made ready."""

    facts: dict[str, Any]
    makers: dict[str, Callable[[], Operation]]
    ready: dict[str, Operation] = field(default_factory=dict)

    def operation(self, name: str) -> Operation:
        """An operation; made ready at its first use, with a first run that is not timed."""
        if name not in self.ready:
            made = self.makers[name]()
            made.result = made.run()
            self.ready[name] = made
        return self.ready[name]

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What one request is answered with."""
        if "check" in asked:
            operation = self.operation(asked["check"])
            return {"error": None if operation.check is None else float(operation.check(operation.result))}
        if "value" in asked:
            return {"value": self.operation(asked["value"]).result}
        return timed(self.operation(asked["op"]), asked["seconds"], asked["least"], asked["most"])


def timed(operation: Operation, seconds: float, least: int, most: int) -> dict[str, list[float]]:
    """Wall and processor seconds of runs one after the other."""
    wall: list[float] = []
    cpu: list[float] = []
    start = time.perf_counter()
    while len(wall) < least or (time.perf_counter() - start < seconds and len(wall) < most):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        operation.result = operation.run()
        cpu.append(time.process_time() - cpu_start)
        wall.append(time.perf_counter() - wall_start)
    return {"wall": wall, "cpu": cpu}


def serve(make: Callable[[list[str]], Session]) -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(content: dict[str, Any]) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    session = make(sys.argv[1:])
    say({"facts": session.facts, "operations": list(session.makers)})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            say(session.answer(asked))
        except Exception as error:  # reported to the other side, which goes on with the next operation
            say({"failed": f"{type(error).__name__}: {error}"[:300]})
