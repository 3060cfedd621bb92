"""What a plan costs before it runs: time by a cost table, operations, keys and memory."""

from latticework.cost.client import ClientCosts, Costs, client_costs
from latticework.cost.estimate import Bytes, Estimate, OperationCounts, Step, estimate
from latticework.cost.memory import PeakMemory
from latticework.cost.model import CostModel
from latticework.cost.table import CostTable, default_table, parse_table, read_table
from latticework.cost.weights import Weights, bfv_weights, ckks_weights
from latticework.cost.work import UNITS, Shape, Work, work

__all__ = [
    "UNITS",
    "Bytes",
    "ClientCosts",
    "CostModel",
    "CostTable",
    "Costs",
    "Estimate",
    "OperationCounts",
    "PeakMemory",
    "Shape",
    "Step",
    "Weights",
    "Work",
    "bfv_weights",
    "ckks_weights",
    "client_costs",
    "default_table",
    "estimate",
    "parse_table",
    "read_table",
    "work",
]
