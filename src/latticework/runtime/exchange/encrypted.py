"""Encrypted inputs or outputs of a program: what travels between client and server, in memory or in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from math import log2
from pathlib import Path
from typing import Any, NoReturn, cast

from latticework.errors import FormatError, ParameterMismatchError, TraceError
from latticework.errors.escaping import html_text
from latticework.errors.shown import describe, size
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.schema import ClientSpec
from latticework.runtime.callers import at_caller
from latticework.runtime.devices.device import Device, as_device, name_of
from latticework.runtime.exchange.clipped import ID_BYTES, MAX_IDS
from latticework.runtime.exchange.row_batches import Extent, check_extent, extent_data, extent_from
from latticework.values.extension import _core

INPUTS, OUTPUTS = "inputs", "outputs"
WITH_CLIPPED = " with clipped rows"  # of a role in files: builds that would drop their numbers refuse such a file
_MAKE = {INPUTS: "encrypt it with client.encrypt", OUTPUTS: "run the server on encrypted inputs"}


@dataclass(frozen=True)
class Encrypted:
    """Named ciphertexts of one program, and its public run-time integers.

    role      "inputs" or "outputs"
    program   name of the program that they belong to
    interface names inputs, outputs, ranges and parameters of the compiled program: `interface_id` of its client part
    tensors   name -> its ciphertexts, one a vector; of inputs that differ from run to run, and of outputs, those of
              one run after the other
    integers  name -> public run-time integer
    extent    how many rows or runs these are, which is not encrypted; None: one run of the program as compiled
    rounds    runs one after the other that these are the inputs, or the results, of: each went on with what the one
              before returned
    clipped   random numbers of the encryptions of clipped rows (`InputCheck.clipped`) that they are, or come from;
              which rows were changed only the client knows
    device    what they are marked for, by `gpu` and `cpu`: a device by name, on which runs that take them are, or
              "cpu": any
    """

    role: str
    program: str
    interface: bytes
    tensors: Mapping[str, tuple[_core.Ciphertext, ...]]
    integers: Mapping[str, int]
    extent: Extent | None = None
    rounds: int = 1
    device: str = "cpu"
    clipped: tuple[bytes, ...] = ()

    @at_caller
    def gpu(self, device: str | Device = "cuda") -> Encrypted:
        """The same values for a device: a server computes with them there, and its results are for it too.

        Nothing is moved before it is needed, and then once; results are in the memory of the device. Of a `Device` the
        name counts, its options are those of the server.
        raises  UserError for what is no device, DeviceError for one that cannot be used
        """
        return replace(self, device=name_of(as_device(device)))

    def cpu(self) -> Encrypted:
        """The same values for any server; what a server on a device returns of them is so too."""
        return replace(self, device="cpu")

    @at_caller
    def download(self) -> Encrypted:
        """The same values in the memory of the host, now, so that a device keeps nothing of them.

        raises  DeviceError if the device that they are on failed
        """
        here = {name: tuple(_core.move(c, c.context.host) for c in array) for name, array in self.tensors.items()}
        return replace(self, tensors=here, device="cpu")

    @property
    def num_bytes(self) -> int:
        """Bytes of the ciphertexts in memory."""
        return sum(c.num_bytes for array in self.tensors.values() for c in array)

    def to_bytes(self) -> bytes:
        """The container that `save` writes."""
        data = self._write(None)
        assert data is not None
        return data

    def save(self, path: str | Path) -> None:
        """Write to a file, atomically; fresh symmetric ciphertexts are stored as a seed and one polynomial.

        raises  TraceError for run-time integers alone, which are public
        """
        self._write(str(path))

    def _write(self, path: str | None) -> bytes | None:
        extras: dict[str, Any] = {
            "role": f"{self.role}{WITH_CLIPPED if self.clipped else ''}",
            "program": self.program,
            "interface": self.interface,
            "integers": dict(self.integers),
            **extent_data(self.extent),
        }
        if self.rounds != 1:
            extras["rounds"] = self.rounds
        if self.clipped:
            extras["clipped"] = list(self.clipped)
        counts = {name: len(array) for name, array in self.tensors.items() if len(array) > 1}
        if counts:
            extras["counts"] = counts
        ciphertexts = [c for array in self.tensors.values() for c in array]
        if not ciphertexts:
            given = ", ".join(f"{name}={value}" for name, value in self.integers.items())
            raise TraceError(
                f"program {self.program}: {given} is public, and there is nothing encrypted to write with it; encrypt "
                "it together with other inputs, or leave it to the server"
            )
        names = [name for key, array in self.tensors.items() for name in _stored_names(key, len(array))]
        written = _core.save_ciphertexts(path, ciphertexts, names, extras)
        return None if written is None else bytes(written)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "Encrypted is not pickled; send to_bytes(), and read it with load_encrypted of client or server"
        )

    def __repr__(self) -> str:
        several = "" if self.extent is None else str(self.extent)
        integers = (f"{name}={value}" for name, value in self.integers.items())
        of = f"{self.role} of program {self.program}"
        place = "" if self.device == "cpu" else f"for {self.device}"
        return describe("Encrypted", of, *self.tensors, *integers, several, place, size(self.num_bytes))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html_text(name)}</td><td>{len(array)} x {array[0].slots} slots</td>"
            f"<td>level {array[0].level[1]}</td><td>scale 2^{log2(array[0].scale):.1f}</td>"
            f"<td>{sum(c.num_bytes for c in array) / 1e6:.2f} MB</td></tr>"
            for name, array in self.tensors.items()
            if array
        )
        title = html_text(f"{self.role} of {self.program}, encrypted")
        return f"<table><caption>{title}</caption>{rows}</table>"


def load_encrypted(source: str | Path | bytes | bytearray | memoryview, context: _core.Context) -> Encrypted:
    """Read what `Encrypted.save` wrote, or `to_bytes` gave.

    raises  FormatError for a damaged or other file, and for what is neither path nor bytes; ParameterMismatchError for
            other parameters
    """
    if isinstance(source, bytearray | memoryview):  # as sockets and web frameworks give
        source = bytes(source)
    elif not isinstance(source, bytes | str | os.PathLike):
        raise FormatError(f"expected a file of ciphertexts or its bytes, got {type(source).__name__}: give either")
    ciphertexts, names, extras = _core.load_ciphertexts(
        source if isinstance(source, bytes) else os.fspath(source), context
    )
    return encrypted_from(dict(zip(names, ciphertexts, strict=True)), extras)


def encrypted_from(stored: dict[str, _core.Ciphertext], extras: dict[str, Any]) -> Encrypted:
    """Ciphertexts of a file by the names that it gives them, and what else it says; FormatError for what it lacks."""
    role, program, integers = extras.get("role"), extras.get("program"), extras.get("integers", {})
    interface = extras.get("interface")
    if not isinstance(program, str) or not isinstance(interface, bytes) or not isinstance(integers, dict):
        raise FormatError("the ciphertext file does not say what it belongs to; write it with Encrypted.save")
    clipped = extras.get("clipped", [])
    if clipped and isinstance(role, str):
        role = role.removesuffix(WITH_CLIPPED) if role.endswith(WITH_CLIPPED) else None
    if role not in (INPUTS, OUTPUTS):
        raise FormatError("the ciphertext file does not say what it holds; write it with Encrypted.save")
    if any(type(v) is not int for v in integers.values()):
        raise FormatError("the ciphertext file holds run-time integers that are none; it was altered")
    tensors = _arrays(stored, extras.get("counts", {}))
    rounds = extras.get("rounds", 1)
    if type(rounds) is not int or rounds < 1:
        raise FormatError("the ciphertext file does not say of how many runs it is; it was altered")
    is_known = isinstance(clipped, list) and len(clipped) <= MAX_IDS
    if not is_known or any(not isinstance(each, bytes) or len(each) != ID_BYTES for each in clipped):
        raise FormatError("the ciphertext file holds numbers of clipped rows that are none; it was altered")
    extent = extent_from(extras)
    return Encrypted(role, program, interface, tensors, integers, extent, rounds, clipped=tuple(clipped))


def read_extent(path: Path) -> Extent | None:
    """Read how much a file of ciphertexts says that it holds, and none of the ciphertexts; None: one run's inputs.

    raises  FormatError for a damaged or other file
    """
    reader = _core.ContainerReader(str(path), kinds=[int(_core.FileKind.CIPHERTEXTS)])
    extras = reader.header.get("extras")
    return extent_from(extras if isinstance(extras, dict) else {})


def _stored_names(name: str, count: int) -> list[str]:
    """Names of the ciphertexts of one tensor in a file."""
    return [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]


def _arrays(stored: dict[str, _core.Ciphertext], counts: object) -> dict[str, tuple[_core.Ciphertext, ...]]:
    """Ciphertexts by tensor.

    counts  of those tensors that have several
    """
    if not isinstance(counts, dict) or any(type(n) is not int or not 1 < n <= len(stored) for n in counts.values()):
        raise FormatError("the ciphertext file holds arrays of ciphertexts that are none; it was altered")
    firsts = {f"{name}[0]": name for name in counts}
    found: dict[str, tuple[_core.Ciphertext, ...]] = {}
    while stored:
        first = next(iter(stored))
        name = firsts.get(first, first)
        try:
            found[name] = tuple(stored.pop(part) for part in _stored_names(name, counts.get(name, 1)))
        except KeyError as error:
            raise FormatError(f"the ciphertext file lacks {error} of tensor {name!r}; it was altered") from None
    return found


def check_role(encrypted: Encrypted, spec: ClientSpec, role: str) -> None:
    """FormatError unless this is the inputs (or outputs) of the program."""
    if not isinstance(encrypted, Encrypted):
        remedy = "read it with load_encrypted" if isinstance(encrypted, bytes | str | Path) else _MAKE[role]
        raise FormatError(
            f"expected the encrypted {role} of program {spec.name}, got {type(encrypted).__name__}: {remedy} first"
        )
    if encrypted.role != role:
        remedy = "run them on the server first" if role == OUTPUTS else "they are for client.decrypt"
        raise FormatError(f"these are the {encrypted.role} of program {encrypted.program}, not its {role}: {remedy}")
    if encrypted.program != spec.name:
        raise FormatError(
            f"these are the {role} of program {encrypted.program!r}; expected those of {spec.name!r}: "
            "use the plan and client of the same program"
        )


def check_interface(encrypted: Encrypted, spec: ClientSpec, interface: bytes) -> None:
    """ParameterMismatchError unless this is of the same compilation of the program."""
    if encrypted.interface != interface:
        raise ParameterMismatchError(
            f"these are the {encrypted.role} of another compilation of program {spec.name} "
            f"({encrypted.interface.hex()[:16]}, not {interface.hex()[:16]}): ranges, layouts or parameters differ; "
            "use the plan and the client file of one compilation"
        )
    check_extent(spec, encrypted.extent)


@dataclass(frozen=True, slots=True)
class StoredCiphertext:
    """A ciphertext that stays in its file until it is read.

    key_set, parameters  as a ciphertext tells them: they are those of its file
    """

    reader: _core.CiphertextReader
    index: int
    key_set: bytes
    parameters: bytes

    def read(self) -> _core.Ciphertext:
        """Return the ciphertext; FormatError where the file was damaged since it was opened."""
        return self.reader.read(self.index)


class EncryptedFile:
    """Encrypted inputs in a file, which a server takes as it takes `Encrypted`: `Server.open_encrypted`.

    The file must not be changed while it is in use; every ciphertext is verified again when it is read.
    """

    def __init__(self, path: str | Path, context: _core.Context) -> None:
        """Open a file that `Encrypted.save` wrote, and verify all of it.

        context  of the server
        raises   FormatError for a damaged or other file; ParameterMismatchError for other parameters
        """
        self.path, self._context = Path(path), context
        _core.ContainerReader(str(path), kinds=[int(_core.FileKind.CIPHERTEXTS)]).verify_all()
        reader = _core.CiphertextReader(str(path), context)
        key_set = reader.read(0).key_set if len(reader) else b""
        known = context.parameters.fingerprint
        stored = {name: StoredCiphertext(reader, i, key_set, known) for i, name in enumerate(reader.names)}
        # What is not read yet has all that a server asks of a ciphertext before it computes.
        self._inputs = encrypted_from(cast(dict[str, _core.Ciphertext], stored), reader.extras)

    @property
    def integers(self) -> Mapping[str, int]:
        """Public run-time integers of the file, by name."""
        return self._inputs.integers

    def __repr__(self) -> str:
        return describe("EncryptedFile", str(self.path), f"of program {self._inputs.program}")


def inputs_of(given: Encrypted | EncryptedFile, *, whole: bool) -> Encrypted:
    """The inputs for a server, read from their file as a whole, or with `StoredCiphertext` in place of ciphertexts."""
    if not isinstance(given, EncryptedFile):  # what is neither is refused by whoever takes it
        return given
    return load_encrypted(given.path, given._context) if whole else given._inputs
