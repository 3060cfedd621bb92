"""The client: makes keys, encrypts inputs, decrypts outputs. Needs no weights and no code of the program."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice
from math import log2
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from latticework.errors import (
    BudgetError,
    DecryptionError,
    ParameterMismatchError,
    SecretKeyError,
    SecurityError,
    ShapeError,
    UserError,
)
from latticework.errors.shown import count_noun, describe, size
from latticework.plan.client_steps.run_steps import arrange_results
from latticework.plan.files.serialise import interface_id, read_client, write_client
from latticework.plan.parameters.chain_without_keys import has_public_key
from latticework.plan.schema.schema import ClientSpec, IndexInput, Output, SecretInput
from latticework.runtime.callers import at_caller
from latticework.runtime.client.coding import PlanDecryptor, coding_of
from latticework.runtime.client.feedback import after_rounds
from latticework.runtime.client.input_check import InputCheck, Inputs
from latticework.runtime.client.input_inspection import look_at
from latticework.runtime.client.postprocess import doubt_results, finished_values
from latticework.runtime.client.user_names import inputs_by_name, return_values
from latticework.runtime.devices.operation_names import operation
from latticework.runtime.events import Event, OnEvent
from latticework.runtime.exchange.clipped import ClippedRecords, ClippedRows, doubted_rows
from latticework.runtime.exchange.decrypted import OwnerValue, of_one_run, of_several
from latticework.runtime.exchange.encrypted import (
    INPUTS,
    OUTPUTS,
    Encrypted,
    check_interface,
    check_role,
    load_encrypted,
)
from latticework.runtime.exchange.row_batches import Extent, of_items, put_together
from latticework.runtime.keys.key_folder import OnKey, write_keys
from latticework.runtime.keys.key_sets import PUBLIC_FILE, SECRET_FILE, Keys, PublicKeys, file_in
from latticework.runtime.keys.more_keys import list_missing
from latticework.runtime.ledger.refused_results import RefusalLedger, ledger_beside
from latticework.runtime.options import open_contexts
from latticework.values.extension import _core
from latticework.values.inputs.machine_memory import free_bytes
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.slot_arrays import as_vectors

SCALE_TOLERANCE = 2.0**-20


class Client:
    """The owner of the data.

    spec            inputs, outputs, parameters and key manifest of one program
    threads         of the arithmetic; 0: one per core
    allow_insecure  accept insecure parameters; every way to keys and ciphertexts leads through here
    raises          SecurityError for insecure parameters without it: whoever chose them could read the data
    """

    @at_caller
    def __init__(self, spec: ClientSpec, *, threads: int = 0, allow_insecure: bool = False) -> None:
        if spec.chain.insecure and not allow_insecure:
            raise SecurityError(
                f"the program {spec.name} has INSECURE parameters (log2(QP) = {spec.chain.log2_qp:.0f} at "
                f"N={spec.chain.ring_degree}): whatever is encrypted with "
                "them can be read by others; allow_insecure=True (--insecure on the command "
                "line) is for tests with data that are not secret"
            )
        self.spec = spec
        contexts = open_contexts(spec.chain, "cpu", threads)
        self.context = contexts[0]
        self._coding = coding_of(spec.chain, contexts, spec.slot_rows)
        self._encryptors: list[_core.Encryptor] = []  # for each part of the coding
        self._decryptors: list[PlanDecryptor] = []
        self._secret: _core.SecretKey | None = None
        self._ledger: RefusalLedger | None = None
        self._interface = interface_id(spec)
        self._clipped = ClippedRecords()

    @classmethod
    @at_caller
    def load(cls, path: str | Path, *, threads: int = 0, allow_insecure: bool = False) -> Client:
        """Make a client from a client file.

        raises  SecurityError for insecure parameters, unless allow_insecure: whoever wrote the file could read the data
        """
        return cls(read_client(Path(path)), threads=threads, allow_insecure=allow_insecure)

    def save(self, path: str | Path) -> None:
        """Write the client file: all a client needs, no weights, no keys."""
        write_client(self.spec, Path(path))

    # -- keys --------------------------------------------------------------------------------

    @at_caller
    @operation
    def keygen(self, folder: str | Path | None = None, *, on_event: OnEvent | None = None) -> Keys:
        """Make a secret key and exactly the evaluation keys of the program's manifest; the client holds the secret one.

        folder    None: all keys are in memory, until `Keys.save` writes them. A folder: each is written there when it
                  is made, one at a time is in memory, and evaluation keys stay in their file. If that was interrupted,
                  in whatever way, the same call goes on with the secret key and the whole keys that are there
        on_event  called after every key
        warns     LeftoverWarning for unfinished files in the folder that nothing can go on with, which are removed
        raises    SecurityError before any key is made if one would be too weak; FileExistsError if the folder holds a
                  secret key whose keys are complete; OSError before any key is made if there is no room for all, and
                  BudgetError if all are to be in memory, and the machine has less left than that takes
        """
        if folder is None:
            self._check_room()
            secret = _core.KeyGenerator(self.context).secret_key()
            keys = Keys(secret, self._public_keys(secret, on_event), self.context)
        else:
            keys = write_keys(Path(folder), self.context, self._specs(self.spec.manifest.specs), _listener(on_event))
        self._use(keys._secret, keys._ledger)
        if folder is not None:
            self._clipped.lie_beside(Path(folder) / SECRET_FILE)
        return keys

    @at_caller
    @operation
    def public_keys(
        self, *, beside: PublicKeys | str | Path | None = None, on_event: OnEvent | None = None
    ) -> PublicKeys:
        """Make the public keys of the program's manifest anew, for the secret key that the client holds.

        beside  keys that the server has, or their file or its folder: only those that are missing are made, and
                `PublicKeys.merged` or `latticework addkeys` puts them together
        raises  BudgetError as `keygen`; ParameterMismatchError for keys of another secret key, or other parameters
        """
        if self._secret is None:
            raise SecretKeyError("the client has no secret key to make keys for: keygen(), or load_keys(folder), first")
        if beside is not None:
            missing = list_missing(self.spec, beside, self._secret, self.context)
            return self._public_keys(self._secret, on_event, missing)
        self._check_room()
        return self._public_keys(self._secret, on_event)

    def _public_keys(
        self, secret: _core.SecretKey, on_event: OnEvent | None, wanted: Sequence[KeySpec] | None = None
    ) -> PublicKeys:
        """The evaluation keys of the program, or those wanted, and a public key."""
        generator = _core.KeyGenerator(self.context)
        made = partial(_listener(on_event), False)
        specs = self._specs(self.spec.manifest.specs if wanted is None else wanted)
        return PublicKeys(generator.evaluation_keys(secret, specs, made), generator.public_key(secret))

    def _check_room(self) -> None:
        """BudgetError for keys that the machine has no memory for, all at once."""
        needed, left = self.spec.manifest.total_resident_bytes, free_bytes()
        if needed > left:
            raise BudgetError(
                f"program {self.spec.name}: its {count_noun(len(self.spec.manifest.uses), 'evaluation key')} take "
                f"{size(needed)} in memory, and this machine has {size(left)} left: give keygen a folder, which holds "
                f"them in {size(self.spec.manifest.total_stored_bytes)}, and read them with "
                "lw.Server.load(plan, keys, memory=...)"
            )

    def _specs(self, keys: Sequence[KeySpec]) -> list[dict[str, Any]]:
        return [{"kind": k.kind, "galois_element": k.galois_element, "track": k.track, "level": k.level} for k in keys]

    @at_caller
    def use_secret_key(self, secret: _core.SecretKey) -> None:
        """Encrypt and decrypt under this key from now on; results that are refused are counted in memory."""
        if not isinstance(secret, _core.SecretKey):
            raise UserError(
                f"use_secret_key takes a SecretKey, got {type(secret).__name__}; load_keys(folder) reads one"
            )
        self._use(secret, RefusalLedger(secret.key_set))

    def _use(self, secret: _core.SecretKey, ledger: RefusalLedger) -> None:
        self._encryptors = [_core.Encryptor(part.context, secret) for part in self._coding.parts]
        self._decryptors = [part.decryptor(secret) for part in self._coding.parts]
        self._secret, self._ledger = secret, ledger
        self._clipped.lie_nowhere()

    @at_caller
    def share_keys(self, keys: Keys) -> None:
        """Encrypt and decrypt under the secret key of a client of another program with the same parameters.

        raises  ParameterMismatchError if they are of other parameters
        """
        if not isinstance(keys, Keys):
            raise UserError(f"share_keys takes the Keys that keygen() made, got {type(keys).__name__}")
        if keys._secret.parameters != self.context.parameters.fingerprint:
            raise ParameterMismatchError(
                f"client of {self.spec.name}: the keys are of other parameters; compile with like= the model that they "
                "are of"
            )
        self._use(keys._secret, keys._ledger)

    @at_caller
    def use_public_key(self, key: _core.PublicKey) -> None:
        """Encrypt for the owner of this key; such a client cannot decrypt."""
        if not isinstance(key, _core.PublicKey):
            raise UserError(
                f"use_public_key takes a PublicKey, got {type(key).__name__}: give it keys.public().encryption, "
                "or read its file with load_public_key(path)"
            )
        if not has_public_key(self.spec.chain):
            raise UserError(
                f"client of {self.spec.name}: its plan needs no evaluation key, and leaves no room for the noise of a "
                "public key; encrypt with the secret key, or compile with techniques=lw.Techniques(matrix_products="
                "False)"
            )
        self._encryptors = [_core.Encryptor(part.context, key) for part in self._coding.parts]
        self._secret, self._decryptors, self._ledger = None, [], None
        self._clipped.lie_nowhere()

    @at_caller
    def load_keys(self, path: str | Path, *, ledger: str | Path | None = None) -> None:
        """Read a secret key file, or that of a folder written by `Keys.save`.

        Records of rows that are clipped from then on lie beside it, in the folder `clipped`.

        ledger  of BFV, where refused results are counted (`docs/bfv.md`); None: beside the secret key. For keys in a
                folder that cannot be written: the path of their ledger, moved to where it can
        """
        file = file_in(path, SECRET_FILE)
        secret = _core.load_secret_key(file, self.context)
        self._use(secret, RefusalLedger(secret.key_set, ledger_beside(file) if ledger is None else ledger))
        self._clipped.lie_beside(Path(file))

    @at_caller
    def load_public_key(self, path: str | Path) -> None:
        """Read a public key file, or that of a folder, to encrypt for its owner."""
        self.use_public_key(_core.load_public_key(file_in(path, PUBLIC_FILE), self.context))

    # -- values ------------------------------------------------------------------------------

    @at_caller
    @operation
    def encrypt(self, /, *arrays: npt.ArrayLike | int | InputCheck | Inputs, **named: npt.ArrayLike | int) -> Encrypted:
        """Encrypt the inputs, by position or by name; run-time integers travel in the clear.

        What `check` found in them, and its `clipped()` and `kept()`, are inputs too.

        arrays  of the shapes that were compiled, or as the owner has them where the program says what to compute of
                them first (`spec.owner`); any number of rows, where the program computes every row alike and
                apart from the others; or stacks (runs, *shape), one input for each run. The server takes all of it in
                one call, and `decrypt` gives the results of all rows or runs
        raises  ShapeError, ColumnsError, DtypeError or RangeError, before anything is encrypted, for inputs that do not
                fit: with the place and what is accepted there, and no value
        """
        return self.encrypt_checked(self.checked(arrays, named))

    @at_caller
    def check(self, /, *arrays: npt.ArrayLike | int, **named: npt.ArrayLike | int) -> InputCheck:
        """Look at inputs as `encrypt` does, and say of all rows and columns what is not taken, instead of refusing it.

        arrays   as `encrypt` takes them
        returns  with `clipped()` and `kept()` what `encrypt` takes: values brought to the ends of their ranges, whose
                 results are marked, or the rows in which all is taken
        raises   ShapeError, ColumnsError or DtypeError for what are no inputs of the program
        """
        return self._check(arrays, named)

    @at_caller
    def check_part(self, /, **named: npt.ArrayLike | int) -> InputCheck:
        """The same of some of the inputs, by name, as `encrypt_part` takes them."""
        return self._check((), named, part=True)

    @at_caller
    @operation
    def encrypt_part(self, /, **named: npt.ArrayLike | int) -> Encrypted:
        """Encrypt some of the inputs, by name: the server puts parts together, and can keep one for many runs.

        raises  as `encrypt`; TraceError for no input at all, and where others share a ciphertext with those given
        """
        return self.encrypt_checked(self.checked((), named, part=True))

    def encrypt_checked(self, checked: Inputs) -> Encrypted:
        """Encrypt what `checked` gives."""
        if not self._encryptors:
            raise SecretKeyError("the client has no key: call keygen(), or load_keys(folder), first")
        tensors, integers = {}, {}
        for spec in self.spec.inputs:
            if spec.name not in checked.values:
                continue
            value = checked.values[spec.name]
            if isinstance(spec, IndexInput):
                assert isinstance(value, int)
                integers[spec.name] = value
            else:
                tensors[spec.name] = tuple(self._encrypt(spec, value))
        clipped = checked.clipped
        if clipped is not None:
            self._clipped.note(clipped)
        numbers = () if clipped is None else (clipped.number,)
        return Encrypted(INPUTS, self.spec.name, self._interface, tensors, integers, checked.extent, clipped=numbers)

    def _encrypt(self, spec: SecretInput, values: npt.NDArray[Any]) -> Iterator[_core.Ciphertext]:
        """The ciphertexts of an input, one part of the coding after the other."""
        parts = zip(self._coding.parts, self._coding.split(values), self._encryptors, strict=True)
        for coding, own, encryptor in parts:
            for groups in in_slot_rows(spec.groups(own), self.spec.slot_rows):
                for vector in np.stack([as_vectors(spec.pack.pack(group)) for group in groups], axis=1):
                    yield encryptor.encrypt(coding.encode(vector, spec))

    @property
    def keeps_clipped(self) -> bool:
        """Whether records of rows that it clips outlast the process: its secret key is in a folder."""
        return self._clipped.are_kept

    @at_caller
    def load_clipped(self, path: str | Path) -> None:
        """Read which rows were clipped (`ClippedRows.save`), where others encrypted them, or a process that ended."""
        self._clipped.note(ClippedRows.load(path), keep=False)

    @at_caller
    @operation
    def decrypt(self, encrypted: Encrypted, *, allow_refusals: int | None = None) -> OwnerValue | Any:
        """Decrypt the outputs of a run: one OwnerValue, or a tuple or dictionary of them, as the program returned.

        Where the owner goes on computing after decryption they are FinishedValues, which reveal the finished results.

        To type checkers it is an OwnerValue where nothing else is done with it than one can do.
        allow_refusals  of BFV, results of this key set that may be refused before it decrypts no more; 4 if not given
        raises  ParameterMismatchError for ciphertexts of other parameters or another key; of BFV DecryptionError for a
                result that is not certain, which others must not learn of; SecurityError after as many of them as may
                be, OSError where they cannot be recorded
        """
        check_role(encrypted, self.spec, OUTPUTS)
        if self._secret is None:
            raise SecretKeyError("the client has no secret key, so it cannot decrypt: load_keys(folder) first")
        for name, array in encrypted.tensors.items():
            for ciphertext in array:
                self._check_origin(f"program {self.spec.name}, output {name}", ciphertext)
        check_interface(encrypted, self.spec, self._interface)
        labels = self.spec.output_labels
        missing = [label for name, label in labels.items() if name not in encrypted.tensors]
        if missing:
            raise ShapeError(f"program {self.spec.name}: outputs {', '.join(missing)} are missing")
        by_output = self._parts(encrypted)
        with self._counting(allow_refusals):
            values = after_rounds(self.spec, self._values(encrypted.extent, by_output), encrypted.rounds)
            return self._results(values, encrypted)

    def _results(self, values: dict[str, OwnerValue], encrypted: Encrypted) -> Any:
        """Rebuild what the program returned, of decrypted outputs by name; results of clipped rows are not certain."""
        extent, batch = encrypted.extent, self.spec.batch
        is_stack = extent is not None and extent.rows is None
        rows = None if batch is None or not batch.inputs else batch.rows
        count = rows if extent is None else extent.rows or extent.runs
        doubted = doubted_rows(self._clipped, encrypted.clipped, count)
        if self.spec.results:
            return return_values(self.spec, list(values.values()), doubted)
        values = finished_values(self.spec, values)
        if doubted is not None:
            names = [output.name for output in self.spec.outputs]
            axes = {} if batch is None or rows is None else dict(zip(names, batch.axes, strict=True))
            doubt_results(self.spec, values, doubted, None if is_stack else axes)
        return arrange_results(self.spec.result_names, list(values.values()))

    def _counting(self, allow_refusals: int | None = None) -> AbstractContextManager[None]:
        """Count the block as refused if it does not end well: all that follows the checks of what anybody can see."""
        if not self._coding.may_refuse:
            return nullcontext()
        assert self._ledger is not None
        return self._ledger.decrypting(f"program {self.spec.name}", allow_refusals)

    def _check_origin(self, where: str, ciphertext: _core.Ciphertext) -> None:
        assert self._secret is not None
        ours, key_set = self.context.parameters.fingerprint, self._secret.key_set
        if ciphertext.parameters != ours:
            raise ParameterMismatchError(
                f"{where} is encrypted under parameters {ciphertext.parameters[:8].hex()}, this client has "
                f"{ours[:8].hex()}: use the client of the plan that the server ran"
            )
        if any(ciphertext.key_set) and ciphertext.key_set != key_set:  # no key: a trivial encryption
            raise ParameterMismatchError(
                f"{where} is encrypted under key set {ciphertext.key_set[:8].hex()}, this client has the secret key of "
                f"{key_set[:8].hex()}: use the client that encrypted the inputs, or load_keys(folder) of its keys"
            )

    def _parts(self, encrypted: Encrypted) -> list[list[list[tuple[_core.Ciphertext, ...]]]]:
        """The ciphertexts of every output by part of the coding and by run, all of them checked."""
        runs = self.spec.runs_for(1 if encrypted.extent is None else encrypted.extent.runs)
        by_output = []
        for output in self.spec.outputs:
            array, count = encrypted.tensors[output.name], output.pack.count
            wanted = len(self._coding.parts) * runs * count
            if len(array) != wanted:
                raise ShapeError(f"{self._label(output)} has {len(array)} ciphertexts, expected {wanted}")
            self._check_places(output, array)
            each = [array[first : first + count] for first in range(0, wanted, count)]
            by_output.append([each[first : first + runs] for first in range(0, len(each), runs)])
        return by_output

    def _values(
        self, extent: Extent | None, by_output: Sequence[Sequence[Sequence[tuple[_core.Ciphertext, ...]]]]
    ) -> dict[str, OwnerValue]:
        """The outputs of all runs, put together."""
        rows = None if extent is None else self.spec.rows
        numbered = [(n, array) for parts in by_output for n, runs in enumerate(parts) for array in runs]
        vectors = self._decrypt_all(numbered)
        by_run = []
        for output, parts in zip(self.spec.outputs, by_output, strict=True):
            of_parts = [
                [coding.value(output, next(vectors), rows) for _ in runs]
                for coding, runs in zip(self._coding.parts, parts, strict=True)
            ]
            by_run.append([self._coding.join(output, values) for values in zip(*of_parts, strict=True)])
        found = list(zip(*(of_one_run(values) for values in zip(*by_run, strict=True)), strict=True))
        if extent is None:
            return {o.name: values[0] for o, values in zip(self.spec.outputs, found, strict=True)}
        arrays = [of_items(self.spec, extent, [value.reveal() for value in values]) for values in found]
        whole = zip(self.spec.outputs, put_together(self.spec, extent, arrays), found, strict=True)
        is_exact = bool(self.spec.chain.plain_modulus)
        return {
            output.name: of_several(array, values, output.mask_wrapping(array.shape) if is_exact else None)
            for output, array, values in whole
        }

    def decrypted(self, output: Output, array: tuple[_core.Ciphertext, ...]) -> OwnerValue:
        """One output of a run of the plan, of ciphertexts under this client's key; raises as `decrypt`.

        Of several plaintext moduli the first.
        """
        if len(array) != output.pack.count:
            raise ShapeError(f"{self._label(output)} has {len(array)} ciphertexts, expected {output.pack.count}")
        self._check_places(output, array)
        with self._counting():
            return self._coding.parts[0].value(output, next(self._decrypt_all([(0, array)])))

    def _label(self, output: Output) -> str:
        return f"output {self.spec.output_labels[output.name]}"

    def _check_places(self, output: Output, array: tuple[_core.Ciphertext, ...]) -> None:
        for ciphertext in array:
            if ciphertext.is_unproved or ciphertext.encoding != "slots":
                raise ParameterMismatchError(
                    f"{self._label(output)} was made from residues, or holds coefficients: it is no result of program "
                    f"{self.spec.name}, and no bound holds for it; read it by Decryptor of latticework.ckks or .bfv"
                )
            if ciphertext.slots != output.pack.slots:
                raise ShapeError(f"{self._label(output)} has {ciphertext.slots} slots, expected {output.pack.slots}")
            if ciphertext.level != (0, output.level) or abs(ciphertext.scale / output.scale - 1) > SCALE_TOLERANCE:
                raise ParameterMismatchError(
                    f"{self._label(output)} lies at level {ciphertext.level[1]}, scale 2^{log2(ciphertext.scale):.3f}; "
                    f"program {self.spec.name} gives level {output.level}, scale 2^{log2(output.scale):.3f}: the "
                    "ciphertext was altered, or is of another program"
                )

    def _decrypt_all(self, arrays: Sequence[tuple[int, tuple[_core.Ciphertext, ...]]]) -> Iterator[npt.NDArray[Any]]:
        """The slots of ciphertexts, (count, slots) for each array; one that is refused hides no other's refusal.

        So the time that it takes does not tell which ciphertext it was.
        arrays  each with the number of the part of the coding that it is of
        """
        found: list[list[npt.NDArray[Any]]] = []
        refused: DecryptionError | None = None
        for number, array in arrays:
            decryptor, context = self._decryptors[number], self._coding.parts[number].context
            found.append([])
            for ciphertext in array:
                try:
                    found[-1].append(decryptor.decrypt(_core.move(ciphertext, context)))
                except DecryptionError as error:
                    refused = error
        if refused is not None:
            raise refused
        return iter([np.stack(vectors) for vectors in found])

    @at_caller
    def load_encrypted(self, source: str | Path | bytes | bytearray | memoryview) -> Encrypted:
        """Read encrypted inputs or outputs of this program."""
        return load_encrypted(source, self.context)

    def checked(self, arrays: tuple[Any, ...], named: dict[str, Any], *, part: bool = False) -> Inputs:
        """The inputs, or with `part` some of them, by name, as float64 arrays and integers.

        raises  as `encrypt`, or `encrypt_part`
        """
        if len(arrays) == 1 and not named and isinstance(arrays[0], InputCheck | Inputs):
            made = arrays[0].inputs() if isinstance(arrays[0], InputCheck) else arrays[0]
            if made.interface != self._interface:
                raise ParameterMismatchError(
                    f"program {self.spec.name}: these inputs were checked by the client of another compilation; check "
                    "them with this one"
                )
            return made
        return self._check(arrays, named, part=part).inputs()

    def _check(self, arrays: tuple[Any, ...], named: dict[str, Any], *, part: bool = False) -> InputCheck:
        given = inputs_by_name(self.spec, arrays, named, part=part)
        return InputCheck(self.spec, look_at(self.spec, self._coding, given), self._interface)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Client is not pickled or copied; in each process use Client.load(path) and load_keys(folder)"
        )

    def __repr__(self) -> str:
        return describe("Client", *self.spec.facts(), "secret key hidden" if self._encryptors else "no keys yet")


def in_slot_rows(groups: Iterator[npt.NDArray[Any]], count: int) -> Iterator[list[npt.NDArray[Any]]]:
    """Groups of rows of a batch, as many together as there are rows of slots; the last is repeated where one lacks."""
    for first in groups:
        found = [first, *islice(groups, count - 1)]
        yield found + found[-1:] * (count - len(found))


def _listener(on_event: OnEvent | None) -> OnKey:
    """Tells a subscriber of each key that is made, or found in its file."""
    started = time.monotonic()

    def report_key(was_there: bool, number: int, count: int, spec: dict[str, Any]) -> None:
        nonlocal started
        now = time.monotonic()
        if on_event is not None:
            op = "kept" if was_there else str(spec["kind"])
            on_event(Event("keys", op, number + 1, count, int(spec["level"]), started, now))
        started = now

    return report_key
