"""Keys: the owner's, the public one, and those that a server computes with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from latticework import _core
from latticework.bfv.checks import located, needs, whole_list
from latticework.bfv.context import Context
from latticework.errors import RangeError, SecretKeyError

Source = str | Path | bytes


class SecretKey:
    """A secret key: never shown, pickled or copied."""

    __slots__ = ("context", "core")

    def __init__(self, context: Context, core: _core.SecretKey) -> None:
        self.context = context
        self.core = core

    def save(self, path: str | Path) -> None:
        """Write to a file of mode 0600."""
        _core.save_secret_key(path, self.core, self.context.core)

    @classmethod
    @located
    def load(cls, path: str | Path, context: Context) -> SecretKey:
        """Read a file of `save`."""
        return cls(context, _core.load_secret_key(path, context.core))

    def __repr__(self) -> str:
        return "bfv.SecretKey(hidden)"

    def __reduce__(self) -> NoReturn:
        raise SecretKeyError("a secret key is never pickled or copied; save(path) writes it to a file")


class PublicKey:
    """A key with which anybody can encrypt."""

    __slots__ = ("context", "core")

    def __init__(self, context: Context, core: _core.PublicKey) -> None:
        self.context = context
        self.core = core

    def save(self, path: str | Path) -> None:
        """Write to a file."""
        _core.save_public_key(path, self.core)

    @classmethod
    @located
    def load(cls, source: Source, context: Context) -> PublicKey:
        """Read from a file, or from its bytes."""
        return cls(context, _core.load_public_key(source, context.core))

    def __repr__(self) -> str:
        return f"bfv.PublicKey(of {self.context.parameters!r})"


class EvaluationKeys:
    """Keys for products, rotations and the swap of rows."""

    __slots__ = ("context", "core", "galois_elements", "has_relin_key")

    def __init__(self, context: Context, core: _core.EvaluationKeys) -> None:
        self.context = context
        self.core = core
        self.has_relin_key = any(spec["kind"] == "relin" for spec in core.specs)
        self.galois_elements = frozenset(int(spec["galois_element"]) for spec in core.specs if spec["kind"] == "galois")

    @property
    def num_bytes(self) -> int:
        """Bytes in memory."""
        return self.core.num_bytes

    def save(self, path: str | Path) -> None:
        """Write to a file: of each key a seed, and half of its polynomials."""
        _core.save_evaluation_keys(path, self.core)

    @classmethod
    @located
    def load(cls, source: Source, context: Context) -> EvaluationKeys:
        """Read from a file, or from its bytes."""
        return cls(context, _core.load_evaluation_keys(source, context.core))

    def __repr__(self) -> str:
        relin = "relinearisation and " if self.has_relin_key else ""
        galois = len(self.galois_elements)
        return f"bfv.EvaluationKeys({relin}{galois} rotations or swaps, {self.num_bytes / 1e6:.1f} MB in memory)"


class KeyGenerator:
    """Makes keys for one secret key: a new one if none is given.

    secret_key  an attribute here, not a method: the key for the owner's Decryptor
    """

    @located
    def __init__(self, context: Context, secret_key: SecretKey | None = None) -> None:
        needs("KeyGenerator: the context", context, Context, "give bfv.Context(parameters)")
        if secret_key is not None:
            needs("KeyGenerator: the secret key", secret_key, SecretKey, "give a bfv.SecretKey, or nothing")
            context.check("KeyGenerator: the secret key", secret_key.context)
        self.context = context
        self._core = _core.KeyGenerator(context.core)
        self.secret_key = secret_key or SecretKey(context, self._core.secret_key())

    def public_key(self) -> PublicKey:
        """A key to encrypt with."""
        return PublicKey(self.context, self._core.public_key(self.secret_key.core))

    @located
    def evaluation_keys(
        self, *, relin: bool = True, steps: Iterable[int] | None = (), swap_rows: bool = False
    ) -> EvaluationKeys:
        """Keys for products (relin), for rotations by some steps (left; right if negative), and for swap_rows.

        steps   None: all powers of two and their negatives, of which every rotation can be composed
        raises  SecurityError before any key is made if one would be too weak
        """
        parameters = self.context.parameters
        row, top = parameters.row_slots, parameters.levels
        if steps is None:
            steps = [sign * (1 << k) for k in range(row.bit_length() - 1) for sign in (1, -1)]
        elements = {
            rotation_element(step, parameters.ring_degree) for step in whole_list("evaluation_keys: steps", steps)
        } - {1}
        if swap_rows:
            elements.add(2 * parameters.ring_degree - 1)
        specs: list[dict[str, int | str]] = []
        if relin:
            specs.append({"kind": "relin", "galois_element": 0, "track": 0, "level": top})
        specs += [{"kind": "galois", "galois_element": g, "track": 0, "level": top} for g in sorted(elements)]
        if not specs:
            raise RangeError("evaluation_keys: nothing is asked for; give relin=True, steps or swap_rows=True")
        return EvaluationKeys(self.context, self._core.evaluation_keys(self.secret_key.core, specs))


def rotation_element(steps: int, ring_degree: int) -> int:
    """The Galois element that rotates both rows left."""
    return pow(5, steps % (ring_degree // 2), 2 * ring_degree)
