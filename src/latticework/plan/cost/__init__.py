"""Prices: the cost table and what it says of operations, block maps, circuits and clients."""

from latticework.plan.cost.client_cost import ClientCosts, Costs, client_costs
from latticework.plan.cost.cost_model import CostModel
from latticework.plan.cost.operation_work import work
from latticework.plan.cost.table import CostTable, default_table, parse_table, read_table
from latticework.plan.cost.weights import Weights, bfv_weights, ckks_weights
from latticework.plan.instructions.work_units import UNITS, Shape, Work

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
