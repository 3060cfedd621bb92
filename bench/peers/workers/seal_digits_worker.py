"""The digits demo's network written by hand for SEAL, one image a ciphertext. Argument: the network's .npz file.

The image is repeated over all slots. Both layers are sums over half of their diagonals in a baby-step giant-step
order, completed by one rotation; the polynomial of degree 15 takes four levels: six levels in all.
"""

from __future__ import annotations

import numpy as np
import tenseal.sealapi as seal
from network import DEGREE, HIDDEN, INPUTS, OUTPUTS, Network
from protocol import Operation, Session, serve
from seal_worker import LIBRARY, Keys, context_of

LOG2_DEGREE = 14
LEVELS, SCALE_BITS, FIRST_BITS, SPECIAL_BITS = 6, 40, 60, 60
SCALE = 2.0**SCALE_BITS
PADDED = 16  # outputs


class Digits:
    """Keys, encoded weights and encrypted images."""

    def __init__(self, path: str) -> None:
        self.network = Network(path)
        bits = [FIRST_BITS, *[SCALE_BITS] * LEVELS, SPECIAL_BITS]
        self.context, _ = context_of(seal.SCHEME_TYPE.CKKS, LOG2_DEGREE, bits)
        self.keys, self.ev = Keys(self.context, LOG2_DEGREE), seal.Evaluator(self.context)
        self.encoder, self.slots = seal.CKKSEncoder(self.context), 1 << (LOG2_DEGREE - 1)
        self.turns = self.keys.rotations(sorted({1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, HIDDEN}))
        w1, b1 = self.network.scaled()
        w2 = np.zeros((HIDDEN, PADDED))
        w2[:, :OUTPUTS] = self.network.w2
        images = [np.resize(image, self.slots) for image in self.network.images]
        self.images = [self.keys.encrypt(self.encode(image, None)) for image in images]
        self.first = self.layer(w1, 8, self.images[0])
        self.first_bias = self.spread(b1)
        self.second_bias = self.spread(np.concatenate([self.network.b2, np.zeros(PADDED - OUTPUTS)]))
        self.second, self.w2 = None, w2
        self.constants: dict[object, object] = {}

    def spread(self, values: np.ndarray) -> np.ndarray:
        return np.resize(values, self.slots)

    def encode(self, values: object, like: object, scale: float = SCALE) -> object:
        """At the top, or at the level of a ciphertext; a number or one value a slot."""
        plain = seal.Plaintext()
        self.encoder.encode(values if isinstance(values, float) else list(values), scale, plain)
        if like is not None:
            self.ev.mod_switch_to_inplace(plain, like.parms_id())
        return plain

    def layer(self, weights: np.ndarray, babies: int, like: object) -> list:
        """Diagonals of half of a layer: (giant step, [(baby step, plaintext turned back)])."""
        inputs, outputs = weights.shape
        row = np.arange(inputs)
        count = outputs
        diagonals = [weights[(row + k) % inputs, row % outputs] for k in range(count)]
        return [
            (g, [(b, self.encode(self.spread(np.roll(diagonals[g + b], g)), like)) for b in range(babies)])
            for g in range(0, count, babies)
        ]

    def rotated(self, x: object, steps: int) -> object:
        out = seal.Ciphertext()
        self.ev.rotate_vector(x, steps, self.turns, out)
        return out

    def rescaled(self, x: object) -> object:
        """One level lower; primes are so near 2^40 that the scale is called that again."""
        self.ev.rescale_to_next_inplace(x)
        x.scale = SCALE
        return x

    def apply(self, layer: list, x: object, whole: int) -> object:
        """A layer without its bias; `whole`: the step that adds the other half of the sums."""
        babies = [x, *(self.rotated(x, b) for b in range(1, len(layer[0][1])))]
        total, term = None, seal.Ciphertext()
        for giant, row in layer:
            part = seal.Ciphertext()
            self.ev.multiply_plain(babies[0], row[0][1], part)
            for baby, plain in row[1:]:
                self.ev.multiply_plain(babies[baby], plain, term)
                self.ev.add_inplace(part, term)
            if giant:
                self.ev.rotate_vector_inplace(part, giant, self.turns)
            if total is None:
                total = part
            else:
                self.ev.add_inplace(total, part)
        self.rescaled(total)
        self.ev.add_inplace(total, self.rotated(total, whole))
        return total

    def plus(self, x: object, key: object, values: object) -> object:
        if key not in self.constants:
            self.constants[key] = self.encode(values, x, x.scale)
        self.ev.add_plain_inplace(x, self.constants[key])
        return x

    def times(self, x: object, key: object, value: float) -> object:
        """x times a number, one level lower."""
        if key not in self.constants:
            self.constants[key] = self.encode(value, x)
        out = seal.Ciphertext()
        self.ev.multiply_plain(x, self.constants[key], out)
        return self.rescaled(out)

    def product(self, x: object, y: object) -> object:
        """Relinearised and rescaled, at the lower of both levels."""
        x, y = self.alike(x, y)
        out = seal.Ciphertext()
        self.ev.multiply(x, y, out)
        self.ev.relinearize_inplace(out, self.keys.relin)
        return self.rescaled(out)

    def alike(self, x: object, y: object) -> tuple:
        """Both at the lower of their levels."""
        if x.coeff_modulus_size() == y.coeff_modulus_size():
            return x, y
        is_x = x.coeff_modulus_size() > y.coeff_modulus_size()
        high, low = (x, y) if is_x else (y, x)
        out = seal.Ciphertext()
        self.ev.mod_switch_to(high, low.parms_id(), out)
        return (out, y) if is_x else (x, out)

    def sum(self, x: object, y: object) -> object:
        out = seal.Ciphertext()
        self.ev.add(*self.alike(x, y), out)
        return out

    def double_square(self, x: object, key: str) -> object:
        """2 x^2 - 1."""
        out = self.product(x, x)
        return self.plus(self.sum(out, out), key, -1.0)

    def cubic(self, t1: object, t2: object, c: np.ndarray, key: str) -> object:
        """c0 + c1 T1 + c2 T2 + c3 T3 in two levels, with T3 = 2 T1 T2 - T1."""
        out = self.product(self.times(t1, key + "3", 2.0 * c[3]), t2)
        out = self.sum(out, self.times(t2, key + "2", float(c[2])))
        out = self.sum(out, self.times(t1, key + "1", float(c[1] - c[3])))
        return self.plus(out, key + "0", float(c[0]))

    def polynomial(self, t1: object) -> object:
        """The series as ((a T4 + b) T8 + (c T4 + d)): quotients by Chebyshev polynomials, in four levels."""
        t2 = self.double_square(t1, "t2")
        t4 = self.double_square(t2, "t4")
        t8 = self.double_square(t4, "t8")
        high, low = divided(self.network.series, 8)
        halves = []
        for name, part in (("h", high), ("l", low)):
            a, b = divided(part, 4)
            quotient = self.product(self.cubic(t1, t2, a, name + "a"), t4)
            halves.append(self.sum(quotient, self.cubic(t1, t2, b, name + "b")))
        return self.sum(self.product(halves[0], t8), halves[1])

    def run(self, image: object) -> object:
        x = self.plus(self.apply(self.first, image, HIDDEN), "b1", self.first_bias)
        h = self.polynomial(x)
        if self.second is None:
            self.second = self.layer(self.w2, 4, h)
        return self.plus(self.apply(self.second, h, PADDED), "b2", self.second_bias)

    def different(self, _: object) -> float:
        """Images with another class than NumPy's."""
        found = [self.encoder.decode_double(self.keys.open(self.run(image)))[:OUTPUTS] for image in self.images]
        return float(self.network.different_classes(np.array(found)))


def divided(series: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(quotient, rest) of a Chebyshev series of degree 2n - 1 by T_n."""
    quotient, rest = np.polynomial.chebyshev.chebdiv(series, [0.0] * n + [1.0])
    return np.resize(np.append(quotient, [0.0] * n), n), np.resize(np.append(rest, [0.0] * n), n)


def make(arguments: list[str]) -> Session:
    """The session of a network."""
    made = Digits(arguments[0])
    facts = {
        "library": LIBRARY, "log2_degree": LOG2_DEGREE, "levels": LEVELS, "inputs": INPUTS, "degree": DEGREE,
        "digits": LEVELS + 1, "special_limbs": 1,
        "log2_qp": FIRST_BITS + LEVELS * SCALE_BITS + SPECIAL_BITS,
    }  # fmt: skip
    return Session(facts, {"image": lambda: Operation(lambda: made.run(made.images[0]), made.different)})


if __name__ == "__main__":
    serve(make)
