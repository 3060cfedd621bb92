"""Sums of trees on exact integers: the owner encrypts digits of its features, thresholds stay with the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import UserError
from latticework.frontend import Circuit, bits
from latticework.frontend.plain import plain_array
from latticework.importers.trees.leaves import Reals, TreeSplit, TreeSum
from latticework.ir.location import Loc
from latticework.owner import Finished
from latticework.owner.run import exactly, returned
from latticework.user.lines import standing_at

SUMS = "sums"
LEAF_BITS = 17  # of the largest sum of leaves, which with its sign fits the plaintext modulus of 20 bits


class FeatureGrid:
    """What digits of features say: number q is for features from low + (q - 1/2) * step on, up to the next.

    low, step  (features,), public: the owner makes digits with them
    is_whole   (features,): whose samples are whole numbers, each with a number of its own
    """

    def __init__(self, samples: Reals, digits: int) -> None:
        most = (1 << digits) - 1
        self.digits, self.low = digits, samples.min(axis=0)
        reach = samples.max(axis=0) - self.low
        self.is_whole = (samples == np.rint(samples)).all(axis=0) & (reach <= most)
        self.step = np.where(self.is_whole | (reach == 0), 1.0, reach / most)

    def numbers(self, x: Reals) -> npt.NDArray[np.int64]:
        """Digits of rows (n, features), as whole numbers from 0 to 2^digits - 1."""
        made: npt.NDArray[np.int64] = (
            np.rint((x - self.low) / self.step).clip(0, (1 << self.digits) - 1).astype(np.int64)
        )
        return made

    def least(self, split: TreeSplit) -> int:
        """The smallest number that is above a threshold, however little."""
        low, step = float(self.low[split.feature]), float(self.step[split.feature])
        number = int(np.floor((split.threshold - low) / step))
        while low + number * step > split.threshold:  # the difference was rounded
            number -= 1
        return number + 1


class TreeCircuit(Circuit):
    """A sum of trees on digits of features, compiled with scheme="bfv".

    Called with digits of one row, which `encoded` makes, it computes what is decrypted, a whole number for each output;
    `finished` makes of that what the model returns.

    results  what is computed of the sums after decryption, each of the output `SUMS`
    loc      of the model
    """

    def __init__(self, name: str, trees: TreeSum, grid: FeatureGrid, results: Sequence[Finished], loc: Loc) -> None:
        values = np.array([leaf.value for leaf in trees.leaves])
        largest = np.abs(values).max()
        self._unit = float(largest * trees.count) / (1 << LEAF_BITS) or 1.0
        self._values = np.rint(values / self._unit).astype(np.int64)
        self._trees, self.grid, self.results = trees, grid, tuple(results)

        def function(digits: Any) -> Any:
            with standing_at(loc):
                return self._sum(digits)

        function.__name__ = name
        function.__annotations__ = {"digits": bits(grid.digits, len(grid.low))}
        function.__doc__ = f"{name}, imported."
        super().__init__(function)
        self.loc = loc

    def encoded(self, x: Any) -> npt.NDArray[np.int64]:
        """Rows (n, features) as what is encrypted, (n, features) whole numbers.

        raises  UserError for other shapes, and for fractions in features that the trees compare for equality
        """
        given = plain_array(x, "encoded")
        if given.ndim != 2 or given.shape[1] != len(self.grid.low):
            raise UserError(f"encoded: rows of shape {given.shape}; give (n, {len(self.grid.low)})", at=self.loc)
        for feature in sorted(self._trees.whole):
            bad = np.flatnonzero(given[:, feature] != np.rint(given[:, feature]))
            if len(bad):
                raise UserError(
                    f"encoded: feature {feature} is compared for equality, and row {bad[0]} has "
                    f"{given[bad[0], feature]:.9g} there; give whole numbers, as the samples had",
                    at=self.loc,
                )
        return self.grid.numbers(given)

    def finished(self, values: Any) -> Any:
        """What the model returns, of sums (n, outputs) or (n,) that were decrypted; a tuple of several results."""
        outputs = self._values.shape[1]
        sums = np.asarray(values, dtype=np.float64).reshape(-1, outputs) * self._unit + self._trees.constant
        found = exactly(self.results, {SUMS: sums[:, 0] if outputs == 1 else sums})
        return returned([result.name for result in self.results], found)

    def keeps_apart(self, x: Any) -> npt.NDArray[np.bool_]:
        """Which rows (n, features) come to the same leaves by their digits as by themselves."""
        given = plain_array(x, "keeps_apart")
        numbers = self.grid.numbers(given)
        compared = given.astype(np.float32).astype(np.float64) if self._trees.is_single else given
        kept = np.ones(len(given), bool)
        for leaf in self._trees.leaves:
            both = [np.ones(len(given), bool), np.ones(len(given), bool)]
            for s in leaf.splits:
                both[0] &= (compared[:, s.feature] > s.threshold) == s.is_above
                both[1] &= (numbers[:, s.feature] >= self.grid.least(s)) == s.is_above
            kept &= both[0] == both[1]
        return kept

    def _sum(self, digits: Any) -> Any:
        """One product for each comparison but the first of a path: the other side is the rest."""
        comparisons: dict[tuple[int, int], Any] = {}
        sums: list[Any] = [0] * self._values.shape[1]

        def comes(split: TreeSplit) -> Any:
            key = split.feature, self.grid.least(split)
            if key not in comparisons:
                comparisons[key] = self._compare(digits, *key)
            return comparisons[key]

        at: dict[tuple[TreeSplit, ...], Any] = {(): 1}
        for leaf, values in zip(self._trees.leaves, self._values, strict=True):
            here = _follow(leaf.path, at, comes)
            for output, value in enumerate(values.tolist()):
                sums[output] = sums[output] + value * here
        return sums[0] if len(sums) == 1 else sums

    def _compare(self, digits: Any, feature: int, least: int) -> Any:
        """1 where a number is at least so large, 0 where it is not; public where that is known."""
        if least <= 0 or least >= 1 << self.grid.digits:
            return 1 if least <= 0 else 0
        return 1 * (digits[feature] >= least)


def _follow(path: Sequence[TreeSplit], at: dict[tuple[TreeSplit, ...], Any], comes: Any) -> Any:
    """1 where a row goes along a path, from what is known of paths that begin alike."""
    for length in range(1, len(path) + 1):
        here, before = tuple(path[:length]), tuple(path[: length - 1])
        if here in at:
            continue
        split = here[-1]
        above = (*before, TreeSplit(split.feature, split.threshold, True))
        if above not in at:
            bit = comes(split)
            at[above] = bit if isinstance(at[before], int) and at[before] == 1 else at[before] * bit
        at[*before, TreeSplit(split.feature, split.threshold, False)] = at[before] - at[above]
    return at[tuple(path)]
