"""Sums of trees on exact integers: the owner encrypts its features in parts, thresholds stay with the server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import ApproximationWarning, UserError
from latticework.frontend import Circuit
from latticework.frontend.circuits.circuit_inputs import matrix_by_rows
from latticework.frontend.circuits.integers.integer_arithmetic import within
from latticework.frontend.recording.plain import plain_array
from latticework.ir.lines import standing_at, warn
from latticework.ir.location import Loc
from latticework.models.trees.grid import FeatureGrid
from latticework.models.trees.integer_digits import NumberParts
from latticework.models.trees.leaves import Reals, TreeSplit, TreeSum
from latticework.plan.client_steps import Finished
from latticework.plan.client_steps.run_steps import arrange_results, finish_exact
from latticework.values.inputs.column_names import Names, in_order

SUMS = "sums"
ALIKE = 2.0**-10  # of numbers, how near they are the same
TOLD = 1024  # samples that are asked whether they keep their results
LEAST_ALIKE = 0.995  # of them; where fewer do it is said
LEAF_BITS = 17  # of the largest sum of leaves, which with its sign fits the plaintext modulus of 20 bits


class TreeCircuit(Circuit):
    """A sum of trees on features in digits, compiled with scheme="bfv".

    Called with one row as `encoded` makes it, it computes what is decrypted, a whole number for each output; `finished`
    makes of that what the model returns. Other zeros and ones than `encoded` makes give the results of no row: the harm
    is the owner's own, who alone decrypts them.

    features  those that trees compare, in order: others are not encrypted
    grid      of all features
    parts     how their numbers are coded
    results   what is computed of the sums after decryption, each of the output `SUMS`
    loc       of the model
    names     of all features, by which columns of frames are taken; (): by position
    """

    is_exact = True

    def __init__(
        self, name: str, trees: TreeSum, grid: FeatureGrid, results: Sequence[Finished], loc: Loc, names: Names = ()
    ) -> None:
        self.names = names
        values = np.array([leaf.value for leaf in trees.leaves])
        largest = np.abs(values).max()
        self._unit = float(largest * trees.count) / (1 << LEAF_BITS) or 1.0
        self._values = np.rint(values / self._unit).astype(np.int64)
        self._trees, self.grid, self.results = trees, grid, tuple(results)
        self.parts = NumberParts(grid.digits)
        self._least = {s: grid.least(s, trees.is_single) for s in trees.splits}
        compared = {s.feature for s, least in self._least.items() if 0 < least < 1 << grid.digits}
        self.features = tuple(sorted(compared)) or (0,)

        def function(digits: Any) -> Any:
            with standing_at(loc):
                return self._sum(digits)

        function.__name__ = name
        function.__annotations__ = {"digits": matrix_by_rows(self.parts.size, len(self.features), low=0, high=1)}
        function.__doc__ = f"{name}, imported."
        super().__init__(function)
        self.loc = loc

    def encoded(self, x: Any) -> npt.NDArray[np.int64]:
        """Rows (n, features) as what is encrypted, (n, size, compared features) zeros and ones, as of `parts`.

        raises  UserError for other shapes, and for fractions in features that the trees compare for equality
        """
        given = self._rows(x, "encoded")
        for feature in sorted(self._trees.whole):
            bad = np.flatnonzero(given[:, feature] != np.rint(given[:, feature]))
            if len(bad):
                name = f" ({self.names[feature]})" if self.names else ""
                raise UserError(
                    f"encoded: feature {feature}{name} is compared for equality, and row {bad[0]} has a fraction "
                    "there; give whole numbers, as the samples had",
                    at=self.loc,
                )
        return self.parts.encode(self.grid.numbers(given)[:, self.features]).swapaxes(1, 2)

    def finished(self, values: Any) -> Any:
        """The model's result from decrypted sums (n, outputs) or (n,); a tuple of several results."""
        outputs = self._values.shape[1]
        sums = np.asarray(values, dtype=np.float64).reshape(-1, outputs) * self._unit + self._trees.constant
        found = finish_exact(self.results, {SUMS: sums[:, 0] if outputs == 1 else sums})
        return arrange_results([result.name for result in self.results], found)

    def keeps_apart(self, x: Any) -> npt.NDArray[np.bool_]:
        """A mask (n,) of the rows (n, features) that come to the same leaves by their digits as by themselves."""
        given = self._rows(x, "keeps_apart")
        kept = np.ones(len(given), bool)
        for itself, coded in self._arrivals(given):
            kept &= itself == coded
        return kept

    def decides_alike(self, x: Any) -> npt.NDArray[np.bool_]:
        """A mask (n,) of the rows (n, features) whose results by their digits are those of the trees on the rows.

        Numbers count as the same within 2^-10 of themselves.
        """
        given = self._rows(x, "decides_alike")
        sums = np.zeros((2, len(given), self._values.shape[1]), np.int64)
        for values, both in zip(self._values, self._arrivals(given), strict=True):
            for total, came in zip(sums, both, strict=True):
                total[came] += values
        alike = np.ones(len(given), bool)
        for wanted, found in zip(*(_tuple(self.finished(total)) for total in sums), strict=True):
            one, other = np.asarray(wanted), np.asarray(found)
            same = np.isclose(one, other, rtol=ALIKE) if one.dtype.kind == "f" else one == other
            alike &= np.all(same, axis=tuple(range(1, same.ndim)))
        return alike

    def _arrivals(self, given: Reals) -> Iterator[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]]:
        """Masks, for each leaf, of the rows that come there by themselves, and by their digits."""
        numbers = self.grid.numbers(given)
        compared = given.astype(np.float32).astype(np.float64) if self._trees.is_single else given
        for leaf in self._trees.leaves:
            itself, coded = np.ones((2, len(given)), bool)
            for s in leaf.splits:
                itself &= (compared[:, s.feature] > s.threshold) == s.is_above
                coded &= (numbers[:, s.feature] >= self._least[_above(s)]) == s.is_above
            yield itself, coded

    def _rows(self, x: Any, who: str) -> Reals:
        """Rows of all features.

        raises  UserError for other shapes
        """
        given = plain_array(in_order(x, self.names, f"{who}: what is given"), who)
        if given.ndim != 2 or given.shape[1] != len(self.grid.low):
            raise UserError(f"{who}: rows of shape {given.shape}; give (n, {len(self.grid.low)})", at=self.loc)
        return given

    def _sum(self, digits: Any) -> Any:
        """One product for each comparison but the first of a path: the other side is the rest."""
        comparisons: dict[tuple[int, int], Any] = {}
        sums: list[Any] = [0] * self._values.shape[1]
        column = {feature: number for number, feature in enumerate(self.features)}

        def comes(split: TreeSplit) -> Any:
            key = split.feature, self._least[split]
            if key not in comparisons:
                code = digits[:, column[split.feature]] if split.feature in column else ()
                comparisons[key] = self.parts.at_least(code, key[1])
            return comparisons[key]

        at: dict[tuple[TreeSplit, ...], Any] = {(): 1}
        for leaf, values in zip(self._trees.leaves, self._values, strict=True):
            here = _follow(leaf.path, at, comes)
            for output, value in enumerate(values.tolist()):
                sums[output] = sums[output] + value * here
        starts = np.cumsum([0, *(len(tree) for tree in self._trees.trees[:-1])])
        ends = [least.reduceat(self._values, starts, axis=0).sum(axis=0).tolist() for least in (np.minimum, np.maximum)]
        sums = [within(each, low, high) for each, low, high in zip(sums, *ends, strict=True)]
        return sums[0] if len(sums) == 1 else sums


def warn_of_grid(circuit: TreeCircuit, samples: Reals, importer: str) -> None:
    """Say it where a grid gives more than one in two hundred samples other results than the trees."""
    asked = samples[:: -(-len(samples) // TOLD)]
    alike = circuit.decides_alike(asked)
    if alike.mean() < LEAST_ALIKE:
        warn(
            f"{importer}: on {circuit.grid.digits} digits {np.count_nonzero(~alike)} of {len(asked)} samples get other "
            f"results than from the trees themselves: what is within a step of a threshold may be on its other side; "
            f"give more digits=",
            ApproximationWarning,
        )


def _tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _above(split: TreeSplit) -> TreeSplit:
    """The comparison that holds where a feature is above the threshold."""
    return TreeSplit(split.feature, split.threshold, True)


def _follow(path: Sequence[TreeSplit], at: dict[tuple[TreeSplit, ...], Any], comes: Any) -> Any:
    """1 where a row goes along a path, from what is known of paths that begin alike."""
    for length in range(1, len(path) + 1):
        here, before = tuple(path[:length]), tuple(path[: length - 1])
        if here in at:
            continue
        split = _above(here[-1])
        above = (*before, split)
        if above not in at:
            bit = comes(split)
            at[above] = bit if isinstance(at[before], int) and at[before] == 1 else at[before] * bit
        at[*before, TreeSplit(split.feature, split.threshold, False)] = at[before] - at[above]
    return at[tuple(path)]
