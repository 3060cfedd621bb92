"""What `lw.compile` was asked for, of a circuit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from latticework.compiler.pipeline import OnEvent
from latticework.cost import CostModel
from latticework.model import Model
from latticework.techniques import Techniques


@dataclass(frozen=True)
class CircuitOptions:
    """What `lw.compile` was asked for, beside the circuit; see there.

    rows  of a batch in a run, or "fill"; None: no batch
    """

    weights: Any
    calibrate: Any
    precision_bits: float
    ring_degree: int | None
    security_bits: int
    insecure: bool
    costs: CostModel
    techniques: Techniques
    bits_a_second: float
    on_event: OnEvent | None
    algorithm: str
    effort: str
    seed: int
    plain_bits: int = 20
    plain_modulus: int | None = None
    spare_levels: int = 0
    like: Model | None = None
    wraps: bool = False
    rows: int | str | None = None

    @property
    def allows_insecure(self) -> bool:
        """Whether the user asked for insecure parameters, here or of the model whose parameters are taken over."""
        return self.insecure or (self.like is not None and self.like.allow_insecure)
