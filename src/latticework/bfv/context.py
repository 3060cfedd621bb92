"""Parameters brought to life: what keys, encoders and evaluators of one parameter set share."""

from __future__ import annotations

from latticework import _core
from latticework.bfv.checks import located, needs, whole
from latticework.bfv.parameters import Parameters
from latticework.errors import ParameterMismatchError, RangeError

MAX_THREADS = 1024


class Context:
    """Tables and memory for a parameter set.

    backend  "auto" takes the fastest one that this machine has; "ref" is the reference
    threads  0: one per core
    raises   RangeError for a backend that there is not, or that cannot compute with these primes
    """

    @located
    def __init__(self, parameters: Parameters, *, backend: str | None = None, threads: int = 0) -> None:
        needs("Context: the parameters", parameters, Parameters, "give bfv.Parameters.choose(...)")
        if not 0 <= whole("Context: threads", threads) <= MAX_THREADS:
            raise RangeError(f"Context: threads={threads}; give 1 to {MAX_THREADS}, or 0 for one per core")
        self.parameters = parameters
        if backend is None:
            self.core = _core.Context(parameters.core, threads=threads)
        else:
            self.core = _core.Context(parameters.core, backend, threads=threads)

    @property
    def backend(self) -> str:
        """Name of the backend in use."""
        return self.core.backend

    def check(self, who: str, other: Context) -> None:
        """ParameterMismatchError unless a thing of `other` can be used here."""
        if other is self:
            return
        needs(f"{who}: the context", other, Context, "give bfv.Context(parameters)")
        if other.parameters != self.parameters:
            raise ParameterMismatchError(f"{who} belongs to {other.parameters!r}, not to {self.parameters!r}")
        if other.backend != self.backend:
            raise ParameterMismatchError(
                f"{who} is held by the backend {other.backend!r}, not {self.backend!r}; save it and load it here"
            )

    def __repr__(self) -> str:
        return f"bfv.Context({self.parameters!r}, backend={self.backend!r})"
