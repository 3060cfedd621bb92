"""Rules for a file's plan or client part beyond its form: numbers in range, parts that agree with each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple
from math import inf, isfinite, prod

import numpy as np
import numpy.typing as npt

from latticework.errors import FormatError, UserError
from latticework.plan.client_steps.stages import OwnerStages
from latticework.plan.instructions.constant_uses import check_constant_use
from latticework.plan.instructions.control import CALL
from latticework.plan.instructions.register_kinds import CipherKind, IndexKind, Kind
from latticework.plan.instructions.signatures import SIGNATURES
from latticework.plan.instructions.use import Use, Uses
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.modulus_chain import SLOT_ROWS
from latticework.plan.schema.arguments import MAX_BITS, MAX_NESTING, rebuild_result
from latticework.plan.schema.batch import Batch
from latticework.plan.schema.bootstraps import bootstraps_of
from latticework.plan.schema.schema import ClientSpec, IndexInput, Output, Plan, SecretInput
from latticework.values.packing.butterflies import Butterflies
from latticework.values.packing.key_manifest import KINDS, galois_action
from latticework.values.packing.loop_nests.index_equations import open_loops
from latticework.values.packing.pack import REPEAT, PackMap, product_within
from latticework.values.packing.packed_constants import Access, ConstRef, LoopNest, MapSums

MAX_RATIO, MAX_GAIN_BITS = 2.0**20, 60  # of bootstraps
MAX_PRIMES = 240  # as the core has it
ROUNDED = 2.0**-40  # part by which floats of large integers may be off
MAX_LOOPS = 16
MAX_GATHER_ITERATIONS = 1 << 26
MAX_ITERATIONS_PER_ITEM = 256  # a constant that is packed uses every element of its source far less often
MAX_MAP_ITERATIONS = 1 << 36
MAX_OPEN_ITERATIONS = 1 << 16  # of the loops of a linear map whose counters the two elements do not tell
MAX_STAGES = 32
MAX_EMPTY = 1 << 16  # extent of a result without elements
MAX_VECTORS = 1 << 16  # of an array
MAX_INDEX = 1 << 31  # of steps, offsets and weights, so that 64-bit index arithmetic cannot overflow
SHARES_OFF = 1e-6  # that the sum of the shares of lines may be off 1


def check_chain(chain: ModulusChain) -> None:
    """FormatError unless the numbers of a chain are of a size that the core's checks can be given."""
    if chain.num_primes > MAX_PRIMES:
        raise FormatError(f"plan: {chain.num_primes} primes; at most {MAX_PRIMES} are possible")
    lists = (chain.digits, *(t.groups for t in chain.tracks), *(g.digits for g in chain.gadgets))
    limbs = [limb for groups in lists for group in groups for limb in group]
    if any(not 0 <= limb < len(chain.primes) for limb in limbs):
        raise FormatError(f"plan: a limb number is outside the {len(chain.primes)} primes")
    if any(not 0 < n < 1 << 62 for n in (chain.ring_degree, chain.security_bits, *chain.primes, *chain.every_special)):
        raise FormatError("plan: a prime, the ring degree or the security level is no positive number of 62 bits")
    if chain.bootstrap is not None and not chain.special:
        raise FormatError("plan: it bootstraps, and its parameters have no special primes for the keys of that")


def check_client(spec: ClientSpec) -> None:
    """FormatError unless inputs, outputs and manifest fit the parameters."""
    tensors: tuple[SecretInput | Output, ...] = (*spec.secret_inputs, *spec.outputs)
    for tensor in tensors:
        _check_tensor(tensor, spec.chain, spec.packed_rows)
    for output in spec.outputs:
        _check_read(output)
    for value in spec.inputs:
        if isinstance(value, IndexInput) and not 0 <= value.limit <= MAX_INDEX:
            raise FormatError(f"plan: input {value.name!r} goes up to {value.limit}")
        if isinstance(value, SecretInput) and value.low > value.high:
            raise FormatError(f"plan: input {value.name!r} ranges from {value.low} to {value.high}")
    for names in ([i.name for i in spec.inputs], [o.name for o in spec.outputs]):
        if len(set(names)) != len(names):
            raise FormatError(f"plan: a name stands twice in {', '.join(names)}")
    check_arguments(spec)
    _check_batch(spec)
    _check_feedback(spec)
    _check_owner(spec)
    _check_columns(spec)
    _check_constraints(spec)
    manifest = spec.manifest
    if manifest.uses and not spec.chain.special:
        raise FormatError(
            f"plan: it asks for {len(manifest.uses)} evaluation keys, and its parameters have no special primes for any"
        )
    largest = max((output.magnitude for output in spec.outputs), default=0.0)
    if spec.chain.has_wide_integers and largest * (2 - ROUNDED) > prod(spec.chain.plain_moduli):
        raise FormatError(f"plan: results of up to {largest:.4g} are larger than what its plaintext moduli hold")
    if spec.slot_rows != 1 and not _may_differ(spec):
        raise FormatError(f"plan: {spec.slot_rows} rows of slots cannot hold different rows of a batch here")
    for use in manifest.uses:
        key = use.spec
        is_element = key.galois_element % 2 == 1 and 1 < key.galois_element < 2 * spec.chain.ring_degree
        if not (is_element if key.kind == "galois" else key.kind in KINDS and key.galois_element == 0):
            raise FormatError(f"plan: no key is of kind {key.kind!r} with galois element {key.galois_element}")
        if key.kind == "to_sparse" and (key.track, key.level) != (0, 0):
            raise FormatError("plan: a to_sparse key is above level 0")
        if not (0 <= key.track < len(spec.chain.tracks) and 0 <= key.level < len(spec.chain.tracks[key.track].groups)):
            raise FormatError(f"plan: a key is at track {key.track}, level {key.level}, which the parameters lack")
    if {len(manifest.bytes_stored), len(manifest.bytes_resident), len(manifest.log2_qp)} != {len(manifest.uses)}:
        raise FormatError("plan: the key manifest has columns of different lengths")


def _check_feedback(spec: ClientSpec) -> None:
    """FormatError unless what is said of runs after each other is about the inputs that take results."""
    feedback, names = spec.feeding, [output.name for output in spec.outputs]
    if feedback is None:
        return
    numbers = [names.index(i.fed) if i.fed in names else -1 for i in spec.secret_inputs if i.fed]
    is_whole = list(feedback.sources) == numbers and [len(row) for row in feedback.gains] == [len(numbers)] * len(names)
    if feedback.runs < 1 or not is_whole or not all(0.0 <= gain < inf for row in feedback.gains for gain in row):
        raise FormatError("plan: what is said of errors in later runs is not about its inputs; the file was altered")


def _check_constraints(spec: ClientSpec) -> None:
    """FormatError unless constraints are on elements that inputs have."""
    shapes = {i.name: i.shape for i in spec.secret_inputs}
    for constraint in spec.constraints:
        if constraint.input not in shapes or not constraint.is_about(shapes[constraint.input]):
            raise FormatError(
                f"plan: a constraint is on elements that input {constraint.input!r} does not have; the file was altered"
            )


def _check_owner(spec: ClientSpec) -> None:
    """FormatError unless what the owner computes fits the encrypted inputs and outputs, and keeps rows apart."""
    stages, batch = spec.owner, spec.batch
    if stages is None:
        return
    if spec.arguments or spec.results or not stages:
        raise FormatError("plan: there are steps of the owner where there can be none; the file was altered")
    try:
        stages.check({i.name: i.shape for i in spec.secret_inputs}, {o.name: o.shape for o in spec.outputs})
    except ValueError as error:
        raise FormatError(f"plan: steps of the owner: {error}; the file was altered") from None
    if batch is not None and batch.inputs and mixes_rows(stages, spec, batch):
        raise FormatError("plan: steps of the owner work along the axis of rows; the file was altered")


def _check_columns(spec: ClientSpec) -> None:
    """FormatError unless names of columns are of what users give, once, and as many as there are columns."""
    staged = {each.name for each in spec.owner.given} if spec.owner is not None else set()
    names = [name for name, _ in spec.columns]
    shapes = {name: spec.shape_given(name) for name in spec.given_names if name not in staged}
    if len(set(names)) < len(names) or any(
        (shapes.get(n) or ())[-1:] != (len(columns),) for n, columns in spec.columns
    ):
        raise FormatError("plan: names of columns do not fit the inputs; the file was altered")


def mixes_rows(stages: OwnerStages, spec: ClientSpec, batch: Batch) -> bool:
    """Whether a step works along the batch axis, so that there cannot be any number of rows."""
    inputs = {i.name: (i.shape, 0) for i in spec.secret_inputs if i.name in batch.inputs}
    outputs = {o.name: (o.shape, axis) for o, axis in zip(spec.outputs, batch.axes, strict=True)}
    return stages.works_along(inputs, outputs)


def _check_batch(spec: ClientSpec) -> None:
    """FormatError unless the batch axis is one of all inputs and outputs that are said to have it."""
    batch = spec.batch
    if batch is None or not (batch.rows or batch.inputs or batch.axes):
        return
    shapes = {i.name: i.shape for i in spec.secret_inputs}
    has_inputs = batch.inputs and all(shapes.get(name, ())[:1] == (batch.rows,) for name in batch.inputs)
    pairs = list(zip(batch.axes, spec.outputs, strict=False))
    has_outputs = len(batch.axes) == len(spec.outputs) and all(
        0 <= axis < len(o.shape) and o.shape[axis] == batch.rows for axis, o in pairs
    )
    if not has_inputs or not has_outputs or spec.arguments or not 0 <= batch.calibrated < batch.rows:
        raise FormatError(f"plan: {batch.rows} rows are no axis of the inputs and outputs; the file was altered")


def check_pack(pack: PackMap, path: str) -> None:
    """FormatError unless every element has as many slots as every other; those of a table may have any number."""
    try:
        if not pack.table:
            pack.copies()
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from None


def check_gather(gather: LoopNest, sources: Mapping[str, npt.NDArray[np.float64]], slots: int, path: str) -> None:
    """FormatError unless a gather reads and writes inside its tensors, and is no more work than such tensors can be."""
    if (gather.source is None) != (gather.source_access is None) or (gather.in_pack is None) != (
        gather.in_access is None
    ):
        raise FormatError(f"{path}: accesses do not match what is accessed")
    if gather.out_pack.slots > slots:
        raise FormatError(f"{path}: packed to {gather.out_pack.slots} slots, the ring has {slots}")
    check_pack(gather.out_pack, path)
    if gather.spread != 1 and not _is_outermost(gather.spread, gather.out_pack):
        raise FormatError(f"{path}: sums are spread over {gather.spread} copies, the packing is {gather.out_pack}")
    sizes: list[tuple[Access | None, int]] = [(gather.out_access, gather.out_pack.size)]
    if gather.in_pack is not None:
        sizes.append((gather.in_access, gather.in_pack.size))
        if gather.in_pack.slots != gather.out_pack.slots:
            raise FormatError(f"{path}: packed to {gather.in_pack.slots} and {gather.out_pack.slots} slots")
        check_pack(gather.in_pack, path)
    if gather.source is not None:
        if gather.source not in sources:
            raise FormatError(f"{path}: source {gather.source} is not in the plan")
        sizes.append((gather.source_access, sources[gather.source].size))
    domain = gather.domain
    fits = all(1 <= extent <= MAX_GATHER_ITERATIONS for extent in domain)
    if len(domain) > MAX_LOOPS or not fits or prod(domain) > MAX_MAP_ITERATIONS:
        raise FormatError(f"{path}: a loop nest of {_show(domain)} iterations")
    for access, size in sizes:
        assert access is not None
        _check_access(access, len(domain), size, path)
    if gather.in_pack is None:
        walked = prod(domain)
        limit = min(MAX_GATHER_ITERATIONS, MAX_ITERATIONS_PER_ITEM * sum(size for _, size in sizes))
    else:
        walked, limit = prod(domain[j] for j in open_loops(gather)), MAX_OPEN_ITERATIONS
    if walked > limit:
        raise FormatError(f"{path}: a loop nest of {_show(domain)} iterations")


def _is_outermost(copies: int, pack: PackMap) -> bool:
    """Whether the outermost dimension within vectors is a repetition of this extent that no roll is about."""
    if not pack.dims or (pack.dims[0].axis, pack.dims[0].extent) != (REPEAT, copies):
        return False
    number = len(pack.vector_dims)
    return prod(d.extent for d in pack.dims) == pack.slots and not any(number in roll for roll in pack.rolls)


def check_butterflies(piece: Butterflies, slots: int, path: str) -> None:
    """FormatError unless stages of the special FFT lie within vectors that the ring can hold."""
    numbers = (piece.slots, piece.half)
    if any(n < 1 or n & (n - 1) for n in numbers) or not 0 <= piece.stages < MAX_STAGES:
        raise FormatError(f"{path}: butterflies of half-width {piece.half} on {piece.slots} slots")
    if piece.slots > slots or piece.half << piece.stages > piece.slots:
        raise FormatError(
            f"{path}: {piece.stages} stages from {piece.half} on {piece.slots} slots; the ring has {slots}"
        )


def check_constant(constant: ConstRef, path: str) -> None:
    """FormatError unless steps and rotation are of a size that index arithmetic holds, and its vectors exist."""
    if max(abs(constant.rotate), abs(constant.steps or 0)) >= MAX_INDEX:
        raise FormatError(f"{path}: steps {constant.steps}, rotated by {constant.rotate}")
    gather = constant.gather
    is_map = isinstance(gather, LoopNest) and gather.in_pack is not None
    ends = (gather.count_out, gather.count_in) if isinstance(gather, LoopNest) and is_map else (1, 1)
    if not (0 <= constant.out < ends[0] and 0 <= constant.in_ < ends[1]):
        raise FormatError(f"{path}: from vector {constant.in_} to {constant.out}; there are {ends[1]} and {ends[0]}")
    if (plus := constant.plus) is not None:
        if plus.plus is not None or (plus.slots, plus.count) != (constant.slots, constant.count):
            raise FormatError(f"{path}: a sum of constants of different vectors")
        check_constant(plus, path)


def check_any_gather(
    gather: LoopNest | Butterflies, sources: Mapping[str, npt.NDArray[np.float64]], slots: int, path: str
) -> None:
    """FormatError unless what slot vectors are gathered from is well-formed."""
    if isinstance(gather, Butterflies):
        check_butterflies(gather, slots, path)
    else:
        check_gather(gather, sources, slots, path)


def check_map(sums: MapSums, sources: Mapping[str, npt.NDArray[np.float64]], slots: int, path: str) -> None:
    """FormatError unless all gathers of a block map are of one width, and well-formed, and its steps within it."""
    linear_map, way = sums.map, sums.way
    parts, explicit = linear_map.all_parts, linear_map.explicit
    for part in parts:
        check_any_gather(part.gather, sources, slots, path)
    for diagonal in explicit:
        check_any_gather(diagonal.values.gather, sources, slots, path)
        check_constant(diagonal.values, path)
    gathers = [part.gather for part in parts] + [d.values.gather for d in explicit]
    if any(gather.slots != linear_map.slots for gather in gathers):
        raise FormatError(f"{path}: a map of {linear_map.slots} slots has a part of another width")
    if any(isinstance(part.gather, LoopNest) and part.gather.in_pack is None for part in parts):
        raise FormatError(f"{path}: a part of a map reads no input")
    numbers = [v for part in parts for v in (part.out, part.in_)] + [v for d in explicit for v in (d.out, d.in_)]
    counts = (linear_map.count_in, linear_map.count_out)
    if min(counts) < 1 or max(counts) > MAX_VECTORS or min(numbers, default=0) < 0:
        raise FormatError(f"{path}: a map from {counts[0]} vectors to {counts[1]}")
    if not (way.split.width <= linear_map.slots and 0 <= way.apart < linear_map.slots):
        raise FormatError(f"{path}: babies of width {way.split.width}, pairs {way.apart} apart in {linear_map.slots}")


def _check_bootstraps(plan: Plan) -> None:
    """FormatError unless blocks that are said to be bootstraps are called, and have the types of one."""
    called = {instruction.immediate[0] for _, _, instruction in plan.walk() if instruction.op == CALL.name}
    try:
        numbers = set(bootstraps_of(plan, plan.chain))
    except ValueError as error:
        raise FormatError(f"plan: {error}; the file was altered") from None
    if not numbers <= called:
        raise FormatError(f"plan: no call leads to a bootstrap in block {min(numbers - called)}; the file was altered")
    circuit = plan.chain.bootstrap
    if circuit is not None and not (1.0 < circuit.ratio <= MAX_RATIO and 0 <= circuit.gain_bits <= MAX_GAIN_BITS):
        raise FormatError(f"plan: bootstraps of ratio {circuit.ratio}, {circuit.gain_bits} bits; the file was altered")
    stated = plan.bootstrap_noise
    if stated is not None and not (numbers and all(0.0 <= value <= 1.0 for value in astuple(stated))):
        raise FormatError(f"plan: bootstraps that leave {stated}; the file was altered")


def check_references(plan: Plan) -> None:
    """FormatError unless all numbers that point between the parts of a plan point inside them."""
    count = len(plan.locations)
    _check_shares(plan)
    uses = Uses(plan, plan.chain)
    for _, _, instruction in plan.walk():
        if not 0 <= instruction.location < count:
            raise FormatError(f"plan: location {instruction.location} of {count}")
        constants = SIGNATURES[instruction.op].constants(instruction.immediate)
        if constants:
            _check_use(plan, constants, uses.of(instruction))
    arguments = [plan.kind(r) for r in plan.blocks[0].arguments]
    _check_border("input", plan.client.inputs, arguments)
    _check_border("output", plan.client.outputs, [plan.kind(o.register) for o in plan.blocks[0].code[-1].operands])
    if sorted(plan.keys, key=repr) != sorted((use.spec for use in plan.client.manifest.uses), key=repr):
        raise FormatError("plan: the code's keys are not those of the manifest")
    _check_bootstraps(plan)
    _check_reasons(plan)
    for tensor in plan.tensors:
        if not 0 <= tensor.location < count:
            raise FormatError(f"plan: location {tensor.location} of {count}")
        if tensor.pack.slots > plan.chain.slots:
            raise FormatError(
                f"plan: tensor {tensor.name!r} is packed to {tensor.pack.slots} slots, the ring has fewer"
            )
        rows = plan.client.packed_rows
        if rows > 1 and tensor.pack.shape[:1] != (rows,):
            raise FormatError(f"plan: tensor {tensor.name!r} is not packed in {rows} rows")
        check_pack(tensor.pack, f"tensor {tensor.name!r}")
    for step in () if plan.placing is None else plan.placing.steps:
        if not 0 <= step.location < count or step.pack.slots > plan.chain.slots:
            raise FormatError(f"plan: the layout of {step.name!r} names a line or slots that are not there")
    if plan.circuit is not None and not plan.circuit.holds_together():
        raise FormatError("plan: the circuit's schedule names instructions, lanes or labels that are not there")
    for register, position in plan.watch.items():
        if not (0 <= register < len(plan.registers) and 0 <= position < len(plan.tensors)):
            raise FormatError(f"plan: watch {register} -> {position} points outside the plan")
    for register, factor in plan.factors.items():
        if register not in plan.watch or not isfinite(factor) or factor == 0.0:
            raise FormatError(f"plan: factor {factor} of register {register}, which holds no tensor or none that large")


def _check_reasons(plan: Plan) -> None:
    """Check that each reason is of one call of a bootstrap, in words and numbers that can be."""
    blocks, bootstraps = plan.blocks, {each.block for each in plan.bootstraps}
    seen = set[tuple[int, int]]()
    for each in plan.reasons:
        place = (each.block, each.place)
        inside = 0 <= each.block < len(blocks) and 0 <= each.place < len(blocks[each.block].code)
        code = blocks[each.block].code[each.place] if inside else None
        if code is None or code.op != CALL.name or code.immediate[0] not in bootstraps or place in seen:
            raise FormatError(
                f"plan: instruction {each.place} of block {each.block} is no bootstrap to give a reason of"
            )
        if not each.reason.is_sound():
            raise FormatError(f"plan: the reason of the bootstrap at {each.place} of block {each.block} cannot be")
        seen.add(place)


def _check_shares(plan: Plan) -> None:
    """Lines that share a location are there, and have all of it between them."""
    for number, place in enumerate(plan.locations):
        parts = [part for part, _ in place.shares]
        if not all(0 <= part < len(plan.locations) and not plan.locations[part].shares for part in parts):
            raise FormatError(f"plan: location {number} is shared by locations that are not there")
        shares = [share for _, share in place.shares]
        if shares and (min(shares) < 0 or abs(sum(shares) - 1.0) > SHARES_OFF):
            raise FormatError(f"plan: the shares of location {number} add up to {sum(shares):.6g}, not to 1")


def _check_use(plan: Plan, constants: Iterable[tuple[str, int]], use: Use) -> None:
    """Constants are there, and are what the instruction that names them takes."""
    for kind, number in constants:
        if not 0 <= number < len(plan.constants):
            raise FormatError(f"plan: constant {number} of {len(plan.constants)}")
        try:
            check_constant_use(kind, use, plan.constants[number])
        except UserError as error:
            raise FormatError(f"plan: constant {number} {error.message}; the file was altered") from None


def _may_differ(spec: ClientSpec) -> bool:
    """Whether both rows of slots of BFV may hold different numbers: no key is for moving numbers between them."""
    keys = (use.spec for use in spec.manifest.uses if use.spec.kind == "galois")
    moves = any(galois_action(key.galois_element, spec.chain.slots)[1] for key in keys)
    return spec.slot_rows == SLOT_ROWS and spec.chain.has_wide_integers and spec.packed_rows > 1 and not moves


def _check_tensor(tensor: SecretInput | Output, chain: ModulusChain, rows: int) -> None:
    if rows > 1 and tensor.pack.shape[:1] != (rows,):
        raise FormatError(f"plan: {tensor.name!r} is packed as {tensor.pack}, others in {rows} rows")
    path = f"plan: {tensor.name!r}"
    if tensor.shape != tensor.pack.shape[rows > 1 :] or tensor.pack.slots > chain.slots:
        raise FormatError(f"{path} of shape {tensor.shape} does not fit its packing {tensor.pack} or the ring")
    if not 0 <= tensor.level <= chain.main.top or not tensor.scale > 0:
        raise FormatError(f"{path} lies at level {tensor.level}, scale {tensor.scale}; the chain has {chain.main.top}")
    check_pack(tensor.pack, path)


def check_arguments(spec: ClientSpec) -> None:
    """FormatError unless a circuit's arguments and results are elements that its inputs and outputs have."""
    sizes = [prod(i.shape) for i in spec.secret_inputs]
    total = sum(prod(o.shape) for o in spec.outputs)
    for a in spec.arguments:
        known = a.input == -1 or (0 <= a.input < len(sizes) and all(0 <= e < sizes[a.input] for e in a.elements))
        if not known or not 0 <= a.bits <= MAX_BITS or not _is_of(a.encrypted_shape, len(a.elements)):
            raise FormatError(f"plan: argument {a.name!r} is no part of input {a.input}")
        if len(a.ends) != 2 * spec.chain.has_wide_integers or sorted(a.ends) != list(a.ends):
            raise FormatError(f"plan: argument {a.name!r} is of integers from {' to '.join(map(str, a.ends))}")
        if (a.low is None) != (a.high is None) or (a.low is not None and a.high is not None and a.low > a.high):
            raise FormatError(f"plan: argument {a.name!r} ranges from {a.low} to {a.high}")
        if a.bits and (a.low, a.high) != (0, (1 << a.bits) - 1):  # digits would be lost unseen
            raise FormatError(f"plan: argument {a.name!r} of {a.bits} digits ranges from {a.low} to {a.high}")
    for o in spec.outputs:
        if not all(0 <= e < prod(o.shape) for e in o.wrapping):
            raise FormatError(f"plan: what may wrap around is no part of output {o.name!r}")
    for r in spec.results:
        is_empty = not r.elements and 0 in r.shape and max(r.shape) <= MAX_EMPTY and len(r.shape) <= MAX_NESTING
        fits = all(0 <= e < total for e in r.elements) and (is_empty or _is_of(r.shape, len(r.elements)))
        if min(r.shape, default=0) < 0 or not fits or len(r.path) > MAX_NESTING:
            raise FormatError(f"plan: result {r.name!r} is no part of the outputs")
    for names in ([a.name for a in spec.arguments], [r.name for r in spec.results]):
        if len(set(names)) != len(names):
            raise FormatError(f"plan: a name stands twice in {', '.join(names)}")
    try:
        rebuild_result(spec.results, lambda result: result) if spec.results else None
    except ValueError as error:
        raise FormatError(f"plan: {error}") from None


def _is_of(shape: tuple[int, ...], size: int) -> bool:
    """Whether a shape has this number of elements, at least one."""
    return min(shape, default=1) >= 1 and product_within(shape, size) == size


def _check_read(output: Output) -> None:
    """FormatError unless every element of an output can be read: of a table, for others are held evenly."""
    try:
        if output.pack.table:
            output.pack.first_places()
    except ValueError as error:
        raise FormatError(f"plan: {output.name!r}: {error}") from None


def _check_access(access: Access, num_loops: int, size: int, path: str) -> None:
    fits = len(access.view) == len(access.matrix) == len(access.offset) <= MAX_LOOPS
    if not fits or any(len(row) != num_loops for row in access.matrix) or prod(access.view) != size:
        raise FormatError(f"{path}: an access with view {_show(access.view)} does not fit {size} elements")
    numbers = (*access.view, *access.offset, *(weight for row in access.matrix for weight in row))
    if min(access.view, default=1) < 1 or max(map(abs, numbers), default=0) >= MAX_INDEX:
        raise FormatError(f"{path}: an access with view {_show(access.view)} uses indices out of range")


def _check_border(what: str, specs: Iterable[SecretInput | IndexInput | Output], kinds: list[Kind]) -> None:
    """Registers at the border of a plan are as the client part describes them."""
    listed = list(specs)
    if len(kinds) != len(listed):
        raise FormatError(f"plan: the code has {len(kinds)} {what}s, the plan describes {len(listed)}")
    for spec, kind in zip(listed, kinds, strict=True):
        if isinstance(spec, IndexInput):
            fits = isinstance(kind, IndexKind)
        else:
            degree = spec.degree if isinstance(spec, Output) else 1
            expected = CipherKind(spec.pack.slots, 0, spec.level, spec.scale, degree, 0, 0, spec.pack.count)
            fits = isinstance(kind, CipherKind) and kind == expected
        if not fits:
            raise FormatError(f"plan: {what} {spec.name!r} does not fit its register")


def _show(numbers: tuple[int, ...]) -> str:
    return str(numbers) if len(numbers) <= MAX_LOOPS else f"({numbers[0]}, ... {len(numbers)} in all)"
