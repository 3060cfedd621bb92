"""Instructions by chance: right ones of every opcode, wrong ones a step away, and what the core says of them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from plan_assembler import Assembler

from latticework.errors import FormatError, UserError
from latticework.plan.instructions.register_kinds import (
    AddendKind,
    CipherKind,
    DigitsKind,
    IndexKind,
    KeyKind,
    PlainKind,
)
from latticework.plan.instructions.table import RECORDS, check_types
from latticework.plan.instructions.use import Use
from latticework.plan.parameters import Need, Track, build_chain
from latticework.plan.parameters.bfv_chain import bfv_chain, plain_prime
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.values.packing.key_manifest import KeySpec

N = 1024
INDEX = IndexKind()
NUM_CONSTANTS = 2


def ckks_chain():
    """Four levels, and a second track that shares the lower two of them."""
    chain = build_chain(N, Need(3, 16, 30, 10), 2, insecure=True)
    main = chain.main
    groups = (*main.groups[:2], main.groups[3])
    return replace(chain, tracks=(main, Track(groups, tuple(main.scales[: len(groups)]))))


CHAINS = {
    "ckks": ckks_chain(),
    "bfv": bfv_chain(N, plain_prime(N, 17, None), [40.0] * 4, [40.0], insecure=True),
}


def keys_of(chain):
    """Keys of all kinds, for some and for all levels of each track."""
    keys = [KeySpec(kind, element, track, level) for kind, element in (("relin", 0), ("galois", 5), ("galois", 2 * N - 1))
            for track in range(len(chain.tracks)) for level in (1, chain.tracks[track].top)]  # fmt: skip
    return [
        *keys,
        KeySpec("to_sparse", 0, 0, 0),
        *(KeySpec("to_dense", 0, t, c.top) for t, c in enumerate(chain.tracks)),
    ]


@dataclass(frozen=True)
class Case:
    """An instruction, types by value; keys by number."""

    op: str
    operands: tuple
    results: tuple
    immediate: tuple[int, ...]
    inner: tuple = ()  # of loops and branches: (arguments, yielded) of each block


class Maker:
    """Draws instructions for one chain."""

    def __init__(self, rng, scheme):
        self.rng = rng
        self.chain = CHAINS[scheme]
        self.is_bfv = scheme == "bfv"
        self.keys = keys_of(self.chain)

    def pick(self, *items):
        return items[int(self.rng.integers(len(items)))]

    def place(self):
        track = int(self.rng.integers(len(self.chain.tracks)))
        return track, int(self.rng.integers(self.chain.tracks[track].top + 1))

    def scale(self):
        return 1.0 if self.is_bfv else 2.0 ** int(self.rng.integers(20, 31))

    def cipher(self, **known):
        track, level = self.place()
        drawn = CipherKind(self.pick(4, 8, N // 2), track, level, self.scale(), self.pick(1, 1, 2), self.pick(0, 0, 1),
                           0, self.pick(1, 1, 2, 6))  # fmt: skip
        return replace(drawn, **known)

    def meeting(self, a, kind=CipherKind):
        """What an operation vector by vector may take beside a."""
        count = self.pick(a.count, 1)
        if kind is CipherKind:
            return replace(a, degree=self.pick(a.degree, 1), count=count)
        return kind(a.slots, a.track, a.level, a.scale, a.basis, count)

    def key(self, kind, track, level):
        """A key that serves a level, or any if there is none."""
        serving = [n for n, k in enumerate(self.keys)
                   if k.kind == kind and self.chain.covers((k.track, k.level), (track, level))]  # fmt: skip
        return KeyKind(self.pick(*serving) if serving else 0)

    def any_kind(self):
        """Of a value that is carried."""
        cipher = self.cipher()
        return self.pick(cipher, INDEX, KeyKind(1), self.meeting(cipher, PlainKind))

    def operands(self, op):
        """(operands, immediate, number of results, inner blocks) of a right instruction."""
        cipher, plain = self.cipher(), AddendKind if self.is_bfv else PlainKind
        over_q = replace(cipher, basis=0)
        factor = replace(over_q, degree=1)
        at = (cipher.track, cipher.level)
        digits = DigitsKind(cipher.slots, *at, cipher.scale, cipher.degree, cipher.count)
        match op:
            case "for":
                carried = tuple(self.any_kind() for _ in range(self.pick(0, 1, 3)))
                return (INDEX, *carried), (1, self.pick(0, 5, 1 << 31)), carried, (((INDEX, *carried), carried),)
            case "if":
                given = tuple(self.any_kind() for _ in range(self.pick(0, 2)))
                made = given[:1]
                return (INDEX, *given), (1, 2), made, ((given, made), (given, made))
            case "call":
                given = tuple(self.any_kind() for _ in range(self.pick(0, 1, 3)))
                made = given[: self.pick(0, 1, 3)]
                return given, (1,), made, ((given, made),)
            case "yield":
                return tuple(self.any_kind() for _ in range(self.pick(0, 2))), (), (), ()
            case "iconst":
                return (), (self.pick(-3, 0, 1 << 40),), 1, ()
            case "iadd" | "isub" | "imul" | "imin" | "ilt":
                return (INDEX, INDEX), (), 1, ()
            case "idiv":
                return (INDEX,), (self.pick(-1, 0, 1, 7),), 1, ()
            case "encode":
                return (), (self.pick(0, NUM_CONSTANTS - 1),), 1, ()
            case "key":
                return (), (self.pick(*range(len(self.keys))),), 1, ()
            case "add" | "sub":
                return (cipher, self.meeting(cipher)), (), 1, ()
            case "add_plain" | "sub_plain":
                of = over_q if self.is_bfv else cipher
                return (of, self.meeting(of, plain)), (), 1, ()
            case "neg" | "extend" | "add_int" | "mul_int" | "drop_level" | "relabel":
                of = over_q if op in ("extend", "add_int") else cipher
                return (of,), (self.pick(-7, 0, 12),) if op.endswith("int") else (), 1, ()
            case "mul_monomial":
                return (cipher,), (self.pick(0, N // 2, 2 * N - 1),), 1, ()
            case "mul_plain":
                return (cipher, replace(self.meeting(cipher, PlainKind), scale=self.scale())), (), 1, ()
            case "mul":
                return (factor, replace(self.meeting(factor), scale=self.scale())), (), 1, ()
            case "square":
                return (factor,), (), 1, ()
            case "mul_relinearize":
                return (factor, self.meeting(factor), self.key("relin", *at)), (), 1, ()
            case "hoist":
                return (over_q,), (), 1, ()
            case "key_product":
                return (digits, self.key("galois" if digits.degree == 1 else "relin", *at)), (), 1, ()
            case "mod_down":
                return (cipher,), (), 1, ()
            case "rotate":
                return (factor, self.key("galois", *at)), (), 1, ()
            case "rotate_over_p":
                return (replace(factor, basis=1), self.key("galois", *at)), (), 1, ()
            case "relinearize":
                return (replace(over_q, degree=2), self.key("relin", *at)), (), 1, ()
            case "trivial":
                return (self.meeting(over_q, plain),), (), 1, ()
            case "to_sparse":
                return (replace(factor, track=0, level=0), self.key("to_sparse", 0, 0)), (), 1, ()
            case "mod_raise":
                return (
                    (replace(factor, track=0, level=0, secret=1), self.key("to_dense", *at)),
                    (self.pick(1, 5),),
                    1,
                    (),
                )
            case "diag_sums":
                digits = replace(digits, degree=1)
                over_qp = replace(factor, basis=1)
                num_keys, giants, terms = self.pick(0, 2), self.pick(1, 3), self.pick(1, 4)
                keys = [self.key("galois", *at) for _ in range(num_keys)]
                plains = [replace(self.meeting(over_qp, PlainKind), scale=1.0 if self.is_bfv else 2.0**25)
                          for _ in range(terms)]  # fmt: skip
                pairs = [
                    int(n) for _ in range(terms) for n in (self.rng.integers(num_keys + 1), self.rng.integers(giants))
                ]
                return (digits, *keys, *plains), (num_keys, giants, *pairs), giants, ()
            case "map_sums":
                keys = [self.key("galois", *at) for _ in range(self.pick(0, 2))]
                return (factor, *keys), (self.pick(0, NUM_CONSTANTS - 1),), 1, ()
            case "public_matmul":
                return (over_q,), (self.pick(0, NUM_CONSTANTS - 1),), 1, ()
            case "take":
                numbers = self.rng.integers(cipher.count, size=self.pick(1, 3))
                return (cipher,), tuple(map(int, numbers)), 1, ()
            case "take_at":
                return (cipher, INDEX), (), 1, ()
            case "put_at":
                part = replace(self.meeting(cipher), count=self.pick(1, 2, cipher.count))
                return (cipher, part, INDEX), (), 1, ()
            case "encode_at":
                return (INDEX,), tuple(self.pick(0, NUM_CONSTANTS - 1) for _ in range(self.pick(0, 1, 3))), 1, ()
            case "concat":
                return tuple(replace(cipher, count=self.pick(1, 2)) for _ in range(self.pick(1, 3))), (), 1, ()
            case "sum":
                return (cipher,), (self.pick(*(g for g in (1, 2, 3) if cipher.count % g == 0)),), 1, ()
            case "dot":
                other = self.meeting(factor, self.pick(CipherKind, PlainKind))
                count = max(factor.count, other.count)
                return (factor, other), (self.pick(*(g for g in (1, 2, 3) if count % g == 0)),), 1, ()
        raise AssertionError(f"no way to draw {op}; give it one")

    def template(self, op, operands):
        """What a result states where its rule leaves it free."""
        if op in ("encode", "encode_at"):
            kind = self.pick(PlainKind, AddendKind) if self.is_bfv else PlainKind
            return self.meeting(self.cipher(basis=0) if kind is AddendKind else self.cipher(), kind)
        if op == "key":
            return KeyKind(0)
        if not operands or not isinstance(operands[0], CipherKind | DigitsKind):
            return INDEX if not operands or operands[0] == INDEX else self.cipher()
        a = operands[0]
        track, level = (a.track, a.level) if op != "mod_raise" else self.place()
        if op in ("drop_level", "mod_down", "rotate", "relinearize"):
            least = int(op == "drop_level" or (op == "mod_down" and a.basis == 0))
            level = max(0, level - self.pick(least, least, 2))
        if op == "relabel" and level < 2:
            track = self.pick(*range(len(self.chain.tracks)))
        if op == "mod_raise":
            operands_key = self.key("to_dense", track, level)
            assert operands_key
        return self.cipher(track=track, level=level)

    def right(self, op):
        """An instruction that its rule takes, or None where this draw had none (no level below, no key)."""
        operands, immediate, results, inner = self.operands(op)
        if not isinstance(results, int):
            return Case(op, operands, results, immediate, inner)
        template = self.template(op, operands)
        if op == "mod_raise":
            operands = (operands[0], self.key("to_dense", template.track, template.level))
        try:
            kinds = RECORDS[op].rule(self.use(Case(op, operands, (template,) * results, immediate)))
        except UserError:
            return None
        numbers = {spec: KeyKind(n) for n, spec in reversed(list(enumerate(self.keys)))}
        return Case(op, operands, tuple(numbers.get(k, k) for k in kinds), immediate)

    def use(self, case):
        """As the Python rule sees it."""

        def resolved(kinds):
            return tuple(self.keys[k.key] if isinstance(k, KeyKind) else k for k in kinds)

        inner = tuple((resolved(a), resolved(y)) for a, y in case.inner)
        return Use(resolved(case.operands), resolved(case.results), case.immediate, self.chain, self.keys,
                   [None] * NUM_CONSTANTS, inner)  # fmt: skip

    # -- a step away -------------------------------------------------------------------------

    def other(self, kind):
        """A type that differs in one thing."""
        match kind:
            case IndexKind():
                return self.cipher()
            case KeyKind(key):
                return KeyKind((key + int(self.rng.integers(1, len(self.keys)))) % len(self.keys))
        name = self.pick(*(f.name for f in fields(kind)), "class")
        if name == "class":
            shared = (kind.slots, kind.track, kind.level, kind.scale)
            return self.pick(INDEX, KeyKind(0), CipherKind(*shared, 1, 0, 0, kind.count), DigitsKind(*shared, 1, kind.count),
                             PlainKind(*shared, 0, kind.count), AddendKind(*shared, 0, kind.count))  # fmt: skip
        top = self.chain.tracks[kind.track].top
        changed = {
            "slots": self.pick(2, 4, 8, 16, N // 2), "track": self.pick(*range(len(self.chain.tracks))),
            "level": self.pick(*range(top + 1)),
            "scale": kind.scale * self.pick(2.0, 0.5, 1 + 2.0**-17, 1 + 2.0**-23, 1 - 2.0**-18),
            "degree": 3 - getattr(kind, "degree", 1), "basis": 1 - getattr(kind, "basis", 0),
            "secret": 1 - getattr(kind, "secret", 0), "count": self.pick(1, 2, 3, 6),
        }[name]  # fmt: skip
        found = replace(kind, **{name: changed})
        return replace(found, level=min(found.level, self.chain.tracks[found.track].top))

    def wrong(self, case):
        """The instruction with one thing changed, which may be right too."""
        parts = ["results"] * bool(case.results) + ["operands"] * 2 * bool(case.operands)
        parts += ["immediate"] * bool(case.immediate) + ["more", "fewer"] + ["inner"] * 2 * bool(case.inner)
        part = self.pick(*parts)
        if part == "immediate":
            free = range(RECORDS[case.op].signature.blocks, len(case.immediate))
            if not free:
                return case
            at = self.pick(*free)
            value = self.pick(case.immediate[at] + 1, case.immediate[at] - 1, -1, 0, 2 * N, (1 << 31) + 1)
            return replace(case, immediate=(*case.immediate[:at], value, *case.immediate[at + 1 :]))
        if part in ("more", "fewer"):
            name = self.pick("operands", "results", *["immediate"] * (not case.inner))
            old = getattr(case, name)
            more = (1,) if name == "immediate" else (self.any_kind(),)
            return replace(case, **{name: old + more if part == "more" else old[:-1]})
        if part == "inner":
            number = int(self.rng.integers(len(case.inner)))
            sides = list(case.inner[number])
            side = int(self.rng.integers(2))
            sides[side] = self.one_other(sides[side])
            return replace(case, inner=(*case.inner[:number], tuple(sides), *case.inner[number + 1 :]))
        return replace(case, **{part: self.one_other(getattr(case, part))})

    def one_other(self, kinds):
        if not kinds:
            return (self.any_kind(),)
        at = int(self.rng.integers(len(kinds)))
        return (*kinds[:at], self.other(kinds[at]), *kinds[at + 1 :])

    # -- verdicts ----------------------------------------------------------------------------

    def accepted_here(self, case):
        """Whether the Python rule takes it, and its words if not."""
        try:
            check_types(RECORDS[case.op], self.use(case))
        except UserError as error:
            return False, str(error)
        return True, ""

    def accepted_by_core(self, case):
        """Whether the core's decoder takes it; None where no plan can have such operands."""
        return Written(self, case).verdict()


class Written:
    """A plan around one instruction."""

    def __init__(self, maker, case):
        self.maker = maker
        self.case = case
        keys = [
            {"kind": k.kind, "galois_element": k.galois_element, "track": k.track, "level": k.level} for k in maker.keys
        ]
        self.assembler = Assembler(keys, NUM_CONSTANTS)
        self.inputs: list = []
        self.sparse_key = next(n for n, k in enumerate(maker.keys) if k.kind == "to_sparse")

    def data(self, kind):
        """A type as plan code has it."""
        tag = {CipherKind: "cipher", DigitsKind: "digits", PlainKind: "plain", AddendKind: "addend", KeyKind: "key",
               IndexKind: "index"}[type(kind)]  # fmt: skip
        return [tag, *(getattr(kind, f.name) for f in fields(kind))]

    def input(self, kind):
        """An input of the plan, which is an index, or a cipher over Q."""
        self.inputs.append(self.data(kind))
        return len(self.inputs) - 1

    def defined(self, kind):
        """How a value of a type comes about: (input number or None, [(opcode, type, immediate)])."""
        match kind:
            case IndexKind():
                return self.input(kind), []
            case KeyKind(key):
                return None, [("key", kind, (key,))]
            case PlainKind():
                if isinstance(kind, AddendKind) and (not self.maker.is_bfv or kind.basis):
                    return None
                return (None, [("encode", kind, (0,))]) if not self.maker.is_bfv or kind.scale == 1 else None
            case DigitsKind():
                if self.maker.is_bfv and kind.scale != 1:
                    return None
                of = CipherKind(kind.slots, kind.track, kind.level, kind.scale, kind.degree, 0, 0, kind.count)
                return self.input(of), [("hoist", kind, ())]
        over_q = replace(kind, basis=0, secret=0)
        if kind.secret:
            fits = (kind.track, kind.level, kind.basis, kind.degree) == (0, 0, 0, 1) and not self.maker.is_bfv
            return (self.input(over_q), [("to_sparse", kind, ())]) if fits else None
        if kind.basis:
            return (self.input(over_q), [("extend", kind, ())]) if not self.maker.is_bfv or kind.scale == 1 else None
        return self.input(kind), []

    def made_inside(self, block, arguments, kind):
        """A register of a called block, which sees nothing of the body; None where none is of this type."""
        if kind in arguments:
            return block.args[arguments.index(kind)]
        number, steps = self.defined(kind) or (0, [])
        if number is not None:
            return block.op("iconst", [], self.data(kind), 0) if kind == INDEX else None
        ((op, _, immediate),) = steps
        return block.op(op, [], self.data(kind), *immediate)

    def verdict(self):
        case, a = self.case, self.assembler
        isolated = case.inner if case.op == "call" else ()
        wanted = [*case.operands, *(k for _, yielded in case.inner for k in yielded if not isolated)]
        ways = [self.defined(kind) for kind in wanted]
        if None in ways:
            return None
        body = a.block(self.data(INDEX), *self.inputs)
        made = []
        for number, steps in ways:
            register = None if number is None else body.args[1 + number]
            for op, kind, immediate in steps:
                operands = [] if register is None else [register]
                if op == "to_sparse":
                    operands.append(body.op("key", [], ["key", self.sparse_key], self.sparse_key))
                register = body.op(op, operands, self.data(kind), *immediate)
            made.append(register)
        given, rest = made[: len(case.operands)], made[len(case.operands) :]
        if case.op == "yield":  # of an inner block; what the body yields is its border
            other = a.block()
            other.emit("yield", given, [self.data(k) for k in case.results], case.immediate)
            last = a.block()
            last.emit("yield", given, [])
            place = (1, 0)
            body.emit("if", [body.args[0]], [self.data(k) for k in case.operands], (1, 2))
        else:
            for arguments, yielded in isolated:
                inner = a.block(*(self.data(k) for k in arguments))
                made = [self.made_inside(inner, arguments, kind) for kind in yielded]
                if None in made:
                    return None
                inner.yield_(*made)
            for arguments, yielded in () if isolated else case.inner:
                inner = a.block(*(self.data(k) for k in arguments))
                inner.yield_(*rest[: len(yielded)])
                rest = rest[len(yielded) :]
            place = (0, len(a.blocks[0]["code"]))
            body.emit(case.op, given, [self.data(k) for k in case.results], case.immediate)
        body.yield_()
        try:
            a.plan(core_parameters(self.maker.chain))
        except FormatError as error:
            text = str(error)
            assert f"block {place[0]}, instruction {place[1]} " in text, f"{text} for {case}"
            return False, text
        return True, ""
