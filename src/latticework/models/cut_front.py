"""The beginning of a model that its owner computes: nodes that become steps before encryption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from latticework.lazy_dataclass import dataclass
from latticework.models.client_rules.split_steps import split_step
from latticework.models.client_rules.table_rules import SECRET, UNFIT, CannotMoveError, OwnerRules
from latticework.models.constant_folding import PublicValues
from latticework.models.imported_program import distinct, identifier
from latticework.models.model_graph import GraphInput, ModelGraph, ModelNode
from latticework.plan.client_steps import Columns, Numbers, Reshape
from latticework.plan.client_steps.stages import MAX_PIECES, Finished, Given, OwnerStages, Piece, Prepared
from latticework.plan.client_steps.step import OwnerStep, Shape, chain_shape, concatenated_shape


@dataclass(frozen=True)
class ValueOrigin:
    """The computation of a value from the owner's inputs.

    widths    of the pieces along the axis that they are joined along
    is_apart  whether steps on joined pieces are taken apart where they can be: of columns of a table
    """

    pieces: tuple[Piece, ...]
    shape: Shape
    steps: tuple[OwnerStep, ...] = ()
    dim: int = -1
    widths: tuple[int, ...] = ()
    is_apart: bool = False

    def followed_by(self, steps: tuple[OwnerStep, ...]) -> ValueOrigin:
        """The origin of the value that further `steps` make of this one."""
        shape = chain_shape(self.shape, steps)
        if len(self.pieces) == 1:
            (piece,) = self.pieces
            return replace(self, shape=shape, pieces=(replace(piece, steps=(*piece.steps, *steps)),))
        if self.is_apart and not self.steps and self.dim == -1:
            split = [split_step(step, self.widths) for step in steps]
            if all(parts is not None for parts in split):
                chains = zip(*(parts or [] for parts in split), strict=True) if split else [()] * len(self.pieces)
                pairs = zip(self.pieces, chains, strict=True)
                return replace(self, shape=shape, pieces=tuple(replace(p, steps=(*p.steps, *c)) for p, c in pairs))
        return replace(self, shape=shape, steps=(*self.steps, *steps))

    @property
    def is_given(self) -> bool:
        """Whether it is as the owner gives it."""
        return len(self.pieces) == 1 and not self.pieces[0].steps


@dataclass(frozen=True)
class OwnerFront:
    """The nodes before encryption.

    moved      their numbers
    origins    of all values that they make, and of the inputs
    reasons    why others did not move, by name
    of_tables  whether inputs are columns of a table, which are given by their names
    """

    inputs: tuple[GraphInput, ...]
    moved: set[int]
    origins: dict[str, ValueOrigin]
    reasons: dict[str, str]
    of_tables: bool = False

    @classmethod
    def of(
        cls, graph: ModelGraph, rules: OwnerRules, publics: PublicValues, asked: set[str], kept_back: set[str]
    ) -> OwnerFront:
        """The longest, trimmed to what the rules want."""
        origins = {
            i.name: ValueOrigin((Piece(identifier(i.name)),), i.shape, widths=i.shape[-1:], is_apart=rules.of_tables)
            for i in graph.inputs
        }
        candidates, wanted = set[int](), set[int]()
        reasons: dict[str, str] = {}
        for number, node in enumerate(graph.nodes):
            secrets = publics.secrets(node)
            rule = rules.by_operator.get(node.operator)
            if not secrets or rule is None or not set(secrets) <= set(origins) or node.names() & kept_back:
                continue
            try:
                if rule.joins is not None:
                    origin = _join_origins(node, [origins[name] for name in secrets], rule.joins, publics)
                    is_wanted = rule.wanted
                elif rule.before is not None and len(secrets) == 1:
                    origin = origins[secrets[0]]
                    moved_node = publics.moved_node(node, origin.shape)
                    origin = origin.followed_by(rule.before(moved_node))
                    is_wanted = rule.wanted and (rule.wants is None or rule.wants(moved_node))
                else:
                    continue
            except UNFIT as error:
                reasons.update(dict.fromkeys(node.names(), str(error)))
                continue
            candidates.add(number)
            wanted |= {number} if is_wanted else set()
            origins[node.results[0]] = origin
        moved: set[int] = set()
        read_by_moved: set[str] = set()
        for number in sorted(candidates, reverse=True):
            node = graph.nodes[number]
            if number in wanted or node.names() & asked or node.results[0] in read_by_moved:
                moved.add(number)
                read_by_moved.update(node.reads())
        made = {graph.nodes[number].results[0] for number in moved} | {i.name for i in graph.inputs}
        return cls(graph.inputs, moved, {n: o for n, o in origins.items() if n in made}, reasons, rules.of_tables)

    def unused_inputs(self, needed: set[str]) -> set[str]:
        """Inputs of which none of the values that are needed is made: users give them all the same."""
        used = {piece.given for name in needed & set(self.origins) for piece in self.origins[name].pieces}
        return {given.name for given in self.inputs if identifier(given.name) not in used}

    def in_order(self, needed: set[str]) -> list[str]:
        """Those of the values that are needed, in the order of what they are made of."""
        order = {identifier(given.name): number for number, given in enumerate(self.inputs)}
        names = [name for name in self.origins if name in needed]
        return sorted(names, key=lambda name: order[self.origins[name].pieces[0].given])

    def stages(
        self, made: ModelGraph, columns: Mapping[str, Sequence[str]], after: tuple[Finished, ...]
    ) -> OwnerStages:
        """Those of the owner, of inputs with the names that they have in the program."""
        names = distinct([identifier(given.name) for given in made.inputs])
        taken = dict(zip(names, (self.origins[given.name] for given in made.inputs), strict=True))
        named = {identifier(name) for name in ([each.name for each in self.inputs] if self.of_tables else columns)}
        used = {
            piece.given: None
            for name, origin in taken.items()
            for piece in origin.pieces
            if not origin.is_given or name != piece.given or name in named
        }
        before = [
            Prepared(
                name,
                tuple(map(_as_numbers, origin.pieces)) if self.of_tables else origin.pieces,
                origin.steps,
                origin.dim,
            )
            for name, origin in taken.items()
            if any(piece.given in used for piece in origin.pieces)
        ]
        known = {identifier(i.name): i for i in self.inputs}
        in_order = [n for n in known if n in used] if self.of_tables else list(used)
        own = {n: (known[n].name,) for n in in_order if self.of_tables and known[n].shape[-1:] == (1,)}
        given_ones = tuple(
            Given(n, known[n].shape, tuple(columns.get(known[n].name, own.get(n, ())))) for n in in_order
        )
        return OwnerStages(given_ones, tuple(before), after)


def _as_numbers(piece: Piece) -> Piece:
    """A piece of which only numbers are encrypted, where its steps take cells as they are: of columns of a table."""
    moves = all(isinstance(step, Reshape | Columns) for step in piece.steps)
    return replace(piece, steps=(*piece.steps, Numbers())) if moves else piece


def _join_origins(node: ModelNode, origins: list[ValueOrigin], joins: Any, publics: PublicValues) -> ValueOrigin:
    """Several values along an axis; those that are joined so already, piece by piece."""
    moved = publics.moved_node(node, origins[0].shape)
    parts = moved.args[0] if moved.args and isinstance(moved.args[0], tuple | list) else moved.args
    if any(part is not SECRET for part in parts):
        raise CannotMoveError("it joins public values too")
    dim = joins(moved)
    pieces, widths = list[Piece](), list[int]()
    for origin in origins:
        if len(origin.pieces) > 1 and (origin.steps or origin.dim != dim):
            raise CannotMoveError("it joins what is joined otherwise")
        pieces += origin.pieces
        widths += origin.widths if len(origin.pieces) > 1 else [origin.shape[dim]]
        if len(pieces) > MAX_PIECES:
            raise CannotMoveError(f"it joins more than {MAX_PIECES} parts")
    shape = concatenated_shape([origin.shape for origin in origins], dim)
    return ValueOrigin(tuple(pieces), shape, (), dim, tuple(widths), origins[0].is_apart)
