"""One library in a process of its own, which runs an operation when asked to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.peers.environments import variables

WORKERS = Path(__file__).parent / "workers"
PATIENCE_SECONDS = 10.0  # with a worker that is to end


class Failed(Exception):
    """An operation or a whole library that did not run; the message says what it said."""


def processors(threads: int) -> list[int]:
    """The processors that a comparison on so many threads is bound to: the last ones that may be used."""
    return sorted(os.sched_getaffinity(0))[-threads:]


class Library:
    """A running worker.

    name        what rows call it
    facts       what it says about its version and parameters
    operations  names of what it can run
    raises      Failed if it does not start
    """

    def __init__(self, name: str, python: Path | None, worker: str, arguments: Sequence[str], threads: int) -> None:
        """python: what runs the worker, a file of WORKERS; None where the worker is the path of a program."""
        self.name = name
        bound = processors(threads)
        inherited = os.environ if python == Path(sys.executable) else variables()
        environment = inherited | {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
        self.chatter = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        self.process = subprocess.Popen(
            [*([] if python is None else [str(python)]), str(WORKERS / worker), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.chatter,
            text=True,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, bound),  # noqa: PLW1509 (no other threads here)
        )
        try:
            started = self._answer()
        except Failed:
            self.close()
            raise
        self.facts: dict[str, Any] = started["facts"]
        self.operations: list[str] = started["operations"]

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request.

        raises  Failed
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise Failed(f"{self.name}: {answer['failed']}")
        return answer

    def _ended(self) -> Failed:
        status = self._status()
        self.chatter.seek(0)
        last = (self.chatter.read().decode(errors="replace").strip().splitlines() or ["nothing said"])[-1]
        return Failed(f"{self.name} has ended with status {status}: {last[:200]}")

    def _status(self) -> int:
        """What the worker ends with; in the middle of a request whose answer nobody waits for, it is ended."""
        try:
            return self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def close(self) -> None:
        """End the worker; its memory is free afterwards."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self._status()
        self.process.stdout.close()
        self.chatter.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
