"""Prices: the cost table and what it says of operations, block maps, circuits and clients."""

from latticework.cost.client import ClientCosts, Costs, client_costs
from latticework.cost.model import CostModel
from latticework.cost.table import CostTable, default_table, parse_table, read_table
from latticework.cost.weights import Weights, bfv_weights, ckks_weights
from latticework.cost.work import work
from latticework.instructions.work import UNITS, Shape, Work

__all__ = [
    "UNITS",
    "ClientCosts",
    "CostModel",
    "CostTable",
    "Costs",
    "Shape",
    "Weights",
    "Work",
    "bfv_weights",
    "ckks_weights",
    "client_costs",
    "default_table",
    "parse_table",
    "read_table",
    "work",
]
