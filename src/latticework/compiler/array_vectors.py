"""Arrays become slot vectors: their layouts are chosen for some widths of vectors, and the quickest is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from typing import Any

from latticework.compiler.layout_choice import (
    USUAL_DEPTH,
    CodeCost,
    code_seconds,
    explain,
    find_layouts,
    least_ring_degree,
    may_share_sums,
    ring_degree_for,
    slots_needed,
    vector_costs,
)
from latticework.compiler.levels import program_depth, unroll
from latticework.compiler.options.compile_options import FILL, CompileOptions
from latticework.compiler.pass_order import (
    AFFINE_PASSES,
    AFFINE_PASSES_WHOLE,
    FACTORING_PASSES,
    FOLDING_PASSES,
    HOISTING_PASSES,
    LEFT_OUT,
    MATRIX_PASSES,
    MERGING_PASSES,
    MERGING_PASSES_ONCE,
    REWRITING_PASSES,
    SHARING_PASSES,
    TIDY_PASSES,
)
from latticework.compiler.passes import giant_products, pack_products, reassociate, split_products
from latticework.compiler.stage_results import Vectors
from latticework.compiler.vector_levels import to_copies, to_loops
from latticework.errors import LayoutError, UnsupportedError
from latticework.ir import Loc, Module, Value, run_passes, verify
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.lazy_dataclass import dataclass
from latticework.plan.cost.weights import LEVEL_SHARE
from latticework.plan.parameters import MAX_SLOTS
from latticework.plan.parameters.chain_without_keys import ring_without_keys
from latticework.plan.schema.placement_record import LayoutRecord
from latticework.tensor.layout import assign_layouts
from latticework.tensor.ops.lower import lower_to_vectors

SCARCE_LEVEL_SHARE = 100.0
BITS_WITHOUT_KEYS = 30  # of the modulus, a level of a program that needs no key
MOVES = ("vec.linear_transform", "vec.rotate")
MOST_ELEMENTS = 1 << 12  # of a tensor that is tried as so many vectors of a batch
BOOTSTRAP_ROTATIONS = 12  # that take as long as a bootstrap, by the levels that it leaves: 4.5 s by 14, A14


@dataclass(frozen=True)
class ArrayVectors:
    """The vectors that a module of tensors is laid out on: which layouts, and how long vectors are.

    options        of which costs, techniques, the ring and the network matter: what is sent is priced too
    exact          for integers: no factor is moved to where a scale would take it in
    scarce_levels  spend as few levels as can be found, whatever time they take
    keep_loops     none becomes copies, for bootstraps are to be placed: depth is that of one iteration of each
    residual       levels that bootstraps leave: how high values lie does not follow from the program's depth then
    feedback  numbers of outputs that are an input of the next run -> the number of that input
    rows           of a batch that go together, if there is one: slots that stay empty are for others of them
    """

    module: Module
    options: CompileOptions
    exact: bool = False
    scarce_levels: bool = False
    keep_loops: bool = False
    residual: int | None = None
    feedback: Mapping[int, int] = field(default_factory=dict)
    rows: int = 0

    def choose(self) -> Vectors:
        """Lay tensors out and lower them to vectors of the least time, which passes then improve.

        For rows of a batch these know their predicted seconds, and vectors of one element each, if there are such.
        raises  LayoutError if a tensor fits no ring
        """
        own = replace(self, module=self._merge_affine())
        seconds, depth, vectors = self._choose_width(own)
        if self.options.rows is None:
            return vectors
        usual = LayoutAttempt(own, vectors.slots, depth)
        return replace(vectors, seconds=seconds * self._rings(usual), elements=self._to_elements(own, depth, vectors))

    def _choose_width(self, own: ArrayVectors) -> tuple[float, int, Vectors]:
        """Predicted seconds, levels and vectors of the quickest layouts.

        Vectors are as long as the largest tensor needs, up to what a ring of the program's depth has, or the one asked
        for; longer where copies in slots that would be empty make products with matrices cheaper, or where layouts are
        not searched; shorter where rows of a batch would take a larger ring, and are computed on more vectors in less
        time.

        raises  LayoutError if a tensor fits no ring
        """
        module, techniques, ring_degree = own.module, self.options.techniques, self.options.ring_degree
        needed, depth = slots_needed(module) if techniques.layout_search else MAX_SLOTS, self.residual or USUAL_DEPTH
        width = min(needed, (ring_degree or ring_degree_for(depth)) // 2)
        seconds, vectors = LayoutAttempt(own, width, depth).lower()
        depth = self.residual or vectors.depth
        longest = min(needed, (ring_degree or ring_degree_for(depth)) // 2)
        if width < longest:
            seconds, vectors = LayoutAttempt(own, longest, depth).lower()
        free = (ring_degree or least_ring_degree(depth)) // 2
        if not self.rows and vectors.slots < free and techniques.rolls and may_share_sums(module, free):
            fewer, wide = LayoutAttempt(own, free, depth).lower()
            vectors = wide if fewer < seconds else vectors
        share = (ring_degree or ring_degree_for(depth)) // 2 // max(self.rows, 1)
        if self.rows and 1 <= share < vectors.slots:
            attempt, usual = LayoutAttempt(own, share, depth), LayoutAttempt(own, vectors.slots, depth)
            with suppress(LayoutError, UnsupportedError):  # some operations stay within a vector
                other, narrower = attempt.lower()
                if other * self._rings(attempt) < seconds * self._rings(usual):
                    seconds, vectors = other, narrower
        return seconds, depth, vectors

    def _to_elements(self, own: ArrayVectors, depth: int, vectors: Vectors) -> Vectors | None:
        """Vectors of one element each, for rows of a batch: all rows lie in one ciphertext, and products with public
        matrices need no rotations. None where nothing would be gained, or tensors have too many elements.

        Where nothing else needs a key, a ring does without special primes, and with few bits for each level.
        """
        options, moves = self.options, any(op.name in MOVES for op in vectors.module.walk())
        is_offered = options.rows != 1 and options.techniques.matrix_products
        if not (moves and is_offered and vectors.slots > 1 and slots_needed(own.module) <= MOST_ELEMENTS):
            return None
        ring = ring_without_keys(depth * BITS_WITHOUT_KEYS, max(self.rows, 1)) or 0
        attempt = LayoutAttempt(own, 1, max(depth - 2, 1), options.ring_degree or max(2 * self.rows, ring))
        with suppress(LayoutError, UnsupportedError):  # some operations stay within a vector
            seconds, found = attempt.lower()
            return replace(found, seconds=seconds * self._rings(attempt))
        return None

    def _rings(self, attempt: LayoutAttempt) -> float:
        """Slots of vectors of all rows by those of a ring, of which a run takes at least all; of one row, where rows
        are to fill the slots."""
        taken = 2.0 * attempt.width * max(self.rows, 1) / attempt.ring_degree
        return taken if self.options.rows == FILL else max(1.0, taken)

    def _merge_affine(self) -> Module:
        """The module with affine maps and matrices merged before layouts are chosen."""
        module, techniques, on_event = self.module, self.options.techniques, self.options.on_event
        if techniques.merged_maps and not self.exact:
            affine = AFFINE_PASSES_WHOLE if self.keep_loops else AFFINE_PASSES
            module = run_passes(module, affine, on_event=on_event)
        if self.keep_loops and techniques.reassociated and not self.exact:
            module = run_passes(module, MATRIX_PASSES, on_event=on_event)
        return module


@dataclass(frozen=True)
class LayoutAttempt:
    """A module of tensors on vectors of one width.

    wanted  the module, and what is asked for
    width   slots of a vector
    depth   levels below the top, or that bootstraps leave: operations are priced by it
    ring    degree by which they are priced; what usually holds such a depth for 0
    """

    wanted: ArrayVectors
    width: int
    depth: int
    ring: int = 0

    @property
    def ring_degree(self) -> int:
        """The ring that operations are priced for, unless vectors are longer."""
        return self.ring or self.wanted.options.ring_degree or ring_degree_for(self.depth)

    def lower(self) -> tuple[float, Vectors]:
        """Predicted seconds of the layouts, and the vectors."""
        wanted, options = self.wanted, self.wanted.options
        prices = self._prices()
        refresh = CodeCost(prices, 0.0).rotations(BOOTSTRAP_ROTATIONS, 0) if wanted.keep_loops else 0.0
        decisions = find_layouts(
            wanted.module, self.width, prices, options.techniques, scarce_levels=wanted.scarce_levels,
            level_seconds=refresh,
        )  # fmt: skip
        why = explain(wanted.module, decisions, options.priced_bits_a_second)

        def lower(placed: Module) -> Vectors:
            return self.lower_placed(placed, prices, decisions.seconds, *why)

        return decisions.seconds, replace(lower(assign_layouts(wanted.module, decisions, wanted.feedback)), lower=lower)

    def lower_placed(
        self, placed: Module, prices: Any, seconds: float, record: LayoutRecord, lines: tuple[Loc, ...]
    ) -> Vectors:
        """Lower tensors with their layouts to vectors, which passes improve.

        seconds  predicted of the layouts;  record, lines  why they are so
        """
        verify(placed)
        wanted = self.wanted
        lowered, tensors, positions = lower_to_vectors(
            placed, wanted.options.techniques.spread_sums, set(wanted.feedback.values())
        )
        made = self._share(self._pack(self._merge(self._rewrite(lowered), prices, seconds), prices))
        packs = _packs(placed.inputs), _packs(placed.body.terminator.operands)
        flat = None if wanted.exact else self._flatten(made)
        spent = program_depth(made if flat is None else flat, once=wanted.keep_loops)
        return Vectors(
            placed, made, tensors, positions, spent, self.width, *packs, record, lines, flat=flat,
            feedback=wanted.feedback,
        )  # fmt: skip

    def _prices(self) -> Any:
        """Costs of vectors of this width in the ring that holds them."""
        options = self.wanted.options
        degree = max(2 * self.width, self.ring_degree)
        return vector_costs(options.costs, degree, self.depth, options.priced_bits_a_second, options.techniques)

    def _rewrite(self, lowered: Module) -> Module:
        """Products and polynomials in their simplest form; in loops that bootstrap, less to do in an iteration."""
        techniques, on_event = self.wanted.options.techniques, self.wanted.options.on_event
        rewriting = REWRITING_PASSES if techniques.inverse_products and not self.wanted.exact else ()
        made = run_passes(lowered, (*rewriting, *FOLDING_PASSES), on_event=on_event)
        if not (self.wanted.keep_loops and techniques.hoisted_invariants and unroll.has_loops(made)):
            return made
        made = run_passes(made, HOISTING_PASSES, on_event=on_event)
        if techniques.reassociated:
            made = run_passes(made, FACTORING_PASSES, on_event=on_event)
        made = to_loops(made, on_event, whole=self.wanted.feedback)
        if techniques.reassociated:  # now that products with public numbers no longer look like levels
            again = run_passes(made, (reassociate.PASS,), on_event=on_event)
            made = (
                made
                if again is made
                else to_loops(run_passes(again, TIDY_PASSES), on_event, whole=self.wanted.feedback)
            )
        return made

    def _merge(self, made: Module, prices: Any, seconds: float) -> Module:
        """Linear maps merged, where that takes less time by the part of `seconds` that a level is worth."""
        options, keep_loops = self.wanted.options, self.wanted.keep_loops
        if not options.techniques.merged_maps or self.wanted.exact:
            return made
        share = SCARCE_LEVEL_SHARE if self.wanted.scarce_levels else LEVEL_SHARE
        level = share * seconds / (program_depth(made, once=keep_loops) + 2)
        merging = MERGING_PASSES_ONCE if keep_loops else MERGING_PASSES
        return run_passes(made, merging, CodeCost(prices, level), on_event=options.on_event)

    def _pack(self, made: Module, prices: Any) -> Module:
        """Sums of products packed in the imaginary parts of slots, and by giant steps, where that takes less time; part
        by part where they are large."""
        options = self.wanted.options
        if self.wanted.exact or self.wanted.keep_loops:
            return made
        passes = {"complex_packing": pack_products.PASS, "giant_products": giant_products.PASS}
        chosen = [step for name, step in passes.items() if name not in options.techniques.left_out]
        seconds = partial(code_seconds, costs=prices, techniques=options.techniques)
        packed = run_passes(made, chosen, seconds, on_event=options.on_event)
        return run_passes(packed, (split_products.PASS,), on_event=options.on_event)

    def _share(self, made: Module) -> Module:
        """Rotations of inputs and outputs shared, by the techniques that are left."""
        options = self.wanted.options
        without = [LEFT_OUT.get(name) for name in options.techniques.left_out]
        return run_passes(made, tuple(p for p in SHARING_PASSES if p not in without), on_event=options.on_event)

    def _flatten(self, made: Module) -> Module:
        """The module from which levels are managed."""
        to_flat = to_loops if self.wanted.keep_loops else to_copies
        return to_flat(made, self.wanted.options.on_event, whole=self.wanted.feedback)


def _packs(values: Sequence[Value]) -> tuple[Any, ...]:
    """The packing of tensors with layouts; None for integers."""
    kinds = (v.type for v in values)
    return tuple(k.layout.pack_map(k.shape) if isinstance(k, TensorType) else None for k in kinds)
