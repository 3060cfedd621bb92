"""Plan code: Python's tables to CBOR and back, and what the emitter promises the executor."""

from dataclasses import replace

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, plan_of, small_chain

from latticework import _core
from latticework.compiler.levels import program_depth
from latticework.errors import FormatError
from latticework.plan.files.code_file import decode_code, encode_code
from latticework.plan.instructions.executable import Instruction, RegisterOperand
from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind, IndexKind, KeyKind, PlainKind
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.values.packing.key_manifest import KeySpec

MATRIX = np.random.default_rng(1).normal(size=(SLOTS, SLOTS)) / 4


def straight():
    v = Vectors(2)
    y = v.op("mul", v.matrix(v.x[0], MATRIX), v.op("rotate", v.x[1], steps=-2))
    return v.done(v.polynomial(y, [0.1, 0.2, 0.3, 0.4]), v.x[1], v.x[1], y)


def looped():
    v = Vectors(2, trips=True)
    (a,) = v.loop(lambda i, h: [v.op("add", h, v.x[0])], [v.x[0]], 3)  # reads its initial value again inside

    def outer(i, h):
        return v.loop(lambda j, g: [v.op("sub", g, h)], [h], 2)

    (b,) = v.loop(outer, [v.x[1]], 2)
    (c,) = v.loop(lambda i, h: [v.op("mul", h, v.x[0])], [v.x[0]], v.n, at_most=2)
    return v.done(a, b, c)


PROGRAMS = {"straight": straight, "looped": looped}


def plan(name):
    module = PROGRAMS[name]()
    return plan_of(module, small_chain(program_depth(module)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_round_trip(name):
    case = plan(name)
    kinds, registers, blocks, keys = decode_code(encode_code(case))
    assert (kinds, registers, blocks, keys) == (case.kinds, case.registers, case.blocks, case.keys)
    assert encode_code(case) == encode_code(plan(name))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_core_accepts_what_is_emitted(name):
    case = plan(name)
    _core.Plan(core_parameters(case.chain), encode_code(case))


@pytest.mark.parametrize("kind", [
    CipherKind(8, 0, 3, 2.0**40 + 1, 2, 1), DigitsKind(8, 0, 3, 1.5, 1), PlainKind(8, 1, 0, 2.0**0.5, 1), KeyKind(7),
    IndexKind(),
])  # fmt: skip
def test_kinds_survive_exactly(kind):
    case = replace(plan("straight"), kinds=(kind,))
    assert decode_code(encode_code(case))[0] == (kind,)


def test_keys_survive():
    keys = (KeySpec("relin", 0, 0, 3), KeySpec("galois", 131071, 1, 0))
    assert decode_code(encode_code(replace(plan("straight"), keys=keys)))[3] == keys


def reads_after_last_use(case):
    """Registers read although an earlier instruction said it was the last, by running through the blocks in order."""
    dead, wrong = set(), []

    def run(number):
        for instruction in case.blocks[number].code:
            for operand in instruction.operands:
                if operand.register in dead:
                    wrong.append((number, instruction.op, operand.register))
            dead.update(o.register for o in instruction.operands if o.last_use)
            if instruction.op == "for":
                run(instruction.immediate[0])
            if instruction.op == "if":
                run(instruction.immediate[0])
                run(instruction.immediate[1])

    run(0)
    return wrong


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_read_after_its_last_use_and_all_else_is_freed(name):
    case = plan(name)
    assert reads_after_last_use(case) == []
    # In the body, every value ends its life somewhere.
    read = {o.register for _, _, i in case.walk() for o in i.operands}
    last = {o.register for _, _, i in case.walk() for o in i.operands if o.last_use}
    made = {r for i in case.blocks[0].code for r in i.results} | set(case.blocks[0].arguments)
    nested = {o.register for n, _, i in case.walk() if n for o in i.operands}
    assert made & read - nested <= last


def test_known_trip_counts_become_registers_and_limits():
    case = plan("looped")
    loops = [i for _, _, i in case.walk() if i.op == "for"]
    assert len(loops) == 3
    for loop in loops:
        (count,) = [i for _, _, i in case.walk() if i.results == (loop.operands[0].register,)]
        assert count.op == "iconst" and count.immediate == (loop.immediate[1],)


def test_unknown_content_is_a_format_error():
    case = plan("straight")
    content = _core.cbor_decode(encode_code(case))
    for change in (
        {"types": [["banana", 1]]}, {"types": [["cipher", 1]]}, {"types": 3}, {"blocks": [{"args": []}]},
        {"blocks": [{"args": [], "code": [[10_000, 0, [], [], []]]}]}, {"blocks": [{"args": [], "code": [[1]]}]},
        {"keys": [{"kind": "relin"}]}, {"keys": None}, {"registers": None},
    ):  # fmt: skip
        with pytest.raises(FormatError):
            decode_code(_core.cbor_encode({**content, **change}))
    with pytest.raises(FormatError):
        decode_code(b"\xff\x00")
    with pytest.raises(FormatError):
        decode_code(_core.cbor_encode([1, 2]))


def test_the_core_refuses_a_wrong_scale_level_or_register():
    case = plan("straight")
    parameters = core_parameters(case.chain)
    number, kind = next((n, k) for n, k in enumerate(case.kinds) if isinstance(k, CipherKind) and k.degree == 2)
    for wrong in (
        replace(kind, scale=kind.scale * 1.01), replace(kind, level=kind.level - 1), replace(kind, level=99),
        replace(kind, slots=3), replace(kind, degree=3), replace(kind, basis=2), replace(kind, track=1),
        replace(kind, scale=float("nan")), replace(kind, scale=-1.0),
    ):  # fmt: skip
        kinds = tuple(wrong if i == number else k for i, k in enumerate(case.kinds))
        with pytest.raises(FormatError):
            _core.Plan(parameters, encode_code(replace(case, kinds=kinds)))
    body = case.blocks[0]
    beyond = Instruction("neg", 0, (RegisterOperand(len(case.registers)),), body.code[0].results)
    with pytest.raises(FormatError):
        blocks = (replace(body, code=(beyond, *body.code[1:])),)
        _core.Plan(parameters, encode_code(replace(case, blocks=blocks)))
