"""What the driver has to know of a workload."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.suite.stage_process import StageUsage

SUITE = Path(__file__).parent
COMPUTE = "server_encrypted_compute"


@dataclass(frozen=True)
class Size:
    """A size of a workload.

    number    what stages are called with
    count     rows, or vectors
    measured  its folder in `measurements`
    """

    name: str
    number: int
    count: int
    measured: str


class Workload(ABC):
    """A workload of the suite: its sizes and stages, its data, and what its results are checked against.

    name      of the folder with its submission
    sizes     by name
    options   of all stages, after the number of the size
    once      names of stages that run once for a size, in order; those of the server begin with `server_`
    each      names of stages that run for each input
    sent      what is measured in bytes: by name, the file or folder below `io/<size>`
    to_server, from_server  folders below `io/<size>` that the client sends, and gets
    """

    name: str
    sizes: Mapping[str, Size]
    options: tuple[str, ...] = ()
    once: tuple[str, ...]
    each: tuple[str, ...]
    sent: Mapping[str, str]
    to_server: tuple[str, ...]
    from_server: str = "ciphertexts_download"

    @property
    def submission(self) -> Path:
        """The folder with the stages."""
        return SUITE / self.name

    @abstractmethod
    def complete(self, submission: Path) -> None:
        """Put into a copy of the submission what it needs beside its files, before it is built."""

    @abstractmethod
    def write_dataset(self, root: Path, size: Size, rng: np.random.Generator) -> None:
        """Write what stays the same for all runs, below `root`, as the suite's driver does."""

    @abstractmethod
    def write_input(self, root: Path, size: Size, rng: np.random.Generator) -> None:
        """Write the input of a run, below `root`, as the suite's driver does."""

    @abstractmethod
    def check(self, root: Path, size: Size, usages: Mapping[str, StageUsage]) -> dict[str, Any]:
        """Compare the results of a run with NumPy: `is_right`, and other facts by name."""
