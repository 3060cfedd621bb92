"""Key manifest: the evaluation keys that a plan needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from latticework.lazy_dataclass import dataclass

KINDS = ("relin", "galois", "to_sparse", "to_dense")
SPARSE_KINDS = ("to_sparse", "to_dense")  # for one sparse secret, which lives while they are made
Covers = Callable[[tuple[int, int], tuple[int, int]], bool]  # `ModulusChain.covers`: (track, level) held, wanted


@dataclass(frozen=True, slots=True)
class KeySpec:
    """The identity of one evaluation key.

    kind            "relin" (switches s^2 to s), "galois" (s to sigma_g^-1(s)), "to_sparse" (s to an ephemeral secret
                    of weight 32, modulo q0 and one special prime only) or "to_dense" (that secret to s, one digit)
    galois_element  g, odd, in [1, 2N); 0 for the other kinds
    track, level    the key holds the limbs of this level's basis and the special limbs;
                    it serves every lower level of the track
    """

    kind: str
    galois_element: int
    track: int
    level: int


def serving_key(demand: KeySpec, keys: Sequence[KeySpec], covers: Covers) -> int:
    """The number of the first key that serves a demand: same kind and element, and all limbs that it needs."""
    for number, key in enumerate(keys):
        if serves(key, demand, covers):
            return number
    raise AssertionError(f"no key was planned for {demand}")


def serves(key: KeySpec, demand: KeySpec, covers: Covers) -> bool:
    """Whether a key does what is demanded: the same kind and element, and all limbs that it needs."""
    same = (key.kind, key.galois_element) == (demand.kind, demand.galois_element)
    return same and covers((key.track, key.level), (demand.track, demand.level))


def missing_keys(wanted: Iterable[KeySpec], held: Sequence[KeySpec], covers: Covers) -> list[KeySpec]:
    """Keys that none of those held serves.

    Those to and from the sparse secret of bootstraps belong together: if one is missing, so are all.
    """
    wanted = list(wanted)
    missing = [key for key in wanted if not any(serves(each, key, covers) for each in held)]
    if any(key.kind in SPARSE_KINDS for key in missing):
        missing = [key for key in wanted if key in missing or key.kind in SPARSE_KINDS]
    return missing


@dataclass(frozen=True, slots=True)
class KeyUse:
    """Number of a plan's uses of a key, and the highest level of them."""

    spec: KeySpec
    steps: int | None
    count: int


@dataclass(frozen=True, slots=True)
class KeyManifest:
    """Every evaluation key of a plan, with its size and its verdict.

    bytes_stored    in a file: a seed and the `b` halves, bit-packed
    bytes_resident  in memory: both halves as 64-bit words
    log2_qp         bits of the modulus of each key, checked one by one against `limit_bits`
    """

    uses: tuple[KeyUse, ...]
    bytes_stored: tuple[int, ...]
    bytes_resident: tuple[int, ...]
    log2_qp: tuple[float, ...]
    limit_bits: int | None

    @property
    def specs(self) -> tuple[KeySpec, ...]:
        """The keys."""
        return tuple(use.spec for use in self.uses)

    @property
    def total_stored_bytes(self) -> int:
        """Bytes of the evaluation key file, without its header."""
        return sum(self.bytes_stored)

    @property
    def total_resident_bytes(self) -> int:
        """Bytes of all keys in memory at once."""
        return sum(self.bytes_resident)


def signed_steps(steps: int, slots: int) -> int:
    """The representative of a rotation in (-slots/2, slots/2]."""
    steps %= slots
    return steps - slots if steps > slots // 2 else steps


def galois_element(steps: int, ring_degree: int) -> int:
    """5^steps mod 2N: the Galois element of a left rotation by `steps` slots (signed)."""
    return pow(5, steps % (ring_degree // 2), 2 * ring_degree)


def conjugation_element(ring_degree: int) -> int:
    """2N - 1: the Galois element of complex conjugation."""
    return 2 * ring_degree - 1


def galois_action(galois_element: int, slots: int) -> tuple[int, bool]:
    """Return what the automorphism X -> X^g does to vectors of `slots` slots: (left rotation, whether it conjugates).

    Slot j lies at zeta^(5^j), so g = 5^k rotates by k and -1 conjugates; a
    periodic vector of n slots sees g modulo 4n only.
    """
    residue = galois_element % (4 * slots)
    conjugates = residue % 4 == 3
    return _logarithms(slots)[-residue % (4 * slots) if conjugates else residue], conjugates


@lru_cache(maxsize=32)
def _logarithms(slots: int) -> dict[int, int]:
    """5^k mod 4*slots -> k, for slots a power of two."""
    return {pow(5, k, 4 * slots): k for k in range(slots)}
