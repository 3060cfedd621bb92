"""A parameter set of either scheme: a modulus chain, and where to compute with it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import log2
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from latticework.compiler.keys import resident_bytes, stored_bytes
from latticework.errors import LevelError, MissingKeyError, ParameterMismatchError, RangeError, UserError
from latticework.errors.shown import count_noun, describe
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.parameters.secrets import check_security, secret_limit_bits, secret_text
from latticework.runtime.devices.device import Device, as_device, contexts_on
from latticework.runtime.devices.drivers import check_gpu, known_backends
from latticework.schemes.rlwe.checks import fail, file_bytes, file_path, locate, needs, whole
from latticework.schemes.rlwe.parameter_files import read_chain, write_chain
from latticework.values.extension import _core
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.sums import add_up

MAX_THREADS = 1024


class ChainParameters:
    """A parameter set; immutable. Those of one chain are equal, wherever they compute."""

    scheme: ClassVar[str]
    chain: ModulusChain

    def _use(
        self, chain: ModulusChain, backend: str | None = None, threads: int = 0, place: Device | None = None
    ) -> Self:
        self.chain, self._backend, self._threads = chain, backend, threads
        self._place = place
        self._elsewhere: dict[Device | None, Self] = {}
        core_parameters(chain)  # every rule but that of security is checked there
        locate(check_security)(chain)
        return self

    @classmethod
    @locate
    def of_chain(cls, chain: ModulusChain) -> Self:
        """The parameters of a modulus chain, such as that of a compiled model: `model.plan.chain`."""
        needs(f"{cls.scheme}.Parameters.of_chain", chain, ModulusChain, "give a modulus chain, as model.plan.chain")
        if chain.scheme != cls.scheme:
            fail(
                ParameterMismatchError,
                f"{cls.scheme}.Parameters: the chain is one of {chain.scheme}; use {chain.scheme}.Parameters",
            )
        return object.__new__(cls)._use(chain)

    def on(self, *, device: str | Device = "cpu", backend: str | None = None, threads: int = 0) -> Self:
        """The same parameters, computed on a device, or with another backend or number of threads (0: one per core).

        device   "cpu"; or another device by name, as "cuda", "cuda:1", "sycl:gpu" or "sim", or as a `Device`: what is
                 made with these parameters is in its memory
        backend  "auto" (the default: AVX-512, AVX2 or NEON, as this machine has them), "cpu", "ref", "cuda",
                 "sycl:gpu" or "sycl:cpu" where latticework-cuda or latticework-sycl and such a device are there, or
                 "sim", the GPU code on a simulated device, which is slow and checks every access; or a variant of "cpu"
                 with one instruction set ("cpu-avx512", "cpu-avx2", "cpu-neon"), of "cuda" or "sycl:..." with one
                 arithmetic ("cuda-fp64", "cuda-u64"), or of "sim" with one arithmetic and order of threads
                 ("sim-fp64-forward", "sim-u64-shuffled", ...)
        raises   UserError for a backend that there is not, DeviceError for a GPU that cannot be used, RangeError for a
                 number of threads that is none
        """
        if isinstance(backend, str):
            locate(check_gpu)(backend)
        known = known_backends()
        if backend is not None and not (isinstance(backend, str) and backend in known):
            fail(UserError, f"Parameters.on: there is no backend {backend!r:.60}; choose one of {', '.join(known)}")
        if not 0 <= whole("Parameters.on: threads", threads) <= MAX_THREADS:
            fail(RangeError, f"Parameters.on: threads={threads}; give 1 to {MAX_THREADS}, or 0 for one per core")
        place = locate(as_device)(device)
        if place is not None and backend is not None:
            fail(UserError, f"Parameters.on: device={place.name!r} and backend={backend!r}; give one of them")
        return object.__new__(type(self))._use(self.chain, backend, threads, place)

    @property
    def device(self) -> str:
        """The device where values of these parameters are: "cpu", or the name of a device."""
        return "cpu" if self._place is None else self._place.name

    def _at(self, place: Device | None) -> Self:
        """The same parameters on a device, or on the host; made once for each place, and anew where a device failed."""
        if place == self._place:
            return self
        found = self._elsewhere.get(place)
        if found is None or ("context" in vars(found) and found.context.has_failed):
            found = object.__new__(type(self))._use(self.chain, None, self._threads, place)
            found._elsewhere = self._elsewhere
            self._elsewhere.setdefault(self._place, self)
            self._elsewhere[place] = found
        return found

    @property
    def _ring(self) -> tuple[str, str]:
        """The facts that a repr of anything of these parameters begins with: scheme and ring degree."""
        return self.scheme, f"N=2^{self.ring_degree.bit_length() - 1}"

    def mark_insecure(self) -> Self:
        """Parameters of the same primes that are marked INSECURE: for seeds of tests, and keys from residues.

        They are other parameters: no key, ciphertext or file of one fits the other, and files of them are read with
        `insecure=True` only.
        """
        marked = replace(self.chain, insecure=True)
        return object.__new__(type(self))._use(marked, self._backend, self._threads, self._place)

    # -- what they are -----------------------------------------------------------------------

    @property
    def ring_degree(self) -> int:
        """N."""
        return self.chain.ring_degree

    @property
    def levels(self) -> int:
        """The highest level, that of new ciphertexts; 0 is the last."""
        return self.chain.main.top

    @property
    def primes(self) -> tuple[int, ...]:
        """The primes of the ciphertext modulus, one for each limb."""
        return self.chain.primes

    @property
    def special(self) -> tuple[int, ...]:
        """The special primes of key switching; none where no evaluation key can be made."""
        return self.chain.special

    def special_at(self, level: int) -> tuple[int, ...]:
        """Return the special primes of keys for a level, which are others where `special_below` says so."""
        return self.chain.special_at(self.check_level("special_at", level))

    def primes_at(self, level: int) -> tuple[int, ...]:
        """Return the primes of a ciphertext at a level, in the order of its limbs."""
        return self.chain.limb_primes(self.chain.main.basis(self.check_level("primes_at", level)))

    @property
    def log2_q(self) -> float:
        """Bits of the ciphertext modulus at the highest level."""
        return add_up(log2(p) for p in self.chain.primes)

    @property
    def log2_p(self) -> float:
        """Bits of the special primes."""
        return add_up(log2(p) for p in self.chain.special)

    @property
    def log2_qp(self) -> float:
        """Bits of QP, on which security is counted."""
        return self.chain.log2_qp

    @property
    def limit_bits(self) -> int | None:
        """Bits of QP that are secure at this ring degree; None where nothing is."""
        return secret_limit_bits(self.chain)

    @property
    def is_insecure(self) -> bool:
        """Whether the set is below its security level: for tests only."""
        return self.chain.insecure

    @property
    def num_digits(self) -> int:
        """Digits of a key switch at the highest level."""
        return len(self.chain.digits)

    @property
    def fingerprint(self) -> bytes:
        """32 bytes that name the parameters in keys, ciphertexts and files."""
        return bytes(core_parameters(self.chain).fingerprint)

    @cached_property
    @locate
    def context(self) -> _core.Context:
        """The core's tables for these parameters, made when first used."""
        if self._backend is None:
            return contexts_on(self.chain, self._place, self._threads)[0]
        return _core.Context(core_parameters(self.chain), self._backend, self._threads)

    def check_level(self, who: str, level: Any) -> int:
        """The level as an int; LevelError if there is none."""
        index = whole(f"{who}: level", level)
        if not 0 <= index <= self.levels:
            fail(LevelError, f"{who}: there is no level {index}; these parameters have levels 0 to {self.levels}")
        return index

    def key_bytes(self, level: int | None = None, *, stored: bool = False) -> int:
        """Bytes of one evaluation key for ciphertexts up to a level, in memory or in a file.

        raises  MissingKeyError where there are no special primes, and so no such keys
        """
        need_special("key_bytes", self)
        spec = KeySpec("relin", 0, 0, self.check_level("key_bytes", self.levels if level is None else level))
        return stored_bytes(spec, self.chain) if stored else resident_bytes(spec, self.chain)

    def summary(self) -> str:
        """A table of everything about the parameters."""
        chain = self.chain
        limit = "nothing is secure" if self.limit_bits is None else f"at most {self.limit_bits}"
        of_secret = f" of {secret_text(chain)}" if secret_text(chain) else ""
        verdict = ", INSECURE: for tests only" if chain.insecure else ""
        lower = [f"{g.num_special} with {g.limbs} primes of Q" for g in chain.gadgets]
        rows = [
            *self._scheme_rows(),
            ("log2 Q", f"{self.log2_q:.1f}", f"{len(chain.primes)} primes, {self.levels} levels above the last"),
            ("log2 P", f"{self.log2_p:.1f}", ", ".join([f"{len(chain.special)} special primes", *lower])),
            ("log2 QP", f"{self.log2_qp:.1f}", f"{limit} for {chain.security_bits}-bit security{of_secret}{verdict}"),
            *self._key_rows(),
            ("ciphertext", megabytes(16 * chain.ring_degree * len(chain.primes)), "in memory, at the top level"),
        ]
        lines = [f"{self.scheme.upper()} parameters"]
        lines += [f"  {name:<15}{value:>10}  {note}" for name, value, note in rows]
        return "\n".join([*lines, *self._level_lines()])

    def _key_rows(self) -> list[tuple[str, str, str]]:
        """The rows of the summary about evaluation keys."""
        if not self.special:
            return [("evaluation key", "none", "without special primes")]
        digits = [add_up(log2(self.primes[limb]) for limb in digit) for digit in self.chain.digits]
        return [
            ("digits", f"{len(digits)}", f"of up to {max(digits):.1f} bits"),
            ("evaluation key", megabytes(self.key_bytes()), f"{megabytes(self.key_bytes(stored=True))} in a file"),
        ]

    def _scheme_rows(self) -> list[tuple[str, str, str]]:
        """The first rows of the summary: ring, slots and what else the scheme has."""
        raise NotImplementedError

    def _level_lines(self) -> list[str]:
        """The last lines of the summary: a table of the levels."""
        raise NotImplementedError

    def _repr_facts(self) -> tuple[str, str]:
        """Return what a repr says before the sizes of the moduli, and after them."""
        raise NotImplementedError

    def __repr__(self) -> str:
        first, last = self._repr_facts()
        bits = f"log2 Q={self.log2_q:.1f}", f"log2 P={self.log2_p:.1f}"
        insecure = "INSECURE" if self.is_insecure else ""
        facts = secret_text(self.chain), last, insecure
        return describe("Parameters", *self._ring, count_noun(self.levels, "level"), first, *bits, *facts)

    def __str__(self) -> str:
        return self.summary()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.chain == other.chain

    def __hash__(self) -> int:
        return hash(self.chain)

    # -- files -------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """All that others need to use the same parameters; `from_bytes` reads it."""
        return write_chain(self.chain)

    @classmethod
    def from_bytes(cls, data: bytes, *, insecure: bool = False) -> Self:
        """Read the parameters in bytes of `to_bytes`.

        insecure  accept parameters that are marked insecure: only for tests
        raises    FormatError for damaged bytes, SecurityError for insecure parameters, ParameterMismatchError for
                  those of the other scheme
        """
        who = f"{cls.scheme}.Parameters.from_bytes"
        given = file_bytes(who, data, "Parameters.load(path) reads a file")
        return cls.of_chain(locate(read_chain)(who, given, insecure=insecure))

    @locate
    def save(self, path: str | Path) -> None:
        """Write to a file; `load` reads it."""
        _core.write_file_atomic(file_path("Parameters.save", path, "to_bytes() gives bytes"), self.to_bytes())

    @classmethod
    @locate
    def load(cls, path: str | Path, *, insecure: bool = False) -> Self:
        """Read a file of `save`; errors as of `from_bytes`."""
        name = file_path(f"{cls.scheme}.Parameters.load", path, "from_bytes(data) reads bytes")
        return cls.of_chain(read_chain(name, Path(name).read_bytes(), insecure=insecure))


Params = TypeVar("Params", bound=ChainParameters)


def need_parameters(who: str, found: Any, kind: type[ChainParameters]) -> None:
    """DtypeError unless something is a parameter set of a scheme."""
    needs(f"{who}: the parameters", found, kind, f"give {kind.scheme}.Parameters")


def check_parameters(who: str, found: ChainParameters, expected: ChainParameters) -> None:
    """ParameterMismatchError unless both are the same parameters."""
    if found is not expected and found != expected:
        fail(
            ParameterMismatchError,
            f"{who} is of {found!r}, not of {expected!r}: use things of one parameter set",
        )


def need_special(who: str, parameters: ChainParameters) -> None:
    """MissingKeyError unless a parameter set has the special primes that evaluation keys are made with."""
    if not parameters.special:
        fail(
            MissingKeyError,
            f"{who}: {parameters!r} have no special primes (num_special=0), so that there are no evaluation keys of "
            "them; make parameters with num_special=1 or more, and keys and ciphertexts of these",
        )


def megabytes(count: int) -> str:
    """A size, as tables show it."""
    return f"{count / 1e6:.2f} MB"
