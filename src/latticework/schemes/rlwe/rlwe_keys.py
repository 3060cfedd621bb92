"""Keys: the secret one, the public one, and the evaluation keys that a server computes with."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar

import numpy as np

from latticework.compiler.keys import covering_keys, resident_bytes, steps_by_element
from latticework.errors import (
    DtypeError,
    LayoutError,
    MissingKeyError,
    RangeError,
    SecretKeyError,
    ShapeError,
    UserError,
)
from latticework.errors.shown import count_noun, describe, size
from latticework.plan.parameters.secrets import secret_text
from latticework.runtime.devices.device import Device
from latticework.schemes.rlwe.checks import fail, file_bytes, file_path, locate, needs, type_text, whole, whole_list
from latticework.schemes.rlwe.other_names import KnowsOtherNames
from latticework.schemes.rlwe.parameters import (
    ChainParameters,
    Params,
    check_parameters,
    need_parameters,
    need_special,
)
from latticework.schemes.rlwe.residues import (
    KEY_SET_BYTES,
    Form,
    Residues,
    check_key_set,
    check_residues,
    is_ntt,
    require_insecure,
    seed_bytes,
    small_integers,
)
from latticework.values.extension import _core
from latticework.values.packing.key_manifest import KeySpec, conjugation_element, galois_element, signed_steps

Core = TypeVar("Core")
FOREIGN = "nothing is known of the randomness of keys that come as residues"
OnKey = Callable[[int, int, dict[str, Any]], object]


class Key(Generic[Params, Core]):
    """A key of parameters and a secret key, which goes to files and bytes."""

    __slots__ = ("core", "parameters")
    _parameters: ClassVar[type[ChainParameters]]

    def __init__(self, core: Core, parameters: Params) -> None:
        self.core = core
        self.parameters = parameters

    @property
    def key_set(self) -> bytes:
        """16 random bytes that name the secret key in everything made with it."""
        return bytes(self.core.key_set)  # type: ignore[attr-defined]

    @locate
    def save(self, path: str | Path) -> None:
        """Write to a file; `load` reads it with the same parameters."""
        self._write(file_path(f"{type(self).__name__}.save", path, "to_bytes() gives bytes"))

    def to_bytes(self) -> bytes:
        """The bytes of its file; `from_bytes` reads them with the same parameters."""
        return bytes(self._write(None) or b"")

    @classmethod
    @locate
    def load(cls, path: str | Path, parameters: Params) -> Self:
        """Read a file of `save`.

        raises  ParameterMismatchError for a file of other parameters, FormatError for a damaged one
        """
        who = f"{cls._parameters.scheme}.{cls.__name__}.load"
        need_parameters(who, parameters, cls._parameters)
        return cls(cls._open(file_path(who, path, "from_bytes(data) reads bytes"), parameters), parameters)

    @classmethod
    @locate
    def from_bytes(cls, data: bytes, parameters: Params) -> Self:
        """Read the key in bytes of `to_bytes`; errors as of `load`."""
        who = f"{cls._parameters.scheme}.{cls.__name__}.from_bytes"
        need_parameters(who, parameters, cls._parameters)
        return cls(cls._open(file_bytes(who, data, "load(path) reads a file"), parameters), parameters)

    def _write(self, path: str | None) -> bytes | None:
        raise NotImplementedError

    @classmethod
    def _open(cls, source: str | bytes, parameters: ChainParameters) -> Any:
        raise NotImplementedError

    def _describe(self, *facts: str) -> str:
        return describe(type(self).__name__, *self.parameters._ring, *facts)


class SecretKey(Key[Params, _core.SecretKey]):
    """A secret key: nothing of it is shown, pickled or copied.

    Files have mode 0600, and one that others may read is refused. The bytes of `to_bytes` lie in ordinary memory: they
    are for handing to a vault, and as secret as the key.
    """

    __slots__ = ()

    def _write(self, path: str | None) -> bytes | None:
        written: bytes | None = _core.save_secret_key(path, self.core, self.parameters.context)
        return written

    @classmethod
    def _open(cls, source: str | bytes, parameters: ChainParameters) -> _core.SecretKey:
        return _core.load_secret_key(source, parameters.context)

    @locate
    def secret_residues(self, form: Form = "coefficients") -> Residues:
        """SECRET: the key as residues, uint64 of shape (1, limbs, N), in ordinary memory that nobody wipes.

        Limb j is modulo `parameters.primes[j]`; in coefficient form 1, 0 and prime - 1 stand for 1, 0 and -1.
        """
        primes = np.array(self.parameters.primes, dtype=np.int64)[:, None]
        residues = (_core.secret_coefficients(self.core).astype(np.int64) % primes).astype(np.uint64)[None]
        if not is_ntt("secret_residues", form):
            return residues
        return _core.transformed(self.parameters.context, residues, list(range(len(primes))), True)

    @classmethod
    @locate
    def from_secret_residues(
        cls, residues: Residues, parameters: Params, *, form: Form = "coefficients", key_set: bytes | None = None
    ) -> Self:
        """The secret key of residues as `secret_residues` gives them, of INSECURE parameters.

        key_set  the name that it had; a new one if not given
        raises   SecurityError for secure parameters; RangeError unless these could draw it
        """
        who = f"{cls._parameters.scheme}.SecretKey.from_secret_residues"
        need_parameters(who, parameters, cls._parameters)
        require_insecure(who, parameters, FOREIGN)
        checked = check_residues(who, residues, (1,), parameters.primes, parameters.ring_degree)
        if is_ntt(who, form):
            limbs = list(range(len(parameters.primes)))
            checked = _core.transformed(parameters.context, checked, limbs, False)
        coefficients = small_integers(who, checked[0], parameters.primes)
        name = secrets.token_bytes(KEY_SET_BYTES) if key_set is None else check_key_set(who, key_set)
        try:
            return cls(_core.secret_key_from_coefficients(parameters.context, coefficients, name), parameters)
        except RangeError:
            kind = secret_text(parameters.chain) or "ternary secrets: -1, 0 and 1"
            fail(RangeError, f"{who}: these parameters have {kind}; this key is none, or make parameters for it")

    def __repr__(self) -> str:
        return self._describe("hidden")

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise SecretKeyError("a secret key is never pickled or copied; save(path) writes it to a file")

    __reduce__ = __getstate__ = __copy__ = __deepcopy__ = __reduce_ex__ = _refuse


class PublicKey(Key[Params, _core.PublicKey]):
    """A key with which anybody can encrypt."""

    __slots__ = ()

    @property
    def num_bytes(self) -> int:
        """Bytes in memory."""
        return self.core.num_bytes

    @property
    def is_unproved(self) -> bool:
        """Whether it was made from residues: the noise of what it encrypts is not known."""
        return self.core.is_unproved

    @locate
    def residues(self, form: Form = "coefficients") -> Residues:
        """b and a with b + a s = e, small, as uint64 of shape (2, limbs, N).

        Limb 0 is modulo the first special prime, if any, others modulo `parameters.primes`. form: as of `Ciphertext`
        """
        return _core.public_key_residues(self.core, is_ntt("residues", form))

    @classmethod
    @locate
    def from_residues(
        cls, residues: Residues, parameters: Params, *, key_set: bytes, form: Form = "coefficients"
    ) -> Self:
        """The key of residues as `residues` gives them, of INSECURE parameters; its encryptions are `is_unproved`.

        key_set  of the secret key that decrypts
        raises   SecurityError for secure parameters, ShapeError, RangeError
        """
        who = f"{cls._parameters.scheme}.PublicKey.from_residues"
        need_parameters(who, parameters, cls._parameters)
        require_insecure(who, parameters, FOREIGN)
        primes = *parameters.special[:1], *parameters.primes
        checked = check_residues(who, residues, (2,), primes, parameters.ring_degree)
        owner = check_key_set(who, key_set)
        return cls(_core.public_key_from_residues(parameters.context, checked, is_ntt(who, form), owner), parameters)

    def _write(self, path: str | None) -> bytes | None:
        written: bytes | None = _core.save_public_key(path, self.core)
        return written

    @classmethod
    def _open(cls, source: str | bytes, parameters: ChainParameters) -> _core.PublicKey:
        return _core.load_public_key(source, parameters.context)

    def __repr__(self) -> str:
        return self._describe(size(self.num_bytes))


class EvaluationKeys(Key[Params, _core.EvaluationKeys]):
    """Keys of one secret key for relinearisation and for moving slots. `a | b` joins two sets.

    In a file each key is a seed and half of its polynomials.
    """

    __slots__ = ("_elsewhere", "specs")
    _other_element: ClassVar[tuple[str, str]]  # what 2N - 1 does, and the option that makes its key

    def __init__(self, core: _core.EvaluationKeys, parameters: Params) -> None:
        super().__init__(core, parameters)
        self._elsewhere: dict[Device | None, Self] = {}
        self.specs = tuple(
            KeySpec(str(s["kind"]), int(s["galois_element"]), int(s["track"]), int(s["level"])) for s in core.specs
        )

    def _at(self, parameters: Params) -> Self:
        """The same keys where these parameters are."""
        if parameters._place == self.parameters._place:
            return self
        found = self._elsewhere.get(parameters._place)
        if found is None or found.parameters is not parameters:
            found = type(self)(_core.move(self.core, parameters.context), parameters)
            self._elsewhere[parameters._place] = found
        return found

    @property
    def has_relin_key(self) -> bool:
        """Whether products can be relinearised."""
        return any(s.kind == "relin" for s in self.specs)

    @property
    def galois_elements(self) -> tuple[int, ...]:
        """Galois elements that there are keys for: 5^k mod 2N rotates left by k; 2N - 1 conjugates, or swaps rows."""
        return tuple(dict.fromkeys(s.galois_element for s in self.specs if s.kind == "galois"))

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

    @locate
    def __or__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        check_parameters("EvaluationKeys: the other keys", other.parameters, self.parameters)
        return type(self)(self.core.merged(other.core), self.parameters)

    def serves(self, spec: KeySpec) -> bool:
        """Whether one of the keys does what `spec` does, at its level or above."""
        covers, wanted = self.parameters.chain.covers, (spec.track, spec.level)
        alike = (s for s in self.specs if (s.kind, s.galois_element) == (spec.kind, spec.galois_element))
        return any(covers((s.track, s.level), wanted) for s in alike)

    def reach(self, kind: str, galois_element: int = 0) -> int | None:
        """The highest level of the main track that a kind of key serves; None where there is no such key."""
        levels = range(self.parameters.levels, -1, -1)
        return next((n for n in levels if self.serves(KeySpec(kind, galois_element, 0, n))), None)

    def _find_galois(self, who: str, element: int, modulus: int, level: int, steps: int | None) -> int:
        """The Galois element of a key, equal to `element` modulo `modulus`, that serves a level.

        steps   of the rotation that is wanted; None for what 2N - 1 does
        raises  MissingKeyError saying what to generate
        """
        found = self._serving(element, modulus, level)
        if found is not None:
            return found
        other, option = self._other_element
        wanted, how = (other, option) if steps is None else (f"rotation by {steps}", f"steps=[{steps}]")
        alike = [g for g in self.galois_elements if (g - element) % modulus == 0]
        reach = max((self.reach("galois", g) or 0 for g in alike), default=None)
        if reach is not None:
            first = f"mod_switch(x, {reach}) first, or " if reach < level else ""
            serves = f"serves levels up to {reach}" if first else "is cut for higher levels, with other special primes"
            fail(
                MissingKeyError,
                f"{who}: the key for {wanted} {serves}, the ciphertext is at level {level}: {first}generate the key "
                f"with level={level}",
            )
        fail(
            MissingKeyError,
            f"{who}: no key for {wanted} among the {count_noun(len(self), 'key')}; make it with "
            f"KeyGenerator.galois_keys({how})" + ("" if steps is None else "; steps=None makes all powers of two"),
        )

    def _serving(self, element: int, modulus: int, level: int) -> int | None:
        """The Galois element, equal to `element` modulo `modulus`, of a key for a level; None if there is none."""
        alike = (g for g in self.galois_elements if (g - element) % modulus == 0)
        return next((g for g in alike if self.serves(KeySpec("galois", g, 0, level))), None)

    def summary(self) -> str:
        """A line for every key: what it does, up to which level, and its size in memory."""
        lines = [repr(self)]
        steps = steps_by_element(self.parameters.chain)
        chain = self.parameters.chain
        for spec in self.specs:
            lowest, held = (*chain.gadget_tops(spec.level, spec.track), -1)[1] + 1, resident_bytes(spec, chain)
            served = f"levels {lowest} to {spec.level:>2}"
            lines.append(f"  {self._purpose(spec, steps):<28} {served}  {held / 1e6:8.2f} MB")
        return "\n".join(lines)

    @property
    def is_unproved(self) -> bool:
        """Whether some were made from residues: then the noise of what an evaluator computes with them is not known."""
        return self.core.is_unproved

    @locate
    def residues(self, spec: KeySpec, form: Form = "coefficients") -> Residues:
        """One key as residues: for each digit b and a, uint64 of shape (digits, 2, limbs, N).

        For the product P of the special primes, b + a t = e + P s' modulo the primes of the digit, and e modulo all
        others: of "relin" t = s and s' = s^2, of "galois" t(X) = s(X^(1/g)) and s' = s. Limbs are modulo the special
        primes, then `parameters.primes_at(spec.level)`.
        spec  one of `specs`
        """
        if not isinstance(spec, KeySpec) or spec not in self.specs:
            fail(
                MissingKeyError,
                f"residues: {spec!r:.90} is none of the {count_noun(len(self), 'key')}; take one of .specs",
            )
        pairs = _core.evaluation_key_residues(self.core, self.specs.index(spec), is_ntt("residues", form))
        return pairs.reshape(-1, 2, *pairs.shape[1:])

    @classmethod
    @locate
    def from_residues(
        cls, residues: Mapping[KeySpec, Residues], parameters: Params, *, key_set: bytes, form: Form = "coefficients"
    ) -> Self:
        """Keys for relinearisation and Galois elements, from what `residues` gives for each of their specs.

        They are of INSECURE parameters; what an evaluator computes with them is `is_unproved`.
        key_set  of the secret key that they are for
        raises   SecurityError for secure parameters, ShapeError, RangeError
        """
        who = f"{cls._parameters.scheme}.EvaluationKeys.from_residues"
        need_parameters(who, parameters, cls._parameters)
        need_special(who, parameters)
        require_insecure(who, parameters, FOREIGN)
        specs = list(residues) if isinstance(residues, Mapping) else []
        if not specs or not all(isinstance(s, KeySpec) and s.kind in ("relin", "galois") for s in specs):
            fail(DtypeError, f"{who}: give a dictionary of residues by KeySpec, of kind relin or galois, as .specs has")
        dicts = [_as_dict(spec) for spec in specs]
        arrays = []
        for spec, fields in zip(specs, dicts, strict=True):
            limbs, digits = _core.key_limbs(parameters.context, fields)
            found, shape = np.asarray(residues[spec]), (digits, 2, len(limbs), parameters.ring_degree)
            if found.shape != shape:
                fail(ShapeError, f"{who}: the {spec.kind} key has shape {found.shape}; {shape} is needed")
            primes = parameters.chain.limb_primes(tuple(limbs))
            pairs = found.reshape(2 * digits, *shape[2:])
            arrays.append(check_residues(who, pairs, (2 * digits,), primes, parameters.ring_degree))
        owner = check_key_set(who, key_set)
        core = _core.evaluation_keys_from_residues(parameters.context, dicts, arrays, is_ntt(who, form), owner)
        return cls(core, parameters)

    def _purposes(self, specs: Sequence[KeySpec]) -> list[str]:
        """The purpose of each of several keys, for messages."""
        steps = steps_by_element(self.parameters.chain)
        return [self._purpose(spec, steps) for spec in specs]

    def _rotations(self, specs: Sequence[KeySpec]) -> list[int] | None:
        """The steps of keys that are all for rotations; None of any others."""
        steps = steps_by_element(self.parameters.chain)
        turns = [steps.get(spec.galois_element) for spec in specs]
        return [turn for turn in turns if turn is not None] if None not in turns else None

    def _purpose(self, spec: KeySpec, steps: dict[int, int]) -> str:
        if spec.kind != "galois":
            return {"relin": "relinearisation", "to_sparse": "to the sparse secret"}.get(
                spec.kind, "from the sparse secret"
            )
        if spec.galois_element == conjugation_element(self.parameters.ring_degree):
            return self._other_element[0].removeprefix("the ")
        turn = steps.get(spec.galois_element)
        return f"Galois element {spec.galois_element}" if turn is None else f"rotation by {turn}"

    def _write(self, path: str | None) -> bytes | None:
        written: bytes | None = _core.save_evaluation_keys(path, self.core)
        return written

    @classmethod
    def _open(cls, source: str | bytes, parameters: ChainParameters) -> _core.EvaluationKeys:
        need_special(cls.__name__, parameters)
        return _core.load_evaluation_keys(source, parameters.context)

    def __repr__(self) -> str:
        relin = "relinearisation" if self.has_relin_key else ""
        galois = len(self.galois_elements)
        moving = count_noun(galois, "Galois key") if galois else ""
        return self._describe(relin, moving, size(self.num_bytes), "UNPROVED" if self.is_unproved else "")


def _as_dict(spec: KeySpec) -> dict[str, Any]:
    """A spec as the core takes it."""
    return {"kind": spec.kind, "galois_element": spec.galois_element, "track": spec.track, "level": spec.level}


Secret = TypeVar("Secret", bound=SecretKey[Any])
Public = TypeVar("Public", bound=PublicKey[Any])
Evaluation = TypeVar("Evaluation", bound=EvaluationKeys[Any])


class KeyGenerator(KnowsOtherNames, Generic[Params, Secret, Public, Evaluation]):
    """Makes the keys of one secret key.

    secret_key     the key to make others for; a new one if not given
    insecure_seed  INSECURE, for tests: bytes or a whole number from which all keys follow, the same for the same calls
                   in the same order; only of parameters that are marked insecure
    """

    _kinds: ClassVar[tuple[type[ChainParameters], type[Any], type[Any], type[Any]]]

    @locate
    def __init__(
        self, parameters: Params, secret_key: Secret | None = None, *, insecure_seed: int | bytes | None = None
    ) -> None:
        kind, secret, _, _ = self._kinds
        need_parameters("KeyGenerator", parameters, kind)
        if secret_key is not None:
            needs("KeyGenerator: secret_key", secret_key, secret, f"give a {kind.scheme}.SecretKey, or nothing")
            check_parameters("KeyGenerator: the secret key", secret_key.parameters, parameters)
        self.parameters = parameters
        self._is_seeded = insecure_seed is not None
        self._core = _core.KeyGenerator(parameters.context, seed_bytes("KeyGenerator", insecure_seed))
        self._secret: Secret = secret_key or secret(self._core.secret_key(), parameters)

    def secret_key(self) -> Secret:
        """The secret key."""
        return self._secret

    @locate
    def public_key(self) -> Public:
        """A key to encrypt with."""
        found: Public = self._kinds[2](self._core.public_key(self._secret.core), self.parameters)
        return found

    def relin_key(self, *, level: int | None = None) -> Evaluation:
        """The key that brings products back to degree 1, for ciphertexts up to a level (the highest if not given)."""
        return self._evaluation_keys("relin_key", relin=True, level=level)

    @locate
    def _evaluation_keys(
        self,
        who: str,
        *,
        relin: bool = False,
        steps: Iterable[int] | None = (),
        other: bool = False,
        required: Sequence[KeySpec] = (),
        slots: int | None = None,
        level: int | None = None,
        on_key: OnKey | None = None,
    ) -> Evaluation:
        """Keys for relinearisation, rotations, what 2N - 1 does if `other`, and what operations list."""
        need_special(who, self.parameters)
        if not isinstance(required, Sequence) or not all(isinstance(s, KeySpec) for s in required):
            fail(DtypeError, f"{who}: required is {required!r:.60}; give what required_keys() lists")
        if on_key is not None and not callable(on_key):
            fail(DtypeError, f"{who}: on_key is a {type_text(on_key)}; give a function of (number, count, spec)")
        p = self.parameters
        top = p.check_level(who, p.levels if level is None else level)
        width = p.chain.slots if slots is None else whole(f"{who}: slots", slots)
        powers = [1 << k for k in range(p.ring_degree.bit_length() - 1)]
        if width not in powers:
            fail(
                LayoutError,
                f"{who}: slots={slots!r:.60}; give the length of the vectors, a power of two up to {powers[-1]}",
            )
        turns = [sign * n for n in powers if n < width for sign in (1, -1)] if steps is None else None
        turns = whole_list(f"{who}: steps", steps) if turns is None else turns
        elements = {galois_element(signed_steps(k, width), p.ring_degree) for k in turns} - {1}
        elements |= {conjugation_element(p.ring_degree)} if other else set()
        tops = p.chain.gadget_tops(top)
        wanted = [KeySpec("relin", 0, 0, at) for at in tops] if relin else []
        wanted += [KeySpec("galois", g, 0, at) for g in sorted(elements) for at in tops]
        specs = covering_keys([*wanted, *required], p.chain)
        if not specs:
            option = self._kinds[3]._other_element[1]
            fail(UserError, f"{who}: no key is asked for; give relin=True, steps, {option} or required")
        made_of = self._core.evaluation_keys(self._secret.core, [_as_dict(s) for s in specs], on_key)
        made: Evaluation = self._kinds[3](made_of, p)
        return made

    def __repr__(self) -> str:
        seed = "INSECURE seed" if self._is_seeded else ""
        return describe("KeyGenerator", *self.parameters._ring, "secret key hidden", seed)
