"""`lw.torch.prepare(model, data, labels, budget=)`: the most accurate form of a module that is within a budget."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import latticework as lw
from latticework.ir.location import Loc
from latticework.report.tuning_curve import TuningCurve, TuningPoint
from latticework.torch import Budget

AT = Loc("model", 1)
QUICK = {"ring_degree": 2048, "insecure": True}


@pytest.fixture(scope="module")
def trained():
    torch.manual_seed(0)
    x = torch.randn(120, 4)
    y = (x[:, :2].sum(1) > 0).long()
    module = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    optimizer = torch.optim.Adam(module.parameters(), 0.05)
    for _ in range(40):
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(x), y).backward()
        optimizer.step()
    return module.eval(), x, y


def searched(module, x, y, budget, **more):
    return lw.torch.prepare(module, x, y, budget=budget, epochs=2, options=QUICK, **more)


@pytest.mark.slow
def test_the_best_within_a_budget(trained):
    module, x, y = trained
    before = {name: value.clone() for name, value in module.state_dict().items()}
    random = torch.random.get_rng_state()
    found = searched(module, x.numpy(), y, "1 s, 2 GB")
    assert torch.equal(torch.random.get_rng_state(), random)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    rows = found.rows
    (chosen,) = [row for row in rows if row["chosen"]]
    within = [row for row in rows if row["fits"]]
    assert chosen["fits"] and chosen["seconds"] <= 1.0 and chosen["memory_bytes"] <= 2e9
    assert chosen["accuracy"] == max(row["accuracy"] for row in within) >= 0.9
    costs = [row["seconds"] for row in rows if row["seconds"] is not None]
    assert costs == sorted(costs)
    program = lw.from_torch(found.module, x[:1])
    model = lw.compile(program, calibrate=x.numpy(), precision_bits=8, bootstrap="never", **QUICK)
    assert model.plan.chain.main.top == chosen["levels"]
    assert (model.simulate(x[:1].numpy())[0].argmax() == found.module(x[:1]).argmax()).all()
    again = searched(module, x, y, "1 s, 2 GB")
    assert [row["accuracy"] for row in again.rows] == [row["accuracy"] for row in rows]
    same = zip(found.module.state_dict().values(), again.module.state_dict().values(), strict=True)
    assert all(torch.equal(one, other) for one, other in same)
    assert "Within 1 s, 2 GB" in str(found) and "degree 2" in str(found)


@pytest.mark.slow
def test_a_budget_that_nothing_meets_names_the_cheapest(trained):
    with pytest.raises(lw.UserError, match=r"nothing fits budget='1 ms, 10 KB': the cheapest .*degree 2\) takes .*MB"):
        searched(*trained, "1 ms, 10 KB")


def test_what_does_not_fit_is_refused(trained):
    module, x, y = trained
    for data, labels, said in (
        (x[:, :3], y, r"does not take data of shape \(120, 3\)"),
        (x[:5], y[:5], "at least 20 rows"),
        (x, y[:7], "7 labels for 120 rows"),
        (x, y + 5, "classes from 5 to 6"),
    ):
        with pytest.raises(lw.UserError, match=said):
            searched(module, data, labels, "1 s")


def test_budgets():
    assert Budget.parse("200 ms, 2GB", AT) == Budget("200 ms, 2GB", 0.2, 2 * 10**9)
    assert Budget.parse("2 min", AT).seconds == 120.0 and Budget.parse("512 MiB", AT).memory_bytes == 2**29
    assert Budget.parse("1 s, 1 GB", AT).shares(0.5, 3 * 10**9) == 3.0
    for text in ("", "1", "1 s, 2 s", "x GB", "1 GB, 2 GB", "-1 s", "0 s"):
        with pytest.raises(lw.UserError, match="prepare: budget="):
            Budget.parse(text, AT)


def test_the_curve_is_a_table_and_a_drawing():
    points = (
        TuningPoint("own", (2,), "average", 3, 0.1, 10**7, 0.9, True),
        TuningPoint("silu", (3, 2), "average", 4, 0.4, 10**8, 0.95),
        TuningPoint("<b>", (2,), "keep", note="no plan: it is <deep>"),
    )
    curve = TuningCurve(points, points[0], 0.97, "0.2 s")
    table, page = str(curve), curve.to_html()
    assert all(word in table for word in ("97 %", "own, degree 2, pools average", "400 ms", "95 %", "over", "no plan"))
    assert page.count("<circle") == 2 and "<b>" not in page and "&lt;deep&gt;" in page and 'role="img"' in page
    assert [row["chosen"] for row in curve.rows] == [True, False, False]


def test_without_pytorch_it_says_so():
    code = "import sys; sys.modules['torch'] = None\nimport latticework as lw\ntry: lw.torch\n"
    code += (
        "except lw.errors.MissingPackageError as error: assert 'needs PyTorch' in str(error)\nelse: raise SystemExit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_pools_and_numbers():
    torch.manual_seed(1)
    x = torch.randn(60, 1, 4, 4)
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2, 1)).eval()
    found = searched(module, x, x.mean((1, 2, 3)).numpy(), "1 s", pools="average")
    assert {row["pools"] for row in found.rows} == {"average"}
    assert np.isfinite([row["accuracy"] for row in found.rows if row["fits"]]).all()
