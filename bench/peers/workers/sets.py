"""The parameter sets that all libraries are timed on. Read by every worker: Python 3.10, standard library only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CkksSet:
    """One CKKS set: `limbs` Q primes in all, the first of `first_bits` in libraries whose words allow it."""

    log2_degree: int
    limbs: int
    scale_bits: int
    digits: int
    first_bits: int = 60
    our_first_bits: int = 49  # our primes have at most 49 bits
    our_special_bits: int = 49

    @property
    def limbs_a_digit(self) -> int:
        """Q limbs of each key-switching digit."""
        return -(-self.limbs // self.digits)


@dataclass(frozen=True)
class BfvSet:
    """One BFV set: our primes, and the depth that gives OpenFHE a modulus of about the same size; SEAL has its own."""

    log2_degree: int
    limbs: int
    prime_bits: int
    special_limbs: int
    special_bits: int
    openfhe_depth: int


CKKS = {
    "a": CkksSet(14, 8, 40, 4),
    "b": CkksSet(15, 16, 40, 4, our_special_bits=46),
    "c": CkksSet(16, 25, 45, 5),
    "c3": CkksSet(16, 25, 45, 3),  # with more of the secure modulus for special primes, and so fewer digits
    "c2": CkksSet(16, 25, 45, 2, our_special_bits=47),
}
BFV = {"13": BfvSet(13, 4, 42, 1, 45, 2), "14": BfvSet(14, 8, 42, 2, 46, 8)}
PLAIN_MODULUS = 65537
NTT_LOG2_DEGREES = (13, 14, 15, 16)
HOISTED = range(1, 9)  # steps of the eight rotations of one value
SIDE = 128  # of the matrix
BABIES = 16
