"""decide: what stands at every use of every value of a program under CKKS.

In: a `vec` module. Out: its `LevelPlan`; no operation is created but the copies of loops that spend levels.
Rescaling and relinearisation are lazy: a product stays at its doubled scale and degree while it is only added to its
like, and is settled (relinearised, rescaled) before anything else reads it. Settled values lie on the ladder of
canonical scales, and so do carried values, inputs and outputs.
Where values come down for the sake of lower ones is one of three rules (`techniques.Rescaling`), of which the one that
takes least time looks at two plans (`early_rescale`, `rescale_timing`).
Source: waterline rescaling as in EVA (PLDI'20); proactive rescaling as in Hecate (CGO'22); type matching of loops as in
HALO (ASPLOS'25).
Cost: O(ops), times the copies of loops that spend levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from latticework.compiler.levels.depth import (
    Levels,
    carried_operands,
    depth_of,
    is_free_factor,
    is_public,
    level_after,
    levels_of,
    lowest_input_levels,
    public_value,
    spent_by,
)
from latticework.compiler.levels.early_rescale import lowest_levels
from latticework.compiler.levels.level_plan import (
    LADDER,
    PRODUCT,
    CipherState,
    Drop,
    Encode,
    LevelPlan,
    Negate,
    NumberOp,
    OpPlan,
    Scale,
    Settle,
    State,
    after,
)
from latticework.compiler.levels.operands import Operands
from latticework.compiler.levels.rescale_timing import LevelPrices, worth_lowering
from latticework.compiler.levels.unroll import with_copies
from latticework.compiler.options.techniques import ALL, PROACTIVE, WATERLINE, Techniques
from latticework.errors import LevelError
from latticework.ir import INDEX, Block, Module, Op, Value
from latticework.values.packing.channel_square import ChannelSquare
from latticework.values.packing.packed_constants import ConstRef


def decide_levels(
    module: Module,
    techniques: Techniques = ALL,
    starts: Sequence[int] | None = None,
    residual: int | None = None,
    feedback: Mapping[int, int] = {},
    prices: LevelPrices | None = None,
    ends: Mapping[int, int] = {},
) -> LevelPlan:
    """The level plan of a verified `vec` module.

    techniques  whether products are relinearised and rescaled lazily, and when values come down
    starts      level of each input; the lowest that do if not given
    residual    levels that bootstraps leave at most, for a chain with bootstraps
    feedback    numbers of outputs that go on as an input of the next run -> the number of that input, at whose level
                they have to end
    prices      by which values come down before they are computed with, where that takes less; they stay where they are
                if not given. With bootstraps all come down, for targets follow from what is read
    ends        numbers of outputs -> levels at which they have to end; where they do if not given
    raises      LevelError for a run-time loop that spends levels without `at_most`, and for what bootstraps leave fewer
                levels for than it spends
    """
    levels = levels_of(module, residual=residual)
    loops = levels.loops
    if any(plan.copies is not None for plan in loops.values()):
        module = with_copies(module, loops)
        levels = levels_of(module, residual=residual)
    if residual is not None and depth_of(module, levels) > residual:
        raise _below_floor(levels, residual)
    at = lowest_input_levels(module, levels) if starts is None else starts
    levels = levels_of(module, at, residual)
    ends = {**ends, **{number: at[of] for number, of in feedback.items()}}

    def decide(lowest: Mapping[Value, int]) -> LevelPlan:
        known = levels_of(module, at, residual, lowest=lowest) if lowest else levels
        _check_feedback(module, known, at, feedback)
        decider = Decider(known, techniques, ends)
        decider.begin(module.body.args, at)
        decider.block(module.body, decider.outputs)
        return LevelPlan(
            module, "ckks", decider.states, decider.ops, loops, depth_of(module, known), residual, bool(lowest)
        )

    lowest = lowest_levels(module, levels, -(depth_of(module, levels) if residual is None else residual), ends)
    if techniques.rescaling == WATERLINE or not lowest:
        return decide({})
    if residual is not None or techniques.rescaling == PROACTIVE:
        return decide(lowest)
    high = decide({})
    lowered = worth_lowering(high, decide(lowest), prices) if prices is not None else set()
    return decide({value: level for value, level in lowest.items() if value in lowered}) if lowered else high


def _check_feedback(module: Module, levels: Levels, starts: Sequence[int], feedback: Mapping[int, int]) -> None:
    """LevelError if an output ends below the level of the input that it is to be in the next run."""
    for number, of in feedback.items():
        value = module.body.terminator.operands[number]
        lower = starts[of] - (levels.of[value] or 0)
        if lower > 0:
            raise LevelError(
                f"compile: feed= makes the result {module.outputs[number]} the input {module.input_names[of]} of the "
                f"next run, but it ends {lower} level{'s' if lower > 1 else ''} below the one that this input has to "
                "have; carry it through a loop whose iterations spend no level, or let it be bootstrapped "
                "(bootstrap_set=)",
                at=value.owner.loc if isinstance(value.owner, Op) else None,
            )


def _below_floor(levels: Levels, residual: int) -> LevelError:
    """The error where values lie below the floor of a chain with bootstraps, at the first."""
    value = next(v for v, level in levels.of.items() if level is not None and level < -residual)
    op = value.owner
    name, at = (op.name, op.loc) if isinstance(op, Op) else ("an argument", None)
    short = -residual - (levels.of[value] or 0)
    return LevelError(
        f"{name} ends {short} level{'s' if short > 1 else ''} below the one at which bootstraps start, on a chain "
        f"where they leave {residual}; a bootstrap has to come before it",
        at=at,
    )


class Decider:
    """Decides operation by operation. What schemes have in common is here, under the rules of CKKS."""

    def __init__(self, levels: Levels, techniques: Techniques, ends: Mapping[int, int] = {}) -> None:
        self.ends = ends  # levels of outputs, by number, where they are not to be chosen
        self.levels = levels
        self.techniques = techniques
        self.states: dict[Value, State] = {}
        self.ops: dict[Op, OpPlan] = {}
        self.rules: dict[str, Callable[[Op, Operands], State]] = {
            "vec.add": self.add,
            "vec.sub": self.add,
            "vec.neg": self.as_is,
            "vec.mul": self.mul,
            "vec.take": self.as_is,
            "vec.take_at": self.as_is,
            "vec.put_at": self.put,
            "vec.sum": self.as_is,
            "vec.concat": self.concat,
            "vec.rotate": self.keep_level,
            "vec.conjugate": self.keep_level,
            "vec.times_i": self.keep_level,
            "vec.twice_real": self.keep_level,
            "vec.label": self.label,
            "vec.linear_transform": self.spending,
            "vec.polynomial": self.polynomial,
        }

    def begin(self, values: Sequence[Value], levels: Sequence[int]) -> None:
        """Arguments of a block, settled at these levels."""
        for value, level in zip(values, levels, strict=True):
            self.states[value] = None if value.type is INDEX else CipherState(level)

    def block(self, block: Block, ends: Callable[[Op, Operands], None]) -> None:
        """All operations of a block; `ends` says what stands before its end."""
        for op in block.ops[:-1]:
            self.op(op)
        end = block.terminator
        operands = Operands([self.states[v] for v in end.operands])
        ends(end, operands)
        self.ops[end] = OpPlan(end.name, tuple(range(len(end.operands))), tuple(operands.steps))

    def op(self, op: Op) -> None:
        """One operation."""
        if op.name == "loop.for":
            self.loop(op)
        elif op.name == "loop.if":
            self.branch(op)
        elif op.name == "vec.bootstrap":
            self.bootstrap(op)
        elif op.name.startswith("loop."):
            self.states[op.result] = None
            self.ops[op] = OpPlan(op.name, tuple(range(len(op.operands))))
        elif op.name in ("vec.constant", "vec.splat", "vec.row", "vec.trivial"):
            self.states[op.result] = None
            self.ops[op] = OpPlan("")
        else:
            operands = Operands([self.states[v] for v in op.operands])
            if not is_public(op) and all(state is None for state in operands.states):
                operands.encrypt(next(i for i, v in enumerate(op.operands) if v.is_secret))
            self.states[op.result] = self.rule(op)(op, operands)

    def rule(self, op: Op) -> Callable[[Op, Operands], State]:
        """The rule by which an operation is decided."""
        return self.rules[op.name]

    def write(
        self, op: Op, name: str, operands: Operands, state: State, reads: tuple[int, ...] | None = None,
        then: Settle | None = None,
    ) -> State:  # fmt: skip
        """Note what is written for an operation; returns how its value is made."""
        reads = tuple(range(len(op.operands))) if reads is None else reads
        self.ops[op] = OpPlan(name, reads, tuple(operands.steps), then)
        return state if then is None else after(state, then)

    # -- sums and moves ------------------------------------------------------------------------

    def as_is(self, op: Op, operands: Operands) -> State:
        """Decide an operation that acts on ciphertexts of any state."""
        operands.encrypt(0)
        return self.write(op, f"rlwe.{op.name.removeprefix('vec.')}", operands, operands.cipher(0))

    def keep_level(self, op: Op, operands: Operands) -> State:
        """Decide an operation that acts on settled ciphertexts, and stays on their level."""
        self.enter(op, operands, 0)
        return self.write(op, f"rlwe.{op.name.removeprefix('vec.')}", operands, operands.cipher(0))

    def add(self, op: Op, operands: Operands) -> State:
        """Add or subtract; unsettled operands of one kind stay unsettled."""
        a, b = operands.states
        if a is None or b is None:
            return self.add_public(op, operands)
        if (a.level, a.scale) != (b.level, b.scale):
            operands.meet()
        a, b = operands.cipher(0), operands.cipher(1)
        larger = a if a.degree >= b.degree else b
        return self.write(op, f"rlwe.{op.name.removeprefix('vec.')}", operands, larger)

    def add_public(self, op: Op, operands: Operands) -> State:
        """A public addend; what is subtracted from one is negated first."""
        cipher, public = (1, 0) if operands.states[0] is None else (0, 1)
        is_difference = op.name == "vec.sub"
        if is_difference and cipher == 1:
            operands.step(cipher, Negate())
        minus = is_difference and cipher == 0
        self.before_addend(operands, cipher)
        state = operands.cipher(cipher)
        if isinstance(public_value(op.operands[public]), ConstRef):
            operands.step(public, Encode(state.level, addend=True))
            return self.write(op, self.plain_sums[minus], operands, state, (cipher, public))
        return self.write(op, NumberOp.MINUS if minus else NumberOp.PLUS, operands, state, (cipher, public))

    plain_sums = ("rlwe.add_plain", "rlwe.sub_plain")

    def before_addend(self, operands: Operands, cipher: int) -> None:
        """Addends are encoded at the scale of the ladder."""
        operands.settle(cipher)

    def concat(self, op: Op, operands: Operands) -> State:
        """Join arrays; unsettled ones of one kind stay unsettled."""
        if operands.states[0] is None or len(set(operands.states)) > 1:
            operands.meet()
        return self.write(op, "rlwe.concat", operands, operands.cipher(0))

    def put(self, op: Op, operands: Operands) -> State:
        """A part of an array replaced: both are brought to one state, the lower level."""
        array, part = operands.states[:2]
        if array is None or array != part:
            operands.meet(2)
        return self.write(op, "rlwe.put_at", operands, operands.cipher(0))

    def enter(self, op: Op, operands: Operands, number: int) -> None:
        """An operand settled, no higher than the result wants it."""
        operands.settle(number)
        lowest = self.levels.lowest.get(op.result)
        if lowest is not None and operands.cipher(number).level > (level := lowest + spent_by(op)):
            operands.step(number, Drop(level))

    # -- products --------------------------------------------------------------------------------

    def mul(self, op: Op, operands: Operands) -> State:
        """Multiply; the product is left unsettled, as far as that is wanted."""
        if None in operands.states:
            return self.mul_public(op, operands)
        if op.operands[0] is op.operands[1]:
            return self.square(op, operands)
        operands.meet()
        for number in (0, 1):
            self.enter(op, operands, number)
        product = CipherState(operands.cipher(0).level, PRODUCT, 2)
        return self.product(op, "ckks.mul", operands, product, (0, 1))

    def square(self, op: Op, operands: Operands) -> State:
        """Multiply a value with itself."""
        self.enter(op, operands, 0)
        product = CipherState(operands.cipher(0).level, PRODUCT, 2)
        return self.product(op, "ckks.square", operands, product, (0,))

    def mul_public(self, op: Op, operands: Operands) -> State:
        """A product with a constant, or a number; small integers take no level."""
        cipher, public = (1, 0) if operands.states[0] is None else (0, 1)
        factor = public_value(op.operands[public])
        assert factor is not None, "public vectors are computed with before levels are decided"
        if not isinstance(factor, ConstRef) and is_free_factor(factor):
            return self.product(op, NumberOp.TIMES_INTEGER, operands, operands.cipher(cipher), (cipher, public))
        self.enter(op, operands, cipher)
        level = operands.cipher(cipher).level
        if isinstance(factor, ConstRef):
            operands.step(public, Encode(level))
        name = "rlwe.mul_plain" if isinstance(factor, ConstRef) else NumberOp.TIMES
        return self.product(op, name, operands, CipherState(level, PRODUCT), (cipher, public))

    def product(self, op: Op, name: str, operands: Operands, state: CipherState, reads: tuple[int, ...]) -> State:
        """A product, settled at once where that is not left for later."""
        relinearize = not self.techniques.lazy_relinearization and state.degree > 1
        is_lazy = self.techniques.lazy_rescaling and self.techniques.rescaling != PROACTIVE
        rescale = not is_lazy and state.scale != LADDER
        then = Settle(relinearize, rescale, summed=False) if relinearize or rescale else None
        return self.write(op, name, operands, state, reads, then)

    def label(self, op: Op, operands: Operands) -> State:
        """A value that is read by another scale."""
        operands.settle(0)
        scale = Scale(1, abs(op.attrs["factor"]))
        return self.write(op, NumberOp.LABEL, operands, CipherState(operands.cipher(0).level, scale))

    def polynomial(self, op: Op, operands: Operands) -> State:
        """A polynomial: squares are products, whatever they stand for."""
        is_square = isinstance(op.attrs["polynomial"], ChannelSquare)
        return self.square(op, operands) if is_square else self.spending(op, operands)

    def spending(self, op: Op, operands: Operands) -> State:
        """An operation that is expanded later and ends settled, some levels down."""
        self.enter(op, operands, 0)
        is_map = op.name == "vec.linear_transform"
        spent = 1 if is_map else op.attrs["polynomial"].depth
        name = f"ckks.{op.name.removeprefix('vec.')}"
        return self.write(op, name, operands, CipherState(operands.cipher(0).level - spent))

    def bootstrap(self, op: Op) -> None:
        """Vectors at the level where bootstraps start, onto the ladder at that of their target."""
        residual = self.levels.residual
        assert residual is not None, "levels of bootstraps are known with those that they leave"
        operands = Operands([self.states[v] for v in op.operands])
        self.bring_all(operands, [-residual] * len(op.operands))
        self.write(op, "ckks.bootstrap", operands, None)
        self.begin(op.results, [level_after(op, residual)] * len(op.results))

    # -- blocks ------------------------------------------------------------------------------------

    def loop(self, op: Op) -> None:
        """A loop that stays: what it carries lies on the same level at every end of its body."""
        plan = self.levels.loops[op]
        assert plan.copies is None, "loops that spend levels are copies already"
        operands = Operands([self.states[v] for v in op.operands])
        first = len(op.operands) - len(carried_operands(op))
        for number, level in enumerate(plan.carried, first):
            operands.bring(number, level)
        self.write(op, op.name, operands, None)
        block = op.regions[0].block
        self.states[block.args[0]] = None
        self.begin(block.args[1:], plan.carried)
        self.block(block, lambda _end, yielded: self.bring_all(yielded, plan.carried))
        self.begin(op.results, plan.results)

    def branch(self, op: Op) -> None:
        """Both sides of a condition end on the same levels."""
        operands = Operands([self.states[v] for v in op.operands])
        for number in range(1, len(op.operands)):
            operands.encrypt(number)
            operands.settle(number)
        self.write(op, op.name, operands, None)
        results = [self.levels.of[v] or 0 for v in op.results]
        for region in op.regions:
            self.begin(region.block.args, [operands.cipher(i).level for i in range(1, len(op.operands))])
            self.block(region.block, lambda _end, yielded: self.end_branch(yielded, results))
        self.begin(op.results, results)

    def end_branch(self, yielded: Operands, levels: Sequence[int]) -> None:
        """Settle all that a side yields, before any of it is dropped to its level."""
        for number in range(len(yielded.states)):
            yielded.encrypt(number)
            yielded.settle(number)
        self.bring_all(yielded, levels)

    def bring_all(self, operands: Operands, levels: Sequence[int]) -> None:
        """All operands to their levels."""
        for number, level in enumerate(levels):
            operands.bring(number, level)

    def outputs(self, end: Op, operands: Operands) -> None:
        """Outputs are settled, but for those with a scale of their own."""
        for number in range(len(operands.states)):
            operands.encrypt(number)
        for number, value in enumerate(end.operands):
            if isinstance(value.owner, Op) and value.owner.name == "vec.label":
                continue
            operands.settle(number)
            if number not in self.ends:
                continue
            if operands.cipher(number).level < self.ends[number]:
                raise LevelError(f"levels: output {number} ends below the level that it is to have", at=end.loc)
            operands.bring(number, self.ends[number])
