"""The core's checker and the rules of records on instructions by chance: both take them, or both refuse."""

from collections import Counter

import numpy as np
import pytest
from instruction_cases import Maker

from latticework import _core
from latticework.plan.instructions.table import RECORDS

DRAWS, STEPS = 12, 12


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
@pytest.mark.parametrize("op", RECORDS)
def test_the_core_and_the_rule_agree(op, scheme):
    maker = Maker(np.random.default_rng([_core.opcodes()[op], len(scheme)]), scheme)
    seen = Counter()
    for _ in range(DRAWS):
        case = maker.right(op)
        if case is None:
            continue
        for tried in (case, *(maker.wrong(case) for _ in range(STEPS))):
            core = maker.accepted_by_core(tried)
            if core is None:
                continue
            here = maker.accepted_here(tried)
            assert core[0] == here[0], f"core: {core[1] or 'takes it'}\nrule: {here[1] or 'takes it'}\n{tried}"
            seen[core[0]] += 1
            assert core[0] or tried is not case or scheme not in RECORDS[op].signature.schemes
    assert seen[False] >= 5
    assert seen[True] >= 3 or scheme not in RECORDS[op].signature.schemes
