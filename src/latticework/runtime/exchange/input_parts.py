"""The inputs of one run in several parts: from the client at different times, and from other circuits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from latticework.errors import FormatError, ParameterMismatchError, ShapeError, TraceError, UserError
from latticework.plan.schema.schema import ClientSpec, IndexInput, SecretInput
from latticework.runtime.exchange.clipped import MAX_IDS
from latticework.runtime.exchange.encrypted import INPUTS, OUTPUTS, Encrypted, check_role
from latticework.runtime.exchange.row_batches import joined_extent
from latticework.values.extension import _core

HOW_TO_ENCRYPT = (
    "encrypt all inputs with client.encrypt, or some with client.encrypt_part (`latticework encrypt --part`) and give "
    "the server every part"
)


def join(
    spec: ClientSpec,
    interface: bytes,
    parts: Sequence[Encrypted],
    results: Mapping[str, Encrypted],
    chosen: Mapping[str, int] = {},
) -> Encrypted:
    """Inputs of one compilation of a program together with results of other circuits, each input once.

    parts    of this compilation's inputs;  results  outputs of other circuits, by argument
    chosen   run-time integers that the server gives, by name
    raises   UserError for parts that are marked for different devices; TraceError for an input that is given twice;
             FormatError for one that the program does not have;
             ShapeError for different numbers of rows or runs; as `link_result` for results that are not those of an
             input
    """
    tensors: dict[str, tuple[_core.Ciphertext, ...]] = {}
    integers: dict[str, int] = {}
    origin: dict[str, str] = {}
    names = {i.name: isinstance(i, IndexInput) for i in spec.inputs}

    def note(name: str, giver: str, *, is_integer: bool) -> None:
        if names.get(name) is not is_integer:
            raise FormatError(f"program {spec.name}: {giver} holds {name}, which is no input of it; it was altered")
        if name in origin:
            raise TraceError(
                f"program {spec.name}: input {_users_names(spec, name)} is given twice, by {origin[name]} and by "
                f"{giver}; give every input once"
            )
        origin[name] = giver

    extents = []
    rounds = max((part.rounds for part in parts), default=1)
    for number, part in enumerate(parts, 1):
        giver = "the encrypted inputs" if len(parts) == 1 else f"part {number} of the encrypted inputs"
        extents.append((giver, part.extent, list(part.tensors)))
        for name in part.tensors:
            note(name, giver, is_integer=False)
        for name in part.integers:
            note(name, giver, is_integer=True)
        tensors.update(part.tensors)
        integers.update(part.integers)
    for name, value in chosen.items():
        note(name, "the server", is_integer=True)
        integers[name] = value
    for argument, outputs in results.items():
        fed = find_feedback(spec, interface, argument, outputs)
        rounds = max(rounds, outputs.rounds + 1) if fed else rounds
        giver = f"a result of {'a run before' if fed else f'circuit {outputs.program}'}"
        for name, array in (fed or link_result(spec, argument, outputs)).items():
            note(name, giver, is_integer=False)
            tensors[name] = array
            extents.append((giver, outputs.extent, [name]))
    device = _joined_device(spec, [*parts, *results.values()])
    extent = joined_extent(spec, extents)
    clipped = tuple(dict.fromkeys(each for part in (*parts, *results.values()) for each in part.clipped))
    if len(clipped) > MAX_IDS:
        raise UserError(
            f"program {spec.name}: inputs come from {len(clipped)} encryptions of clipped rows; at most {MAX_IDS}"
        )
    return Encrypted(INPUTS, spec.name, interface, tensors, integers, extent, rounds, device, clipped)


def _joined_device(spec: ClientSpec, parts: Iterable[Encrypted]) -> str:
    """The device that parts are marked for, if any is; UserError for several."""
    devices = sorted({part.device for part in parts} - {"cpu"})
    if len(devices) > 1:
        raise UserError(
            f"program {spec.name}: inputs are for different devices ({', '.join(devices)}): bring them over with "
            ".gpu() or .cpu()"
        )
    return devices[0] if devices else "cpu"


def find_feedback(
    spec: ClientSpec, interface: bytes, name: str, results: Encrypted
) -> dict[str, tuple[_core.Ciphertext, ...]]:
    """The input that a result of a run before is, by name; none if it is of a circuit, which may be linked to others.

    raises  TraceError, FormatError or ParameterMismatchError for what is no result of this compilation for this input
    """
    if spec.arguments:
        return {}
    fed = {i.name: i.fed for i in spec.secret_inputs if i.fed}
    if name not in fed:
        raise TraceError(
            f"program {spec.name}: {name} is no input that a run before computes; such are {', '.join(fed) or 'none'}: "
            "compile with feed={input: output}"
        )
    check_role(results, spec, OUTPUTS)
    if results.interface != interface:
        raise ParameterMismatchError(
            f"program {spec.name}: the result for input {name} is of another compilation; use what the server of this "
            "plan returned"
        )
    return {name: results.tensors[fed[name]]}


def link_result(spec: ClientSpec, argument: str, results: Encrypted) -> dict[str, tuple[_core.Ciphertext, ...]]:
    """The input that an output of another circuit is, by name; none if the circuit does not use it.

    raises  TraceError, FormatError or ParameterMismatchError for results that are not those of the argument
    """
    linked = {a.name: a for a in spec.arguments if a.linked is not None}
    if argument not in linked:
        raise TraceError(
            f"circuit {spec.name}: {argument} is no input that another circuit computes; such are "
            f"{', '.join(linked) or 'none'}"
        )
    number, link = linked[argument].input, linked[argument].linked
    assert link is not None
    if not isinstance(results, Encrypted) or results.role != OUTPUTS or results.program != link.circuit:
        raise FormatError(
            f"circuit {spec.name}: input {argument} takes the encrypted outputs of circuit {link.circuit}"
        )
    if results.interface.hex() != link.interface:
        raise ParameterMismatchError(
            f"circuit {spec.name}: input {argument} is of another compilation of circuit {link.circuit}; use the model "
            "whose lanes it was declared with"
        )
    return {spec.secret_inputs[number].name: results.tensors[link.output]} if number >= 0 else {}


def check_complete(inputs: Encrypted, spec: ClientSpec) -> None:
    """ShapeError, naming what is missing, unless every input of the program is there."""
    held, missing = {*inputs.tensors, *inputs.integers}, []
    for noun, kind in (("encrypted input", SecretInput), ("run-time integer", IndexInput)):
        names = [i.name for i in spec.inputs if isinstance(i, kind) and i.name not in held]
        if names:
            number, verb = ("", "is") if len(names) == 1 else ("s", "are")
            missing.append(f"the {noun}{number} {_users_names(spec, *names)} {verb} missing")
    if missing:
        came = _users_names(spec, *inputs.tensors, *inputs.integers)
        told = f"only {came} came" if came else "nothing came"
        raise ShapeError(f"program {spec.name}: {' and '.join(missing)}, {told}; {HOW_TO_ENCRYPT}")


def check_whole_ciphertexts(spec: ClientSpec, given: Iterable[str]) -> None:
    """TraceError if some of the arguments that share a ciphertext are given and others are not."""
    names = set(given)
    for number in sorted({a.input for a in spec.arguments if a.input >= 0}):
        sharing = [a.name for a in spec.arguments if a.input == number]
        lacking = [name for name in sharing if name not in names]
        if lacking and len(lacking) < len(sharing):
            raise TraceError(
                f"circuit {spec.name}: inputs {', '.join(sharing)} are sent in one ciphertext; encrypt "
                f"{', '.join(lacking)} in the same part, or compile the circuit with a group= of their own for inputs "
                "that come apart"
            )
    for stage in () if spec.owner is None else spec.owner.before:
        pieces = list(dict.fromkeys(piece.given for piece in stage.pieces))
        lacking = [name for name in pieces if name not in names]
        if lacking and len(lacking) < len(pieces):
            raise TraceError(
                f"program {spec.name}: {', '.join(pieces)} are encrypted as one; encrypt {', '.join(lacking)} in the "
                "same part"
            )


def _users_names(spec: ClientSpec, *inputs: str) -> str:
    """Names that users know inputs of the plan by, which may hold several arguments of a circuit."""
    numbers = {i.name: number for number, i in enumerate(spec.secret_inputs)}
    if spec.owner is not None:
        return ", ".join(spec.owner.given_for(inputs))
    found = [[a.name for a in spec.arguments if a.input == numbers.get(name)] or [name] for name in inputs]
    return ", ".join(name for names in found for name in names)
