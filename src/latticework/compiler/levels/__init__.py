"""Scale and level management: from scheme-free vectors to ciphertexts with exact scales, by a plan made beforehand."""

from latticework.compiler.levels.bootstrap_calls import ciphertexts, count_bootstraps
from latticework.compiler.levels.critical_path import LoopSpending, Spent, loop_spending, spending
from latticework.compiler.levels.decide import decide_levels
from latticework.compiler.levels.decide_bfv import decide_levels_bfv, needs_keys
from latticework.compiler.levels.decide_without_keys import decide_without_keys
from latticework.compiler.levels.depth import program_depth
from latticework.compiler.levels.level_plan import LevelPlan
from latticework.compiler.levels.lowest_bfv import lowest_levels_bfv
from latticework.compiler.levels.origins import keep_whole_origins
from latticework.compiler.levels.write_ciphertexts import write_levels

__all__ = [
    "LevelPlan",
    "LoopSpending",
    "Spent",
    "ciphertexts",
    "count_bootstraps",
    "decide_levels",
    "decide_levels_bfv",
    "decide_without_keys",
    "keep_whole_origins",
    "loop_spending",
    "lowest_levels_bfv",
    "needs_keys",
    "program_depth",
    "spending",
    "write_levels",
]
