"""The schedule of a vectorised circuit on lanes, as a plan keeps it for reports."""

from __future__ import annotations

from latticework.lazy_dataclass import dataclass

MAX_STEPS = 400  # instructions that are kept, from the first
MAX_LANES = 64  # lanes that are kept, of those in use, from the lowest
MAX_LABEL = 40  # characters of a label


@dataclass(frozen=True, slots=True)
class ScalarCounts:
    """Scalar operations on secret numbers. adds: subtractions too; constants: products and sums with public numbers."""

    muls: int
    adds: int
    negs: int
    mul_constants: int
    add_constants: int


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """Vector instructions. adds: subtractions and the merges of blends too; mul_constants: without masks.

    blends  merges of vectors that needed a mask;  inputs  ciphertexts that the client sends
    """

    muls: int
    adds: int
    negs: int
    mul_constants: int
    add_constants: int
    rotations: int
    blends: int
    masks: int
    inputs: int


@dataclass(frozen=True, slots=True)
class LaneStep:
    """One vector instruction; it makes the register of the same number.

    op           input, rotate, add, sub, mul, neg, add_constant, mul_constant, mask or merge (an addition that only
                 brings lanes of two registers together)
    left, right  registers, smaller than its own number; -1: none
    steps        of a rotation: lane l of the result is lane l + steps of the operand
    stage        number of the scheduled group that it computes, or brings operands to
    name         of an input: whose elements it holds
    lanes        (lane, label) of what later steps or the outputs read there, lanes ascending; label -1: something that
                 the circuit has no name for, such as the difference of two values of which one is chosen
    """

    op: str
    left: int
    right: int
    steps: int
    stage: int
    name: str
    lanes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class CircuitStrategy:
    """A strategy to compute the circuit, and its predicted seconds, `sending` being what goes in and comes out."""

    name: str
    seconds: float
    chosen: bool
    sending: float = 0.0


@dataclass(frozen=True, slots=True)
class CircuitRecord:
    """A circuit of scalar operations and what became of it.

    method     how lanes were found: search, annealing, scalar, apart (scalar, of numbers sent one by one); or tensors,
               where the circuit was recognised as these
    width      lanes of a vector
    written    scalar operations as the program states them;  needed  those left after common ones were shared
    vector     what the vector code executes; None where the circuit became tensors
    labels     texts of the values that `steps` name
    steps      the first instructions, restricted to the first lanes in use;  num_steps, num_lanes  how many there are
    outputs    (name, register, lane)
    formulas   of a circuit that was recognised as tensors: what it computes, a line a tensor
    ways       those that were priced
    """

    method: str
    width: int
    written: ScalarCounts
    needed: ScalarCounts
    vector: VectorCounts | None
    labels: tuple[str, ...]
    steps: tuple[LaneStep, ...]
    num_steps: int
    num_lanes: int
    outputs: tuple[tuple[str, int, int], ...]
    formulas: tuple[str, ...]
    ways: tuple[CircuitStrategy, ...]

    def holds_together(self) -> bool:
        """Whether all numbers point to what is there."""
        known = range(-1, len(self.labels))
        return (
            0 <= len(self.steps) <= self.num_steps
            and self.num_lanes <= self.width
            and all(0 <= register < self.num_steps and 0 <= lane < self.width for _, register, lane in self.outputs)
            and all(
                -1 <= step.left < number
                and -1 <= step.right < number
                and all(0 <= lane < self.width and label in known for lane, label in step.lanes)
                for number, step in enumerate(self.steps)
            )
        )
