"""Keys of CKKS: those of `latticework.schemes.rlwe.rlwe_keys`, with conjugation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from latticework.schemes.ckks.ckks_parameters import Parameters
from latticework.schemes.rlwe import rlwe_keys
from latticework.schemes.rlwe.rlwe_keys import OnKey
from latticework.values.packing.key_manifest import KeySpec


class SecretKey(rlwe_keys.SecretKey[Parameters]):
    """A secret key: nothing of it is shown, pickled or copied; its files have mode 0600.

    The bytes of `to_bytes` lie in ordinary memory: they are for handing to a vault, and as secret as the key.
    """

    __slots__ = ()
    _parameters = Parameters


class PublicKey(rlwe_keys.PublicKey[Parameters]):
    """A key with which anybody can encrypt."""

    __slots__ = ()
    _parameters = Parameters


class EvaluationKeys(rlwe_keys.EvaluationKeys[Parameters]):
    """Keys of one secret key for relinearisation, rotations and conjugation. `a | b` joins two sets."""

    __slots__ = ()
    _parameters = Parameters
    _other_element = ("the conjugation", "conjugate=True")


class KeyGenerator(rlwe_keys.KeyGenerator[Parameters, SecretKey, PublicKey, EvaluationKeys]):
    """Makes the keys of one secret key.

    secret_key     the key to make others for; a new one if not given
    insecure_seed  INSECURE, for tests: bytes or a whole number from which all keys follow, the same for the same calls
                   in the same order; only of parameters that are marked insecure
    """

    _kinds = (Parameters, SecretKey, PublicKey, EvaluationKeys)

    def galois_keys(
        self,
        steps: Iterable[int] | None = (),
        *,
        conjugate: bool = False,
        slots: int | None = None,
        level: int | None = None,
    ) -> EvaluationKeys:
        """Keys of rotations (left; right if negative) and of conjugation; arguments as of `evaluation_keys`."""
        return self._evaluation_keys("galois_keys", steps=steps, other=conjugate, slots=slots, level=level)

    def evaluation_keys(
        self,
        *,
        relin: bool = True,
        steps: Iterable[int] | None = (),
        conjugate: bool = False,
        required: Sequence[KeySpec] = (),
        slots: int | None = None,
        level: int | None = None,
        on_key: OnKey | None = None,
    ) -> EvaluationKeys:
        """Relinearisation, rotations and conjugation in one set, with what operations list as `required_keys`.

        steps   None: all powers of two and their negatives, of which every rotation can be composed
        slots   length of the vectors to be rotated, N/2 if not given; steps count modulo it
        level   ciphertexts up to this level are served: a lower one makes smaller, faster keys
        on_key  called with (number, count, spec) after each
        raises  SecurityError before any key is made if one would be too weak
        """
        return self._evaluation_keys(
            "evaluation_keys", relin=relin, steps=steps, other=conjugate, required=required, slots=slots, level=level,
            on_key=on_key,
        )  # fmt: skip
