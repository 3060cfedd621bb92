"""Keys: the secret one, the public one, and the evaluation keys that a server computes with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from latticework import _core
from latticework.ckks.checks import fail, whole
from latticework.ckks.parameters import Parameters, check_parameters, need_parameters
from latticework.errors import DtypeError, MissingKeyError, SecretKeyError, UserError
from latticework.keys import covering_keys, resident_bytes, steps_by_element
from latticework.plan.keys import KeySpec, conjugation_element, galois_element

OnKey = Callable[[int, int, dict[str, Any]], object]


class SecretKey:
    """A secret key: nothing of it is shown, pickled or copied."""

    __slots__ = ("core", "parameters")

    def __init__(self, core: _core.SecretKey, parameters: Parameters) -> None:
        self.core = core
        self.parameters = parameters

    @property
    def key_set(self) -> bytes:
        """16 random bytes that name this key in everything made with it."""
        return bytes(self.core.key_set)

    def save(self, path: str | Path) -> None:
        """Write to a file that only its owner can read."""
        _core.save_secret_key(str(path), self.core, self.parameters.context)

    @classmethod
    def load(cls, path: str | Path, parameters: Parameters) -> SecretKey:
        """Read a secret key file of these parameters."""
        return cls(_core.load_secret_key(str(path), parameters.context), parameters)

    def __repr__(self) -> str:
        return "SecretKey(hidden)"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise SecretKeyError("a secret key is never pickled or copied; save(path) writes it to a file")

    __reduce__ = __getstate__ = __copy__ = __deepcopy__ = __reduce_ex__ = _refuse


class PublicKey:
    """A key with which anybody can encrypt."""

    __slots__ = ("core", "parameters")

    def __init__(self, core: _core.PublicKey, parameters: Parameters) -> None:
        self.core = core
        self.parameters = parameters

    @property
    def num_bytes(self) -> int:
        """Bytes in memory."""
        return self.core.num_bytes

    def save(self, path: str | Path) -> None:
        """Write to a file."""
        _core.save_public_key(str(path), self.core)

    @classmethod
    def load(cls, source: str | Path | bytes, parameters: Parameters) -> PublicKey:
        """Read from a file or from bytes."""
        return cls(_core.load_public_key(source, parameters.context), parameters)

    def __repr__(self) -> str:
        return f"PublicKey({self.num_bytes / 1e6:.1f} MB in memory)"


class KeySet:
    """Evaluation keys of one secret key: for relinearisation, rotations, conjugation. `a | b` joins two sets."""

    def __init__(self, core: _core.EvaluationKeys, parameters: Parameters) -> None:
        self.core = core
        self.parameters = parameters
        self.specs = tuple(
            KeySpec(str(s["kind"]), int(s["galois_element"]), int(s["track"]), int(s["level"])) for s in core.specs
        )

    @property
    def has_relin_key(self) -> bool:
        """Whether products can be relinearised."""
        return any(s.kind == "relin" for s in self.specs)

    @property
    def galois_elements(self) -> tuple[int, ...]:
        """Galois elements that there are keys for: 5^k mod 2N rotates left by k, 2N - 1 conjugates."""
        return tuple(s.galois_element for s in self.specs if s.kind == "galois")

    @property
    def steps(self) -> tuple[int, ...]:
        """Rotations that there are keys for, as signed steps of vectors of N/2 slots."""
        known = steps_by_element(self.parameters.chain)
        return tuple(sorted(known[g] for g in self.galois_elements if g in known))

    @property
    def num_bytes(self) -> int:
        """Bytes in memory."""
        return self.core.num_bytes

    def __len__(self) -> int:
        return len(self.specs)

    def __or__(self, other: KeySet) -> KeySet:
        if not isinstance(other, KeySet):
            return NotImplemented
        check_parameters("KeySet: the other key set", other.parameters, self.parameters)
        return KeySet(self.core.merged(other.core), self.parameters)

    def serves(self, spec: KeySpec) -> bool:
        """Whether one of the keys does what `spec` does, at its level or above."""
        covers, wanted = self.parameters.chain.covers, (spec.track, spec.level)
        alike = (s for s in self.specs if (s.kind, s.galois_element) == (spec.kind, spec.galois_element))
        return any(covers((s.track, s.level), wanted) for s in alike)

    def reach(self, kind: str, galois_element: int = 0) -> int | None:
        """The highest level of the main track that a kind of key serves; None where there is no such key."""
        levels = range(self.parameters.levels, -1, -1)
        return next((n for n in levels if self.serves(KeySpec(kind, galois_element, 0, n))), None)

    def find_galois(self, who: str, element: int, modulus: int, level: int, wanted: str) -> int:
        """The Galois element of a key, equal to `element` modulo `modulus`, that serves a level.

        raises  MissingKeyError saying what to generate
        """
        alike = [g for g in self.galois_elements if (g - element) % modulus == 0]
        serving = [g for g in alike if self.serves(KeySpec("galois", g, 0, level))]
        if serving:
            return serving[0]
        reach = max((self.reach("galois", g) or 0 for g in alike), default=None)
        if reach is not None:
            fail(
                MissingKeyError,
                f"{who}: the key for {wanted} serves levels up to {reach}, the ciphertext is at level {level}: "
                f"drop_level first, or generate the key with level={level}",
            )
        how = "conjugate=True" if "conjugation" in wanted else f"steps=[{wanted.rsplit(maxsplit=1)[-1]}]"
        fail(
            MissingKeyError,
            f"{who}: no key for {wanted} among the {len(self)} keys; generate it with KeyGenerator.galois_keys({how})",
        )

    def save(self, path: str | Path) -> None:
        """Write to a file; each key is a seed and half of its polynomials."""
        _core.save_evaluation_keys(str(path), self.core)

    @classmethod
    def load(cls, source: str | Path | bytes, parameters: Parameters) -> KeySet:
        """Read from a file or from bytes."""
        return cls(_core.load_evaluation_keys(source, parameters.context), parameters)

    def summary(self) -> str:
        """A line for every key: what it does, up to which level, and its size in memory."""
        lines = [repr(self)]
        steps = steps_by_element(self.parameters.chain)
        for spec in self.specs:
            size = resident_bytes(spec, self.parameters.chain)
            lines.append(f"  {self._purpose(spec, steps):<28} levels 0 to {spec.level:>2}  {size / 1e6:8.2f} MB")
        return "\n".join(lines)

    def _purpose(self, spec: KeySpec, steps: dict[int, int]) -> str:
        n = self.parameters.ring_degree
        if spec.kind != "galois":
            return {"relin": "relinearisation", "to_sparse": "to the sparse secret"}.get(
                spec.kind, "from the sparse secret"
            )
        if spec.galois_element == conjugation_element(n):
            return "conjugation"
        turn = steps.get(spec.galois_element)
        return f"Galois element {spec.galois_element}" if turn is None else f"rotation by {turn}"

    def __repr__(self) -> str:
        return f"KeySet({len(self)} keys, {self.num_bytes / 1e6:.1f} MB in memory)"


class KeyGenerator:
    """Makes the keys of one secret key.

    secret_key  the key to make others for; a new one if not given
    """

    def __init__(self, parameters: Parameters, secret_key: SecretKey | None = None) -> None:
        need_parameters("KeyGenerator", parameters)
        if secret_key is not None:
            if not isinstance(secret_key, SecretKey):
                fail(UserError, f"KeyGenerator: secret_key is a {type(secret_key).__name__}, not a SecretKey")
            check_parameters("KeyGenerator: the secret key", secret_key.parameters, parameters)
        self.parameters = parameters
        self._core = _core.KeyGenerator(parameters.context)
        self._secret = secret_key or SecretKey(self._core.secret_key(), parameters)

    def secret_key(self) -> SecretKey:
        """The secret key."""
        return self._secret

    def public_key(self) -> PublicKey:
        """A key to encrypt with."""
        return PublicKey(self._core.public_key(self._secret.core), self.parameters)

    def relin_key(self, *, level: int | None = None) -> KeySet:
        """The key that brings products back to degree 1, for ciphertexts up to a level (the highest if not given)."""
        return self.evaluation_keys(relin=True, level=level)

    def galois_keys(
        self,
        steps: Iterable[int] = (),
        *,
        conjugate: bool = False,
        slots: int | None = None,
        level: int | None = None,
    ) -> KeySet:
        """Keys of rotations (left; right if negative) and of conjugation.

        slots  length of the vectors to be rotated, N/2 if not given; steps count modulo it
        """
        return self.evaluation_keys(relin=False, steps=steps, conjugate=conjugate, slots=slots, level=level)

    def evaluation_keys(
        self,
        *,
        relin: bool = True,
        steps: Iterable[int] = (),
        conjugate: bool = False,
        required: Sequence[KeySpec] = (),
        slots: int | None = None,
        level: int | None = None,
        on_key: OnKey | None = None,
    ) -> KeySet:
        """Relinearisation, rotations and conjugation in one set, with what operations list as `required_keys`.

        level   ciphertexts up to this level are served: a lower one makes smaller, faster keys
        on_key  called with (number, count, spec) after each
        raises  SecurityError before any key is made if one would be too weak
        """
        if isinstance(steps, str | bytes) or not isinstance(steps, Iterable):
            fail(DtypeError, f"evaluation_keys: steps is {steps!r}; give a list of whole numbers, as in [1, -2]")
        if not isinstance(required, Sequence) or not all(isinstance(s, KeySpec) for s in required):
            fail(DtypeError, f"evaluation_keys: required is {required!r:.60}; give what required_keys() lists")
        top = self.parameters.check_level("evaluation_keys", self.parameters.levels if level is None else level)
        n, width = self.parameters.ring_degree, self.parameters.slots if slots is None else slots
        elements = [galois_element(_signed(whole("evaluation_keys: steps", k), width), n) for k in steps]
        wanted = [KeySpec("relin", 0, 0, top)] if relin else []
        wanted += [KeySpec("galois", g, 0, top) for g in elements if g != 1]
        wanted += [KeySpec("galois", conjugation_element(n), 0, top)] if conjugate else []
        specs = covering_keys([*wanted, *required], self.parameters.chain)
        if not specs:
            fail(UserError, "evaluation_keys: no key is asked for; give relin=True, steps, conjugate or required")
        dicts = [
            {"kind": s.kind, "galois_element": s.galois_element, "track": s.track, "level": s.level} for s in specs
        ]
        return KeySet(self._core.evaluation_keys(self._secret.core, dicts, on_key), self.parameters)


def _signed(steps: int, slots: int) -> int:
    steps %= slots
    return steps - slots if steps > slots // 2 else steps
