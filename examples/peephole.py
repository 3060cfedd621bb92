"""A compiler pass of your own: two values that are rotated alike are multiplied first, and rotated once.

`np.roll(x, 1) * np.roll(y, 1)` takes two rotations, each with a key switch, and `np.roll(x * y, 1)` one, a level lower.
The pass is `rotate_once`; latticework verifies what it returns, runs the program in the clear before and after, and
names the pass in the plan.
"""

from __future__ import annotations

import sys

import numpy as np

import latticework as lw

ELEMENTWISE = ("vec.add", "vec.sub", "vec.mul")


def rotate_once(module, _cost):
    """Rotate the result of an elementwise operation in the place of both its operands."""

    def visit(op, builder, mapping):
        if op.name not in ELEMENTWISE:
            return False
        turns = [value.owner for value in op.operands]  # what computes the operands
        if not all(isinstance(turn, lw.ir.Op) and turn.name == "vec.rotate" for turn in turns):
            return False
        if turns[0].attrs != turns[1].attrs or any(len(turn.result.uses) > 1 for turn in turns):
            return False
        whole = builder.build(op.name, [mapping[turn.operands[0]] for turn in turns])
        mapping[op.result] = builder.build("vec.rotate", [whole], **turns[0].attrs)
        return True

    return lw.ir.rebuild(module, visit)


ROTATE_ONCE = lw.ir.Pass("rotate-once", rotate_once, roots=("vec.rotate",), writes=("vec.rotate", *ELEMENTWISE))


@lw.program
def neighbours(x: lw.Secret[64], y: lw.Secret[64]):
    """Products of the neighbours of two series."""
    return np.roll(x, 1) * np.roll(y, 1)


def compiled(passes: dict[str, list[lw.ir.Pass]] | None = None) -> lw.Model:
    """The model, with passes of one's own."""
    data = tuple(np.random.default_rng(seed).uniform(-1, 1, (20, 64)) for seed in (1, 2))
    return lw.compile(neighbours, calibrate=data, passes=passes, keep_ir=True)


def run() -> tuple[int, int, float, float]:
    """Rotations before and after, the error of an encrypted result, and its bound."""
    plain, made = compiled(), compiled({"after vectors": [ROTATE_ONCE]})
    before, after = (model.ir("vectors").count('"vec.rotate"') for model in (plain, made))
    client = made.client()
    server = made.server(client.keygen().public())
    x, y = (np.random.default_rng(seed).uniform(-1, 1, 64) for seed in (3, 4))
    result = client.decrypt(server(client.encrypt(x, y)))
    error = np.max(np.abs(result.reveal() - neighbours(x, y)))
    return before, after, float(error), result.error_bound


def main() -> int:
    """Compile with the pass and without, and run what it made."""
    before, after, error, bound = run()
    print(f"rotations: {before} before the pass, {after} after it")
    print(f"error of the encrypted result: {error:.2g}, bound {bound:.2g}")
    return 0 if after < before and error <= bound else 1


if __name__ == "__main__":
    sys.exit(main())
