"""The operands of one operation while it is decided: what each is like by now, and the steps that made it so."""

from __future__ import annotations

from latticework.compiler.levels.level_plan import (
    LADDER,
    TOP,
    CipherState,
    Drop,
    Encrypt,
    Settle,
    State,
    Step,
    after,
)


class Operands:
    """The operands of one operation, and the steps on them so far."""

    __slots__ = ("states", "steps")

    def __init__(self, states: list[State]) -> None:
        self.states = states
        self.steps: list[tuple[int, Step]] = []

    def step(self, number: int, step: Step) -> None:
        """One more step on an operand."""
        self.states[number] = after(self.states[number], step)
        self.steps.append((number, step))

    def cipher(self, number: int) -> CipherState:
        """The state of an operand that is a ciphertext by now."""
        state = self.states[number]
        assert state is not None
        return state

    def encrypt(self, number: int, level: int = TOP) -> None:
        """A public operand as a ciphertext."""
        if self.states[number] is None:
            self.step(number, Encrypt(level))

    def settle(self, number: int) -> None:
        """Nothing pending."""
        step = settling(self.cipher(number))
        if step is not None:
            self.step(number, step)

    def bring(self, number: int, level: int) -> None:
        """Settled, at a level."""
        if self.states[number] is None:
            self.step(number, Encrypt(level))
            return
        self.settle(number)
        if self.cipher(number).level != level:
            self.step(number, Drop(level))

    def meet(self, first: int | None = None) -> int:
        """Settle all operands, or the first `number`, on the lowest level of any, or at the top; return that level."""
        ciphers = [number for number, state in enumerate(self.states[:first]) if state is not None]
        for number in ciphers:
            self.settle(number)
        level = min((self.cipher(number).level for number in ciphers), default=TOP)
        for number in range(len(self.states[:first])):
            self.bring(number, level)
        return level


def settling(state: CipherState) -> Settle | None:
    """The step that settles a value, if one does."""
    return None if state.is_settled else Settle(state.degree > 1, state.scale != LADDER)
