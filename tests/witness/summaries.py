"""What a compiled thing is in bytes, in a few figures, and line by line."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pprint import pformat
from typing import Any

from cases import Planned

from latticework import Model, _core
from latticework.plan.files.code_file import Executable, encode_code
from latticework.plan.files.codec import to_data
from latticework.plan.files.deflate import inflate
from latticework.plan.files.serialise import write_client, write_plan
from latticework.plan.parameters import ModulusChain
from latticework.schemes.ckks.planned import Place

PARTS = ("client", "code", "constants", "debug")
PLAN_FILE = 1


@dataclass
class Pinned:
    """One compiled thing.

    files    name -> exact bytes
    parts    what the plan file holds
    code     what is executed;  values  the slot vectors of constants, where no file holds what they are made of
    """

    files: dict[str, bytes]
    parts: dict[str, bytes]
    code: Executable
    chain: ModulusChain
    values: dict[str, Any]
    described: Any


def pinned(thing: Model | Planned) -> Pinned:
    """A model with its files, or a planned operation with its code and the vectors of its constants."""
    if isinstance(thing, Model):
        plan = thing.plan
        file, client = write_plan(plan), write_client(plan.client)
        assert file is not None and client is not None
        bounds = {o.name: {"error_bound": o.error_bound, "reach": o.reach} for o in plan.client.outputs}
        parts = _parts(file)  # as the library compresses them, a file may have other bytes in its next version
        files = {"plan": b"".join(parts.values()), "client": client}
        return Pinned(files, parts, plan, plan.chain, {"outputs": bounds}, to_data(plan.client))
    parameters, level = thing.parameters, thing.parameters.levels if thing.level is None else thing.level
    compiled = thing.operation._plan_for(parameters, Place(thing.slots, level, parameters.scales[level]))
    vectors = b"".join(compiled.constant(i).tobytes() for i in range(len(compiled.constants)))
    files = {"code": encode_code(compiled.steps), "constants": vectors}
    return Pinned(files, files, compiled.steps, parameters.chain, {"from_level": level}, repr(thing.operation))


def figures(thing: Pinned) -> dict[str, Any]:
    """What stands in the witness: hashes of the files, shorter ones of their parts, and figures that explain them."""
    chain = thing.chain
    return {
        "files": {name: digest(data) for name, data in thing.files.items()},
        "parts": {name: digest(data)[:16] for name, data in thing.parts.items()},
        "chain": {
            "ring_degree": chain.ring_degree, "primes": list(chain.primes), "special": list(chain.special),
            "levels": chain.main.top, "plain_modulus": chain.plain_modulus,
        },
        "sizes": {
            "blocks": len(thing.code.blocks), "registers": len(thing.code.registers), "keys": len(thing.code.keys),
            "constants": len(thing.code.constants),
        },
        "instructions": dict(sorted(instructions(thing.code).items())),
        **thing.values,
    }  # fmt: skip


def instructions(code: Executable) -> Counter[str]:
    """Instructions by opcode."""
    return Counter(instruction.op for block in code.blocks for instruction in block.code)


def digest(data: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def listing(thing: Pinned) -> Iterator[str]:
    """The whole as lines of text, to be compared with those of another commit."""
    code = thing.code
    yield pformat(thing.described, width=120, sort_dicts=False)
    for number, key in enumerate(code.keys):
        yield f"key {number}: {key}"
    for number, constant in enumerate(code.constants):
        yield f"constant {number}: {constant}"
    for number, block in enumerate(code.blocks):
        yield f"block {number} ({', '.join(_register(code, r) for r in block.arguments)})"
        for step in block.code:
            results = ", ".join(_register(code, r) for r in step.results)
            operands = " ".join(f"%{o.register}{'!' if o.last_use else ''}" for o in step.operands)
            immediate = f" {list(step.immediate)}" if step.immediate else ""
            yield f"  {results} = {step.op} {operands}{immediate} @{step.location}"
    for name in ("locations", "approximations", "layouts", "placing", "circuit", "tensors", "watch", "factors"):
        yield f"{name}: {pformat(getattr(code, name, None), width=120)}"


def _register(code: Executable, register: int) -> str:
    return f"%{register}: {code.kinds[code.registers[register]]}"


def _parts(file: bytes) -> dict[str, bytes]:
    reader = _core.ContainerReader(file, kinds=[PLAN_FILE])
    *parts, few = _core.cbor_decode(inflate(bytes(reader.section(0)), "plan"))
    weights = bytes(reader.section(1)) if reader.num_sections > 1 else few
    found = {name: bytes(_core.cbor_encode(part)) for name, part in zip(PARTS, parts, strict=True)}
    return found | ({"sources": weights} if weights else {})
