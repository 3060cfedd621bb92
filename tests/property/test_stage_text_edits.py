"""Edits by chance in texts of stages: refused by an error of ours, or marked, with results within the stated bound."""

import random
import re

import numpy as np
import pytest
from stage_programs import ARRAYS, CIRCUITS, ROWS

import latticework as lw
from latticework.errors import UserError

EDITS = 25
TOKENS = re.compile(r"%\d+|\d+\.\d+|(?<![\w.#!])\d+\b|\"(?:vec|rlwe|ckks|bfv|tensor|scalar)\.\w+\"")


def edit(text, rnd):
    """Another number, value or operation somewhere, or a line less."""
    start, lines = text.index('"module"'), text.split("\n")
    if rnd.random() < 0.2:
        del lines[rnd.choice([i for i, line in enumerate(lines) if line.startswith("  %")])]
        return "\n".join(lines)
    token = rnd.choice(list(TOKENS.finditer(text, start)))
    said = token.group()
    if said[0] == '"':
        new = rnd.choice([other for other in TOKENS.findall(text) if other[0] == '"'])
    elif said[0] == "%":
        new = f"%{max(0, int(said[1:]) + rnd.choice([-2, -1, 1]))}"
    elif "." in said:
        new = repr(float(said) * rnd.choice([2, 0.5, 1.0000001, -1, 0]))
    else:
        new = str(max(0, int(said) + rnd.choice([-2, -1, 1, 5])))
    return text[: token.start()] + new + text[token.end() :]


def results(model, x):
    return np.concatenate([np.ravel(array) for array in np.atleast_1d(np.asarray(model.simulate(x), dtype=float))])


@pytest.mark.parametrize("name", ["layers", "exact dot", "powers"])
def test_an_edit_by_chance_is_refused_or_within_its_bound(name):
    model, rnd = {**ARRAYS, **CIRCUITS}[name](), random.Random(name)
    x = np.round(3 * ROWS[0]) if "exact" in name else ROWS[0]
    expected = np.ravel(np.asarray(model.plaintext(x), dtype=float))
    taken = 0
    for number in range(EDITS):
        stage = model.ir_stages[number % len(model.ir_stages)]
        try:
            made = lw.compile_ir(edit(model.ir(stage), rnd), model)
        except UserError:
            continue
        taken += 1
        bound = max(output.error_bound for output in made.plan.client.outputs)
        assert np.max(np.abs(results(made, x) - expected)) <= bound
        if made.plan.changes and stage != "traced":
            assert not any(output.is_proved for output in made.plan.client.outputs)
    assert taken < EDITS
