"""Prices by which times are predicted that users are shown: of the machine at hand, wherever it is not said otherwise.

Nothing is chosen by them. A program compiles to the same plan with the prices of the package, whatever machine it is
compiled on; how long that plan takes is another question.
"""

from __future__ import annotations

import os
from functools import lru_cache

from latticework.plan.cost import CostModel, CostTable, default_table
from latticework.plan.machine.adapted_prices import adapt_prices
from latticework.plan.machine.kept_probe import cache_folder, probed_prices, read_kept

SWITCH = "LATTICEWORK_PRICES"  # "table": times are predicted by the table of the package, and nothing is measured
KEPT_TABLE = "cost-table.json"  # where `latticework measure` writes in the user's cache


def shown_costs(costs: CostModel | None = None) -> CostModel:
    """The prices to predict with what is shown; those of a table that the user chose stay as they are.

    The first call on a machine measures for a third of a second, unless `latticework measure` did so before.
    """
    model = costs or CostModel.load()
    shipped = default_table()
    if model.table.hash != shipped.hash or os.environ.get(SWITCH) == "table":
        return model
    return CostModel(_machine_table(), model.key_price)


def _machine_table() -> CostTable:
    """The package's table for this machine; as it is, if what was measured is of no use."""
    folder = cache_folder()
    measured = None if folder is None else read_kept(folder / KEPT_TABLE)
    if measured is not None:
        with_words = f"for this machine by `latticework measure` of {measured.date}"
    else:
        measured = probed_prices()
        with_words = f"for this machine ({measured.machine.get('cpu')}) by a quick probe of {measured.date}"
    return _adapt_shipped(measured, with_words)


@lru_cache(maxsize=4)
def _adapt_shipped(measured: CostTable, words: str) -> CostTable:
    try:
        return adapt_prices(default_table(), measured, words)
    except ValueError:
        return default_table()
