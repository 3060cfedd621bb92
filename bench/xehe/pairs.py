"""The same keys and ciphertexts on a device and on the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.reports import Row
from bench.xehe.bounds import bounded
from bench.xehe.place import Place, counted, host_seconds
from latticework import ckks
from latticework.commands.machine.bootstrap_timing import CONSTANT_BYTES

CALLS = 16  # before the host waits
Run = Callable[[], Any]


@dataclass(frozen=True)
class Pair:
    """An evaluator of each side, for ciphertexts of one owner."""

    device: Any
    host: Any
    encryptor: Any
    decryptor: Any

    @classmethod
    def make(cls, scheme: Any, parameters: Any, place: Place, **keys: Any) -> Pair:
        """keys: as of `KeyGenerator.evaluation_keys`."""
        generator = scheme.KeyGenerator(parameters)
        secret, made = generator.secret_key(), generator.evaluation_keys(**keys)
        options = {"constant_bytes": CONSTANT_BYTES} if scheme is ckks else {}  # as other benchmarks of bootstraps
        host = scheme.Evaluator(parameters, made, **options)
        return cls(
            host._at(place.device), host, scheme.Encryptor(parameters, secret), scheme.Decryptor(parameters, secret)
        )

    def encrypt(self, values: Any) -> tuple[Any, Any]:
        """One ciphertext, on the device and on the host."""
        x = self.encryptor.encrypt(values).using(self.host)
        return x._at(self.device.parameters._place), x


def is_same(ours: Any, theirs: Any) -> bool:
    """Whether two ciphertexts are the same bytes."""
    return bool(ours.to_bytes() == theirs.to_bytes())


def compared(
    place: Place, case: str, ours: Run, theirs: Run, moved: list[float], *, name: str = "", calls: int = CALLS,
    repeats: int = 5, unit: str = "us", note: str | None = None, **details: Any,
) -> Row:  # fmt: skip
    """A case on the device beside the host: time, bounds and the host's time; counts on a simulation."""
    checked = is_same(ours(), theirs())
    if not place.is_timed:
        return counted(case, place.counts(ours, is_first=False), checked=checked, note=note, details=details)
    seconds, at_home = place.seconds(ours, calls, repeats), host_seconds(theirs, (repeats + 1) // 2)
    return bounded(place, case, seconds, moved, unit, name=name, host=at_home, checked=checked, **details)


def described(parameters: ckks.Parameters) -> dict[str, Any]:
    """For details."""
    return {"parameters": repr(parameters)}
