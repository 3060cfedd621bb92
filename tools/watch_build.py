"""Run a build and say how far it is: one line that changes on a terminal, a few lines elsewhere.

    python tools/watch_build.py NAME COMMAND...

Shows the steps that Ninja counts ("[12/31] Building CXX object ...") and the end; of a build that fails the last lines,
and its exit status.
"""

import re
import subprocess
import sys
import time
from collections import deque
from pathlib import PurePath
from typing import TextIO

STEP = re.compile(r"\[(?P<done>\d+)/(?P<all>\d+)\] (?:Building|Linking) .*?(?P<what>\S+)$")
SHOWN_OF_FAILURE = 60  # lines
PARTS = 4  # lines about a whole build where nobody watches


class Progress:
    """Says which step a build is at."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name, self._stream = name, stream
        self._is_terminal = stream.isatty()
        self._part = -1
        self._start = time.monotonic()

    def step(self, done: int, total: int, what: str) -> None:
        """A step that begins."""
        seconds = time.monotonic() - self._start
        text = f"{self._name}: {done} of {total} compilations, {seconds:.0f} s"
        part = done * PARTS // total
        if self._is_terminal:
            print(f"\r\x1b[K{text}: {PurePath(what).stem}", end="", file=self._stream, flush=True)
        elif part != self._part:
            print(text, file=self._stream, flush=True)
        self._part = part

    def end(self, status: int) -> None:
        """The end, well or not."""
        start = "\r\x1b[K" if self._is_terminal else ""
        how = "built" if status == 0 else "FAILED"
        print(f"{start}{self._name}: {how} after {time.monotonic() - self._start:.0f} s", file=self._stream, flush=True)


def watched(name: str, command: list[str], stream: TextIO) -> int:
    """The exit status of a command whose steps are shown."""
    progress, last = Progress(name, stream), deque[str](maxlen=SHOWN_OF_FAILURE)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            last.append(line)
            if step := STEP.search(line.rstrip()):
                progress.step(int(step["done"]), int(step["all"]), step["what"])
    progress.end(run.returncode)
    if run.returncode:
        stream.writelines(last)
    return run.returncode


if __name__ == "__main__":
    sys.exit(watched(sys.argv[1], sys.argv[2:], sys.stderr))
