"""Keys of BFV: those of `latticework.schemes.rlwe.rlwe_keys`, with the swap of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from latticework.runtime.ledger.refused_results import RefusalLedger, ledger_beside, refuse_existing_ledger
from latticework.schemes.bfv.bfv_parameters import Parameters
from latticework.schemes.rlwe import rlwe_keys
from latticework.schemes.rlwe.checks import locate
from latticework.schemes.rlwe.rlwe_keys import OnKey
from latticework.values.extension import _core
from latticework.values.packing.key_manifest import KeySpec


class SecretKey(rlwe_keys.SecretKey[Parameters]):
    """A secret key: nothing of it is shown, pickled or copied; its files have mode 0600.

    The bytes of `to_bytes` lie in ordinary memory: they are for handing to a vault, and as secret as the key.

    Beside its file lies a ledger, which counts the ciphertexts that a `Decryptor` refused (`docs/bfv.md`), and goes
    where the key goes. Of a key that has no file, or comes from bytes, they are counted in memory, from none.
    """

    __slots__ = ("_ledger",)
    _parameters = Parameters

    def __init__(self, core: _core.SecretKey, parameters: Parameters) -> None:
        super().__init__(core, parameters)
        self._ledger = RefusalLedger(core.key_set)

    @classmethod
    @locate
    def load(cls, path: str | Path, parameters: Parameters) -> Self:
        """Read a file of `save`, whose ledger lies beside it.

        raises  ParameterMismatchError for a file of other parameters, FormatError for a damaged one
        """
        key = super().load(path, parameters)
        key._ledger = RefusalLedger(key.key_set, ledger_beside(path))
        return key

    def _write(self, path: str | None) -> bytes | None:
        beside = None if path is None else ledger_beside(path)
        if beside is not None:
            refuse_existing_ledger(beside)
        written = super()._write(path)
        if beside is not None:
            self._ledger.write(beside)
        return written


class PublicKey(rlwe_keys.PublicKey[Parameters]):
    """A key with which anybody can encrypt."""

    __slots__ = ()
    _parameters = Parameters


class EvaluationKeys(rlwe_keys.EvaluationKeys[Parameters]):
    """Keys of one secret key for relinearisation, rotations and the swap of rows. `a | b` joins two sets."""

    __slots__ = ()
    _parameters = Parameters
    _other_element = ("the swap of rows", "swap_rows=True")


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
        swap_rows: bool = False,
        level: int | None = None,
    ) -> EvaluationKeys:
        """Keys of rotations (left; right if negative) and of the swap; arguments as of `evaluation_keys`."""
        return self._evaluation_keys("galois_keys", steps=steps, other=swap_rows, level=level)

    def evaluation_keys(
        self,
        *,
        relin: bool = True,
        steps: Iterable[int] | None = (),
        swap_rows: bool = False,
        required: Sequence[KeySpec] = (),
        level: int | None = None,
        on_key: OnKey | None = None,
    ) -> EvaluationKeys:
        """Relinearisation, rotations of both rows and their swap in one set, with further keys that are `required`.

        steps   None: all powers of two and their negatives, of which every rotation can be composed
        level   ciphertexts up to this level are served: a lower one makes smaller, faster keys
        on_key  called with (number, count, spec) after each
        raises  SecurityError before any key is made if one would be too weak
        """
        return self._evaluation_keys(
            "evaluation_keys", relin=relin, steps=steps, other=swap_rows, required=required, level=level,
            on_key=on_key,
        )  # fmt: skip
