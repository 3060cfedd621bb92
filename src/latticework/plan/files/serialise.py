"""Plans and client files in the validated container."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from latticework.errors import FormatError, SecretKeyError
from latticework.plan.files.check_exact import check_exact
from latticework.plan.files.check_file import (
    check_any_gather,
    check_chain,
    check_client,
    check_constant,
    check_map,
    check_references,
)
from latticework.plan.files.code_columns import from_columns, to_columns
from latticework.plan.files.code_file import code_data, decode_code, encode_code
from latticework.plan.files.codec import from_data, to_data
from latticework.plan.files.deflate import deflate, inflate
from latticework.plan.files.shared_data import expand_repeats
from latticework.plan.instructions.executable import BootstrapBlock
from latticework.plan.instructions.reason import CallReason
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.bootstrap_noise import BootstrapNoise
from latticework.plan.parameters.fingerprint import core_parameters, fingerprint
from latticework.plan.parameters.secrets import check_security
from latticework.plan.parameters.select import fault_of_moduli
from latticework.plan.schema.batch import RowsChoice
from latticework.plan.schema.circuit_schedule import CircuitRecord
from latticework.plan.schema.considered_chains import WeighedChain
from latticework.plan.schema.kept_parts import KeptParts
from latticework.plan.schema.placement_record import LayoutRecord
from latticework.plan.schema.schema import (
    CLIENT_FORMAT,
    FORMAT,
    FORMATS,
    Approximation,
    ClientSpec,
    Plan,
    SourceLocation,
    TensorValue,
)
from latticework.values.extension import _core
from latticework.values.packing.butterflies import Butterflies
from latticework.values.packing.pack import product_within
from latticework.values.packing.packed_constants import (
    Constant,
    ConstRef,
    LoopNest,
    MapStrategy,
    MapSums,
    NumberMatrix,
    Split,
    number_matrix,
)

PLAN_FILE: Final = 1  # container kinds
CLIENT_FILE: Final = 2
META: Final = 1  # section kinds
CODE: Final = 2
CONSTANTS: Final = 3
DEBUG: Final = 4
SOURCE: Final = 5
PROGRAM: Final = 6  # from format 3 on: the first four in one, and weights that are few
AS_MATRIX: Final = 0  # behind the number of a map: the constant is the matrix of it
FEW_WEIGHTS: Final = 4096  # bytes: a section of their own would begin at the next multiple of as many


def write_client(spec: ClientSpec, path: Path | None = None) -> bytes | None:
    """The client file: parameters, inputs, outputs and key manifest; no weights. Bytes if there is no path."""
    return _write(path, CLIENT_FILE, spec, [(META, _meta_bytes(spec))], fingerprint(spec.chain))


def read_client(source: Path | bytes) -> ClientSpec:
    """A client file, or the client part of a plan file.

    raises  FormatError
    """
    reader = _open(source, [CLIENT_FILE, PLAN_FILE])
    return _read_client(reader, _client_data(reader))


def interface_id(spec: ClientSpec) -> bytes:
    """32 bytes that name the client part of one compilation, so that ciphertexts of another are not mixed with it.

    Where inputs are declared does not matter.
    """
    return bytes(_core.blake3(_core.cbor_encode(to_data(replace(spec, declared=())))))


def write_plan(plan: Plan, path: Path | None = None) -> bytes | None:
    """Write the server file; return its bytes if there is no path."""
    debug = {
        "locations": to_data(plan.locations),
        "tensors": to_data(plan.tensors),
        "watch": [[r, p] for r, p in plan.watch.items()],
        "approximations": to_data(plan.approximations),
        "layouts": to_data(plan.layouts),
        **({} if plan.placing is None else {"placing": to_data(plan.placing)}),
        **({} if plan.circuit is None else {"circuit": to_data(plan.circuit)}),
        **({"factors": [[r, f] for r, f in plan.factors.items()]} if plan.factors else {}),
        **({"bootstraps": to_data(plan.bootstraps)} if plan.bootstraps else {}),
        **({} if plan.bootstrap_noise is None else {"bootstrap_noise": to_data(plan.bootstrap_noise)}),
        **({"weighed": to_data(plan.weighed)} if plan.weighed else {}),
        **({"reasons": to_data(plan.reasons)} if plan.reasons else {}),
        **({"changes": to_data(plan.changes)} if plan.changes else {}),
        **({} if plan.kept is None else {"kept": to_data(plan.kept)}),
        **({} if plan.rows_choice is None else {"rows_choice": to_data(plan.rows_choice)}),
    }
    weights = b"".join(map(_array_bytes, plan.sources.values()))
    few = weights if len(weights) <= FEW_WEIGHTS else b""
    program = [to_data(plan.client), to_columns(code_data(plan)), _constants_data(plan), debug, few]
    sections = [(PROGRAM, deflate(bytes(_core.cbor_encode(program))))]
    if len(weights) > FEW_WEIGHTS:
        sections.append((SOURCE, weights))
    return _write(path, PLAN_FILE, plan.client, sections, fingerprint(plan.client.chain))


def plan_id(plan: Plan) -> bytes:
    """32 bytes that name what a plan computes, weights included, and for whom; not what is told of it."""
    return bytes(_core.blake3(_computation_hashes(plan)))


def plan_key(plan: Plan, purpose: str) -> bytes:
    """32 bytes that nobody can compute who has not got the plan: `plan_id` does not tell them."""
    return bytes(_core.blake3(purpose.encode() + b"\0" + _computation_hashes(plan)))


def _computation_hashes(plan: Plan) -> bytes:
    """Hashes of all that a plan computes, and for whom."""
    computed = [encode_code(plan), _core.cbor_encode(_constants_data(plan)), *map(_array_bytes, plan.sources.values())]
    return b"".join([interface_id(plan.client), *(bytes(_core.blake3(data)) for data in computed)])


def _constants_data(plan: Plan) -> dict[str, Any]:
    """Constants, and what is said of the arrays that they are taken from."""
    gathers = list(dict.fromkeys(g for c in plan.constants if isinstance(c, ConstRef) for g in _gathers_of(c)))
    numbers = {gather: i for i, gather in enumerate(gathers)}
    maps = list(dict.fromkeys(_stored_map(c) for c in plan.constants if not isinstance(c, ConstRef)))
    return {
        "gathers": to_data(tuple(gathers)),
        "constants": [
            _constant_data(c, numbers)
            if isinstance(c, ConstRef)
            else [maps.index(_stored_map(c)), *([AS_MATRIX] if isinstance(c, NumberMatrix) else [])]
            for c in plan.constants
        ],
        "sources": [[name, list(array.shape)] for name, array in plan.sources.items()],
        **({"maps": to_data(tuple(maps))} if maps else {}),
    }


def _stored_map(constant: MapSums | NumberMatrix) -> MapSums:
    """The map that is in the file: of a matrix, the one that it is of."""
    if isinstance(constant, MapSums):
        return constant
    return MapSums(constant.map, MapStrategy(Split(constant.map.slots)))


def _array_bytes(array: np.ndarray[Any, np.dtype[np.float64]]) -> bytes:
    return np.ascontiguousarray(array, dtype="<f8").tobytes()


def read_plan(source: Path | bytes) -> Plan:
    """A plan, everything in it checked.

    raises  FormatError
    """
    reader = _open(source, [PLAN_FILE])
    meta, code, content, debug, weights = _contents(reader)
    client = _read_client(reader, meta)
    _core.Plan(core_parameters(client.chain), code)  # the core's decoder checks all rules of the code
    kinds, registers, blocks, keys = decode_code(code)
    sources = _sources(weights, _field(content, "sources"))
    constants = _constants(content, sources, client.chain.slots)
    locations = from_data(tuple[SourceLocation, ...], _field(debug, "locations"), "locations")
    plan = Plan(
        client, kinds, registers, blocks, keys, constants, sources, locations,
        from_data(tuple[TensorValue, ...], _field(debug, "tensors"), "tensors"),
        dict(from_data(tuple[tuple[int, int], ...], _field(debug, "watch"), "watch")),
        from_data(tuple[Approximation, ...], _field(debug, "approximations"), "approximations"),
        from_data(tuple[tuple[str, str, str], ...], _field(debug, "layouts"), "layouts"),
        from_data(LayoutRecord | None, debug.get("placing"), "placing"),
        from_data(CircuitRecord | None, debug.get("circuit"), "circuit"),
        dict(from_data(tuple[tuple[int, float], ...], debug.get("factors", []), "factors")),
        bootstraps=from_data(tuple[BootstrapBlock, ...], debug.get("bootstraps", []), "bootstraps"),
        bootstrap_noise=from_data(BootstrapNoise | None, debug.get("bootstrap_noise"), "bootstrap_noise"),
        weighed=from_data(tuple[WeighedChain, ...], debug.get("weighed", []), "weighed"),
        reasons=from_data(tuple[CallReason, ...], debug.get("reasons", []), "reasons"),
        changes=from_data(tuple[str, ...], debug.get("changes", []), "changes"),
        kept=from_data(KeptParts | None, debug.get("kept"), "kept"),
        rows_choice=from_data(RowsChoice | None, debug.get("rows_choice"), "rows_choice"),
    )  # fmt: skip
    check_references(plan)
    check_exact(plan)
    return plan


Weights = list[memoryview]  # of each array, or of all in one


def _contents(reader: _core.ContainerReader) -> tuple[Any, bytes, Any, Any, Weights]:
    """The client part, code as the core reads it, what the constants are, what reports and debugging need, weights."""
    form = _read_format(reader)
    sections = [memoryview(reader.section(i)) for i in range(reader.num_sections)]
    if form == FORMAT:
        meta, columns, content, debug, few = _program(reader)
        if [reader.section_kind(i) for i in range(1, len(sections))] not in ([], [SOURCE]) or type(few) is not bytes:
            raise FormatError("plan: sections are missing or out of order; the file was altered")
        return meta, _code(columns), content, debug, [memoryview(few), *sections[1:]]
    meta = _client_data(reader)
    if len(sections) < 4 or [reader.section_kind(i) for i in range(1, 4)] != [CODE, CONSTANTS, DEBUG]:
        raise FormatError("plan: sections are missing or out of order; the file was altered")
    code, content, debug = (_core.cbor_decode(bytes(section)) for section in sections[1:4])
    if form == 1:
        return meta, bytes(sections[1]), content, debug, sections[4:]
    code, content, debug = (
        expand_repeats(shared, name) for shared, name in ((code, "code"), (content, "constants"), (debug, "debug"))
    )
    return meta, _code(code), content, debug, sections[4:]


def _code(columns: Any) -> bytes:
    """Code as the core reads it."""
    return bytes(_core.cbor_encode(from_columns(columns)))


def _program(reader: _core.ContainerReader) -> list[Any]:
    """The parts of a plan of format 3, whose client part is the first."""
    if not reader.num_sections or reader.section_kind(0) != PROGRAM:
        raise FormatError("plan: the PROGRAM section is missing; the file was altered")
    parts = _core.cbor_decode(inflate(bytes(reader.section(0)), "plan"))
    if not isinstance(parts, list) or len(parts) != 5:
        raise FormatError("plan: expected five parts; the file was altered")
    return parts


def client_file_bytes(spec: ClientSpec) -> int:
    """Bytes of the client file, whether or not its parameters are valid ones."""
    written = _write(None, CLIENT_FILE, spec, [(META, _meta_bytes(spec))], bytes(32))
    assert written is not None
    return len(written)


def _meta_bytes(spec: ClientSpec) -> bytes:
    return bytes(_core.cbor_encode(to_data(spec)))


def _write(
    path: Path | None, kind: int, spec: ClientSpec, sections: list[tuple[int, bytes]], parameters: bytes
) -> bytes | None:
    header = {"format": FORMAT if kind == PLAN_FILE else CLIENT_FORMAT, "name": spec.name}
    written = _core.write_container(None if path is None else str(path), kind, parameters, header, sections)
    return None if written is None else bytes(written)


def _open(source: Path | bytes, kinds: list[int]) -> _core.ContainerReader:
    target = source if isinstance(source, bytes) else str(source)
    try:
        return _core.ContainerReader(target, kinds=kinds)
    except FormatError:
        if not is_secret_key(target):
            raise
    name = "what was given" if isinstance(source, bytes) else source
    raise SecretKeyError(f"{name} is a secret key, not a plan; it must never leave its owner, least of all to a server")


def is_secret_key(source: str | bytes) -> bool:
    """Whether a file that is there, or bytes, are a secret key."""
    try:
        _core.ContainerReader(source, kinds=[_core.FileKind.SECRET_KEY])
    except (FormatError, OSError):
        return False
    return True


def _read_format(reader: _core.ContainerReader) -> int:
    form = reader.header.get("format")
    if form not in FORMATS:
        *others, last = FORMATS
        raise FormatError(
            f"plan format {form!r}: this version of latticework reads plan formats {', '.join(map(str, others))} and "
            f"{last}; use the version that compiled the program, or compile it anew with this one"
        )
    return int(form)


def _client_data(reader: _core.ContainerReader) -> Any:
    """The client part of a plan or client file, as plain data."""
    if _read_format(reader) == FORMAT:
        return _program(reader)[0]
    if reader.num_sections < 1 or reader.section_kind(0) != META:
        raise FormatError("plan: the META section is missing; the file was altered")
    return _core.cbor_decode(reader.section(0))


def _read_client(reader: _core.ContainerReader, data: Any) -> ClientSpec:
    spec: ClientSpec = from_data(ClientSpec, data, "meta")
    _check_chain(spec.chain)
    if fingerprint(spec.chain) != bytes(reader.parameters):
        raise FormatError("plan: the parameters are not those the file is labelled with; the file was altered")
    check_client(spec)
    return spec


def _check_chain(chain: ModulusChain) -> None:
    check_chain(chain)
    try:
        core_parameters(chain)
    except (ValueError, TypeError) as error:
        raise FormatError(f"plan: parameters are not valid: {error}") from None
    if chain.has_wide_integers and (fault := fault_of_moduli(chain)):
        raise FormatError(f"plan: {fault}; the file was altered")
    check_security(chain)


def _field(content: Any, name: str) -> Any:
    if not isinstance(content, dict) or name not in content:
        raise FormatError(f"plan: field {name!r} is missing; the file was altered")
    return content[name]


def _sources(weights: Weights, listed: Any) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """The arrays whose names and shapes are listed, of their bytes one after the other."""
    shapes = from_data(tuple[tuple[str, tuple[int, ...]], ...], listed, "sources")
    arrays = {}
    for name, shape in shapes:
        weights = [part for part in weights if len(part)]
        data = weights[0] if weights else memoryview(b"")
        size = 8 * product_within(shape, len(data))
        if min(shape, default=1) < 1 or len(data) < size:
            raise FormatError(f"plan: source {name} has {len(data)} bytes, which do not fit its shape {shape}")
        weights = [data[size:], *weights[1:]]
        array = np.frombuffer(data[:size], dtype="<f8").reshape(shape)
        if not np.isfinite(array).all():
            raise FormatError(f"plan: source {name} holds values that are not finite")
        arrays[name] = array
    if left := sum(map(len, weights)):
        raise FormatError(f"plan: {left} bytes of sources belong to none")
    return arrays


def _gathers_of(constant: ConstRef) -> tuple[LoopNest | Butterflies, ...]:
    return (constant.gather,) if constant.plus is None else (constant.gather, *_gathers_of(constant.plus))


def _constant_data(constant: ConstRef, numbers: dict[LoopNest | Butterflies, int]) -> list[Any]:
    """Number of the gather, steps, rotation and factor; vectors and what is added follow only where there are any."""
    data = [numbers[constant.gather], constant.steps, constant.rotate, to_data(complex(constant.factor))]
    if constant.plus is None:
        return data if (constant.out, constant.in_) == (0, 0) else [*data, constant.out, constant.in_]
    return [*data, constant.out, constant.in_, _constant_data(constant.plus, numbers)]


def _constant(data: Any, gathers: tuple[LoopNest | Butterflies, ...], path: str) -> ConstRef:
    lengths: tuple[Any, ...] = (int, int | None, int, complex)
    known = from_data(tuple[lengths], data[:4] if isinstance(data, list) else data, path)  # type: ignore[valid-type]
    number, steps, rotate, factor = known
    if not 0 <= number < len(gathers):
        raise FormatError(f"{path}: gather {number} of {len(gathers)}")
    if len(data) == 4:
        return ConstRef(gathers[number], steps, rotate, factor)
    out, in_ = from_data(tuple[int, int], data[4:6], path)
    if len(data) == 6:
        return ConstRef(gathers[number], steps, rotate, factor, out, in_)
    if len(data) != 7 or (isinstance(data[6], list) and len(data[6]) > 6):
        raise FormatError(f"{path}: expected at most 7 items of which the last has 6; the file was altered")
    return ConstRef(gathers[number], steps, rotate, factor, out, in_, _constant(data[6], gathers, path))


def _matrix(data: Any, maps: tuple[MapSums, ...], path: str) -> NumberMatrix:
    number, form = from_data(tuple[int, int], data, path)
    if not 0 <= number < len(maps) or form != AS_MATRIX:
        raise FormatError(f"{path}: map {number} of {len(maps)} in form {form}; the file was altered")
    matrix = number_matrix(maps[number].map)
    if matrix is None:
        raise FormatError(f"{path}: map {number} is no matrix of numbers; the file was altered")
    return matrix


def _constants(content: Any, sources: dict[str, Any], slots: int) -> tuple[Constant, ...]:
    gathers: tuple[LoopNest | Butterflies, ...] = from_data(
        tuple[LoopNest | Butterflies, ...], _field(content, "gathers"), "gathers"
    )
    for i, gather in enumerate(gathers):
        check_any_gather(gather, sources, slots, f"gathers[{i}]")
    listed = _field(content, "constants")
    if not isinstance(listed, list):
        raise FormatError("constants: expected a list; the file was altered")
    maps: tuple[MapSums, ...] = from_data(tuple[MapSums, ...], content.get("maps", []), "maps")
    for i, sums in enumerate(maps):
        check_map(sums, sources, slots, f"maps[{i}]")
    constants: list[Constant] = []
    for i, data in enumerate(listed):
        if isinstance(data, list) and len(data) == 1:
            (number,) = from_data(tuple[int,], data, f"constants[{i}]")
            if not 0 <= number < len(maps):
                raise FormatError(f"constants[{i}]: map {number} of {len(maps)}")
            constants.append(maps[number])
            continue
        if isinstance(data, list) and len(data) == 2:
            constants.append(_matrix(data, maps, f"constants[{i}]"))
            continue
        constant = _constant(data, gathers, f"constants[{i}]")
        check_constant(constant, f"constants[{i}]")
        constants.append(constant)
    return tuple(constants)
