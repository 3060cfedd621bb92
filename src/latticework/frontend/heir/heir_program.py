"""A program that HEIR compiled: callable on arrays, and as vec IR with the packing of its inputs and outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import LayoutError, ShapeError, TraceError, UserError
from latticework.frontend.heir.evaluate_text import CONTEXT, HeirRun, check_operations
from latticework.frontend.heir.packing import ClientFunctions, argument_type, vectors_in
from latticework.frontend.heir.parse import parse
from latticework.frontend.heir.reading_cost import carrying_out, check_work
from latticework.frontend.heir.slot_vectors import VectorCode
from latticework.frontend.heir.slots import HeirVector, SlotArithmetic
from latticework.frontend.heir.syntax import HeirFunction, HeirText, HeirType, text_of
from latticework.frontend.programs.array_program import Program
from latticework.frontend.recording.annotations import Parameter, Secret
from latticework.frontend.recording.plain import plain_array
from latticework.ir import Loc, Module, Origin, Value
from latticework.ir.dialects import loop_dialect
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.values.inputs.reading_budget import DEFAULTS, ReadingLimits, read_bytes, reading, told_as_damage
from latticework.values.packing.pack import PackMap

CIPHERTEXT = "!openfhe.ciphertext"
_ENCRYPT, _ENCRYPT_ZERO, _DECRYPT = "client.encrypt", "client.encrypt_zero", "client.decrypt"
_ZERO_ARGUMENT = "client.enc_zero_arg"


def from_heir(path: Any, function: str | None = None, *, limits: ReadingLimits = DEFAULTS) -> HeirProgram:
    """A program from what `heir-opt --mlir-to-ckks --scheme-to-openfhe` prints, generic or pretty.

    `lw.compile` takes it as it takes programs written in Python; called with arrays it computes in NumPy. Inputs are
    named arg0, arg1 and so on, as HEIR does; results come in order. Bootstraps, levels and relinearisations of the text
    are dropped: compiling places its own.

    path      of the text; or its bytes, or an open file
    function  which program, if the file has several
    limits    of what the text may have us do, which is not trusted: when it is read, and in each call
    raises    UserError that names the file and line: for text that is not MLIR, operations that are not known (all of
              them at once), and programs that HEIR's client functions do not go with
    """
    text, name = read_text(path, limits)
    with told_as_damage(name), reading(limits, len(text)):
        parsed = parse(text, name)
    return HeirProgram(parsed, function, limits)


def read_text(given: Any, limits: ReadingLimits) -> tuple[str, str]:
    """A file and its name; UserError where it is not there, or is no text."""
    found = read_bytes(given, "from_heir", "text of HEIR", limits, "the text")
    name = str(given) if isinstance(given, str | PathLike) else found.name
    try:
        return found.data.decode("utf-8"), name
    except UnicodeDecodeError as error:
        raise UserError(f"{name} cannot be read: {error}; give what heir-opt prints") from None


@dataclass(frozen=True)
class PackedCode:
    """A program as vectors.

    module   vec IR
    inputs   how the arguments lie in vectors;  outputs  how the results do
    """

    module: Module
    inputs: tuple[PackMap, ...]
    outputs: tuple[PackMap, ...]
    slots: int


class HeirProgram(Program):
    """A program that HEIR compiled; made by `from_heir`.

    Called with NumPy arrays it computes in NumPy what the compiled program computes encrypted.
    """

    def __init__(self, text: HeirText, function: str | None = None, limits: ReadingLimits = DEFAULTS) -> None:
        self.text, self.limits = text, limits
        with carrying_out(text, limits) as budget:
            check_work(text, self._find(text, function), budget)
        self.function: Callable[..., Any] = self._compute

    def _find(self, text: HeirText, function: str | None) -> list[HeirFunction]:
        """The program and its client functions, checked; nothing is carried out."""
        main = find_program(text, function)
        self.main = main
        self.name = self.__name__ = main.name
        self.__doc__ = f"{main.name}, compiled by HEIR."
        self.loc = Loc(text.name, main.line, f"func.func @{main.name}")
        self._encrypting = _clients(text, main, _ENCRYPT)
        self._zeros = _clients(text, main, _ENCRYPT_ZERO)
        self._decrypting = _clients(text, main, _DECRYPT)
        used = [main, *self._encrypting, *self._zeros, *self._decrypting]
        check_operations(text, find_reachable(text, used))
        self._check_arguments()
        self.parameters = tuple(
            Parameter(f"arg{i}", Secret(argument_type(f).shape), inspect.Parameter.empty, Loc(text.name, f.line))
            for i, f in enumerate(self._encrypting)
        )
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.signature = inspect.Signature([inspect.Parameter(p.name, kind) for p in self.parameters])
        return used

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the program in NumPy, packed as HEIR packs; an array, or a tuple of them where it has several results."""
        return self._compute(*self.signature.bind(*args, **kwargs).args)

    def _compute(self, *arrays: Any) -> Any:
        with carrying_out(self.text, self.limits):
            return self._compute_arrays(arrays)

    def _compute_arrays(self, arrays: Sequence[Any]) -> Any:
        client = ClientFunctions(self.text)
        given = []
        for parameter, function, array in zip(self.parameters, self._encrypting, arrays, strict=True):
            plain = plain_array(array)
            if plain.shape != parameter.kind.shape:
                raise ShapeError(
                    f"program {self.name}: the argument for {parameter.name} has shape {plain.shape}, declared is "
                    f"{parameter.kind.shape}",
                    at=self.loc,
                )
            given.append(client.vectors(function, plain))
        zeros = [client.vectors(function, None) for function in self._zeros]
        returned = self._run(SlotArithmetic(), client.width, given, zeros)
        results = []
        for function, made in zip(self._decrypting, returned, strict=True):
            found = vectors_in(made, f"{self.text.name}:{self.main.line}: {self.main.name}")
            stack = np.stack([np.broadcast_to(vector.slots, (client.width,)) for vector in found])
            results.append(client.tensor(function, stack))
        return results[0] if len(results) == 1 else tuple(results)

    @cached_property
    def code(self) -> PackedCode:
        """The program as vectors.

        raises  UserError naming the line for what vectors cannot say: an output that depends on no input
        """
        with carrying_out(self.text, self.limits):
            return self._as_vectors()

    def _as_vectors(self) -> PackedCode:
        client = ClientFunctions(self.text)
        zeros = [client.vectors(function, None) for function in self._zeros]
        packs = [client.input_pack(function) for function in self._encrypting]
        module = Module()
        code = VectorCode(module, client.width, self.text.name, self.text.lines)
        given = []
        for parameter, function, pack in zip(self.parameters, self._encrypting, packs, strict=True):
            vector = VecType(pack.count, pack.slots, "real", True)
            value = module.body.add_arg(vector, Origin(parameter.name, parameter.loc))
            module.input_names.append(parameter.name)
            parts = [value]
            if pack.count > 1:
                parts = [code.builder.build("vec.take", [value], vectors=(i,)) for i in range(pack.count)]
            given.append(_as_given(function.returns[0], parts))
        returned = self._run(code, client.width, given, zeros)
        ends = [self._end(code, number, made) for number, made in enumerate(returned)]
        code.builder.create(loop_dialect.YIELD, ends, loc=self.loc)
        module.outputs = ["result"] if len(ends) == 1 else [f"result{i}" for i in range(len(ends))]
        outputs = tuple(client.output_pack(function) for function in self._decrypting)
        return PackedCode(module, tuple(packs), outputs, client.width)

    def _end(self, code: VectorCode, number: int, made: Any) -> Value:
        """The value of a result, which may be several vectors."""
        parts = []
        for held in vectors_in(made, f"{self.text.name}:{self.main.line}: {self.main.name}"):
            if not isinstance(held.slots, Value):
                raise TraceError(f"program {self.name}: result {number} depends on no input; leave it out", at=self.loc)
            parts.append(held.slots)
        return parts[0] if len(parts) == 1 else code.builder.build("vec.concat", parts)

    def _run(self, arithmetic: SlotArithmetic, width: int, given: Sequence[Any], zeros: Sequence[Any]) -> list[Any]:
        secrets, empty = iter(given), iter(zeros)
        arguments = [
            (next(empty) if _ZERO_ARGUMENT in attributes else next(secrets)) if kind.element == CIPHERTEXT else CONTEXT
            for kind, attributes in zip(self.main.types, self.main.argument_attributes, strict=True)
        ]
        return HeirRun(self.text, arithmetic, width).call(self.main.name, arguments)

    def _check_arguments(self) -> None:
        """UserError unless the client functions make what the program takes, and take what it returns."""
        zero = [_ZERO_ARGUMENT in attributes for attributes in self.main.argument_attributes]
        secret = [kind.element == CIPHERTEXT for kind in self.main.types]
        plain = [kind for kind in self.main.types if kind.is_number or kind.element == "!openfhe.plaintext"]
        clients = [(f, True, f in self._encrypting) for f in (*self._encrypting, *self._zeros)]
        for function, encrypts, takes_numbers in [*clients, *((f, False, False) for f in self._decrypting)]:
            _check_client(self.text, function, encrypts=encrypts, takes_numbers=takes_numbers)
        for one, other in (*pairwise(self._encrypting), *pairwise(self._decrypting)):
            if _client_index(one) == _client_index(other):
                where = f"{self.text.name}:{other.line}: {other.name}"
                raise UserError(f"{where} has the index of {one.name} in heir.interface")
        counted = (sum(s and not z for s, z in zip(secret, zero, strict=True)), sum(zero), len(self.main.returns))
        found = (len(self._encrypting), len(self._zeros), len(self._decrypting))
        where = f"{self.text.name}:{self.main.line}: {self.main.name}"
        if plain:
            raise UserError(f"{where} takes public arguments; make all of them {{secret.secret}}, or constants")
        if counted != found or not self._encrypting:
            raise UserError(
                f"{where} takes {counted[0]} inputs and {counted[1]} encrypted zeros and returns {counted[2]} results, "
                f"but there are {found[0]}, {found[1]} and {found[2]} client functions for them; give all that "
                "heir-opt --mlir-to-ckks --scheme-to-openfhe prints"
            )


def _check_client(text: HeirText, function: HeirFunction, *, encrypts: bool, takes_numbers: bool) -> None:
    """UserError unless a client function takes and returns what it has to."""
    numbers = sum(kind.is_number for kind in function.types)
    ciphertexts = sum(kind.element == CIPHERTEXT for kind in function.types)
    returned = len(function.returns) == 1 and function.returns[0]
    is_returned = returned and (returned.element == CIPHERTEXT if encrypts else returned.is_number)
    if not is_returned or (numbers, ciphertexts) != (int(takes_numbers), int(not encrypts)):
        what = "one array and returns ciphertexts" if takes_numbers else "nothing and returns ciphertexts"
        what = what if encrypts else "ciphertexts and returns one array"
        raise UserError(f"{text.name}:{function.line}: {function.name}: a client function of its kind takes {what}")


def _interface(function: HeirFunction) -> dict[str, Any]:
    found = function.attributes.get("heir.interface", {})
    return found if isinstance(found, dict) else {}


def _clients(text: HeirText, main: HeirFunction, role: str) -> list[HeirFunction]:
    """The client functions of a program that have a role, by their index."""
    found = [f for f in text.functions.values() if _interface(f).get("func_name") == main.name and role in _roles(f)]
    return sorted(found, key=_client_index)


def _roles(function: HeirFunction) -> list[Any]:
    found = _interface(function).get("roles")
    return found if isinstance(found, list) else []


def _client_index(function: HeirFunction) -> int:
    found = _interface(function).get("index", 0)
    return found if isinstance(found, int) else 0


def find_program(text: HeirText, name: str | None) -> HeirFunction:
    """The function that client functions name, or the one asked for."""
    named = {_interface(f).get("func_name") for f in text.functions.values() if _roles(f)}
    programs = [f for f in text.functions.values() if f.name in named]
    if name is not None:
        programs = [f for f in programs if f.name == name]
    if len(programs) == 1:
        return programs[0]
    if not programs:
        what = "no program with client functions" if name is None else f"no program {name}"
        raise UserError(f"{text.name}: {what}; give what heir-opt --mlir-to-ckks --scheme-to-openfhe prints")
    listed = ", ".join(f.name for f in programs)
    raise UserError(f"{text.name}: several programs ({listed}); say which by function=")


def find_reachable(text: HeirText, used: Sequence[HeirFunction]) -> list[HeirFunction]:
    """These functions and all that they call."""
    found = {f.name: f for f in used}
    todo = list(used)
    while todo:
        for op in todo.pop().walk():
            callee = text.functions.get(text_of(op.attributes, "callee")) if op.name == "func.call" else None
            if callee is not None and callee.name not in found:
                found[callee.name] = callee
                todo.append(callee)
    return list(found.values())


def _as_given(kind: HeirType, parts: Sequence[Value]) -> Any:
    """Vectors as the ciphertexts that encryption returns."""
    if not kind.kind:
        return HeirVector(parts[0])
    made: npt.NDArray[Any] = np.full(kind.shape, None, dtype=object)
    if made.size != len(parts):
        raise LayoutError(f"{len(parts)} vectors for {made.size} ciphertexts")
    for at, part in zip(np.ndindex(kind.shape), parts, strict=True):
        made[at] = HeirVector(part)
    return made
