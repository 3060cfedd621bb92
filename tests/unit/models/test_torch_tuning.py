"""Modules with polynomials in the place of functions: trained by PyTorch, imported as they are."""

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import tuned_nets as nets
from numpy.polynomial import Chebyshev
from torch_nets import Mlp, made

import latticework as lw
from latticework.errors import RangeError, TraceError, UnsupportedError
from latticework.models.finetuning.trainable_polynomial import chebyshev

SOURCE = Path(nets.__file__).read_text().splitlines()


def rows(count=64, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(count, 6)).astype(np.float32))


def line_of(text):
    return next(number for number, line in enumerate(SOURCE, start=1) if text in line)


def trained(prepared, x, steps=5):
    """A few steps towards other outputs."""
    prepared.train()
    optimizer = torch.optim.Adam(prepared.parameters(), 1e-2)
    for _ in range(steps):
        loss = (prepared(x) - 1.0).square().mean() + lw.torch.range_loss(prepared)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return prepared.eval()


def test_module_and_program_compute_the_same():
    x = rows()
    prepared = lw.torch.prepare(made(nets.Mixed), x[:1], x, degree=[3, 5, 3, 3, 2, 2, 4, 3])
    fitted = [function.coefficients.detach().clone() for function in prepared.functions]
    trained(prepared, x)
    assert all(not torch.equal(f.coefficients, before) for f, before in zip(prepared.functions, fitted, strict=True))
    program = lw.from_torch(prepared, x[:1])
    assert program.graph.name == "Mixed" and [given.name for given in program.graph.inputs] == ["x"]
    by_module = prepared.double()(x.double()).detach().numpy()
    np.testing.assert_allclose(program(x.numpy()), by_module, atol=1e-12)


def test_the_plan_computes_what_the_module_does():
    x = rows()
    prepared = trained(lw.torch.prepare(made(Mlp), x[:1], x, degree=3), x)
    by_module = prepared(x).detach().numpy()
    program = lw.from_torch(prepared, x[:1])
    model = lw.compile(program, calibrate=x.numpy(), precision_bits=12, ring_degree=2048, insecure=True)
    assert not model.plan.approximations  # nothing is left to approximate
    assert np.abs(model.simulate(x.numpy())[0] - by_module).max() <= 2.0**-12 * np.abs(by_module).max()
    assert not np.allclose(by_module, prepared.module(x).detach().numpy(), atol=0.01)  # of tanh itself


def test_functions_called_in_any_way_become_polynomials_in_order():
    x = rows()
    module = made(nets.Mixed)
    prepared = lw.torch.prepare(module, x[:1], x, degree=60)
    assert tuple(function.name for function in prepared.functions) == nets.MIXED
    with torch.no_grad():
        assert (prepared(x) - module(x)).abs().max() < 0.05  # of so high a degree they are close to the functions
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), prepared.module.parameters(), strict=True))


def test_polynomials_are_fitted_where_data_are():
    x = rows()
    module = made(nets.Trained)
    (function,) = lw.torch.prepare(module, x[:1], x, degree=5).functions
    with torch.no_grad():
        given = module.norm(module.first(x)).double().numpy()
    low, high = function.interval.double().numpy()
    span = given.max() - given.min()
    np.testing.assert_allclose([low, high], [given.min() - 0.1 * span, given.max() + 0.1 * span], rtol=1e-6)
    at = np.linspace(low, high, 101)
    found = function(torch.from_numpy(at)).detach().numpy()
    assert (
        np.abs(found - np.tanh(at)).max()
        < np.abs(Chebyshev.interpolate(np.tanh, 3, (low, high))(at) - np.tanh(at)).max()
    )


@pytest.mark.parametrize("degree", [0, 1, 2, 7])
def test_the_operator_is_a_chebyshev_series_with_its_gradient(degree):
    generator = np.random.default_rng(degree)
    x = torch.tensor(generator.uniform(-3, 4, size=(3, 4)), requires_grad=True)
    coefficients = torch.tensor(generator.normal(size=degree + 1), requires_grad=True)
    interval = torch.tensor([-1.5, 2.5], dtype=torch.float64)
    exact = Chebyshev(coefficients.detach().numpy(), domain=(-1.5, 2.5))(x.detach().numpy())
    np.testing.assert_allclose(chebyshev(x, coefficients, interval).detach().numpy(), exact, atol=1e-9)
    assert torch.autograd.gradcheck(lambda x, c: chebyshev(x, c, interval), (x, coefficients))


def test_training_mode_is_that_of_the_module_and_rows_are_any_number():
    x = rows()
    prepared = lw.torch.prepare(made(nets.Trained), x[:1], x, degree=5)
    assert not prepared.training
    before = prepared.module.norm.running_mean.clone()
    prepared.train()
    assert prepared(x[:7]).shape == (7, 3) and not torch.equal(prepared(x), prepared(x))  # dropped at random
    assert not torch.equal(prepared.module.norm.running_mean, before)
    with pytest.raises(TraceError, match="norm.*drop.*call module.eval"):
        lw.from_torch(prepared, x[:1])
    program = lw.from_torch(prepared.eval(), x[:1])
    assert program.at_owner_after == ("aten.softmax.int",)  # exact, by the owner of the data
    np.testing.assert_allclose(program(x.numpy()), prepared(x).detach().numpy(), atol=1e-5)


def test_coefficients_may_stay_as_they_are_fitted():
    x = rows()
    prepared = lw.torch.prepare(made(nets.Trained), x[:1], x, trainable=False)
    (function,) = prepared.functions
    fitted, weights = function.coefficients.clone(), prepared.module.last.weight.clone()
    trained(prepared, x)
    assert torch.equal(function.coefficients, fitted) and not torch.equal(prepared.module.last.weight, weights)


def test_copies_and_pickles_compute_the_same():
    x = rows()
    prepared = trained(lw.torch.prepare(made(nets.Mixed), x[:1], x), x, steps=1)
    for other in (copy.deepcopy(prepared), pickle.loads(pickle.dumps(prepared))):
        assert torch.equal(other(x), prepared(x))
        next(iter(other.functions)).coefficients.data.zero_()
        assert not torch.equal(other(x), prepared(x))


def test_range_loss_counts_arguments_beyond_the_interval():
    x = rows()
    prepared = lw.torch.prepare(made(nets.Trained), x[:1], x, degree=5)
    with pytest.raises(lw.UserError, match="not called with gradients"):
        lw.torch.range_loss(prepared)
    prepared(x)
    assert lw.torch.range_loss(prepared, reach=1.0).item() == 0.0
    prepared(10 * x)
    with torch.no_grad():
        (function,) = prepared.functions
        low, high = function.interval
        t = (2 * prepared.module.norm(prepared.module.first(10 * x)) - low - high) / (high - low)
    beyond = (t.abs() - 0.9).clamp_min(0).square().sum() / len(x)
    assert beyond > 1 and lw.torch.range_loss(prepared).item() == pytest.approx(float(beyond), rel=1e-4)
    with pytest.raises(lw.UserError, match="has no polynomials"):
        lw.torch.range_loss(torch.nn.Linear(2, 2))


def test_recalibrated_polynomials_are_the_same_on_other_intervals():
    x = rows().double()
    prepared = lw.torch.prepare(made(Mlp).double(), x[:1], x, degree=4)
    program_before = lw.from_torch(prepared, x[:1])
    before, wider = prepared(3 * x).detach(), 3 * x.numpy()
    with pytest.raises(RangeError, match=r"torch_nets.py:\d+: polynomial: calibration data reach"):
        lw.compile(program_before, calibrate=wider, precision_bits=8, ring_degree=2048, insecure=True)
    lw.torch.recalibrate(prepared, 3 * x)
    torch.testing.assert_close(prepared(3 * x), before, rtol=1e-9, atol=1e-9)
    assert all(f.interval[0] < f._given.min() and f._given.max() < f.interval[1] for f in prepared.functions)
    with pytest.raises(lw.UserError, match="has no polynomials"):
        lw.torch.recalibrate(torch.nn.Linear(2, 2), torch.zeros(1, 2))


def test_pools_become_means_where_that_is_asked():
    x = torch.rand(16, 1, 10, 10, generator=torch.Generator().manual_seed(0))
    module, means = made(nets.Pools), made(nets.Means)
    kept, averaged = (lw.torch.prepare(module, x[:1], x, degree=31, pools=pools) for pools in ("keep", "average"))
    with torch.no_grad():
        assert (kept(x) - module(x)).abs().max() < 0.02 < (averaged(x) - module(x)).abs().max()
        assert (averaged(x) - means(x)).abs().max() < 0.02
    program = lw.from_torch(averaged, x[:1])
    assert not any("max_pool" in node.operator for node in program.graph.nodes)
    np.testing.assert_allclose(program(x.numpy()), averaged(x).detach().numpy(), atol=1e-5)
    assert sum("max_pool" in node.operator for node in lw.from_torch(kept, x[:1]).graph.nodes) == 3


def test_what_cannot_be_replaced_is_told_at_once_with_module_and_line():
    x = rows()
    with pytest.raises(UnsupportedError, match="Unfit: 3 operators cannot be replaced by polynomials") as caught:
        lw.torch.prepare(made(nets.Unfit), x[:1], x)
    told = str(caught.value)
    for text, what in (
        ("h = torch.relu(self.norm(x))", "aten.layer_norm.default (norm: {}): it is no function of one number"),
        ("h = torch.softmax(self.inner(h), dim=-1)", "aten.softmax.int ({}): it is no function of one number"),
        ("return self.last(torch.relu(0.0 * h))", "relu ({}): all arguments of relu in calibration are 0"),
    ):
        assert f"tuned_nets.py:{line_of(text)}: {what.format(text)}" in told


def test_data_that_say_nothing_are_refused():
    x = rows()
    module = made(nets.Trained)
    with pytest.raises(TraceError, match="Trained needs data .* give calibrate= a batch"):
        lw.torch.prepare(module, x[:1])
    lost = x.clone()
    lost[3, 2] = float("nan")
    with pytest.raises(UnsupportedError, match=r"tanh .*5 of 320 arguments in calibration are NaN"):
        lw.torch.prepare(module, x[:1], lost)
    with pytest.raises(UnsupportedError, match=r"tanh .*no arguments of it; give calibrate= at least one row"):
        lw.torch.prepare(module, x[:1], x[:0])
    with pytest.raises(UnsupportedError, match="degree=0 must be a whole number from 1"):
        lw.torch.prepare(module, x[:1], x, degree=0)
    with pytest.raises(lw.UserError, match=r"2 degrees for 1 functions \(tanh\)"):
        lw.torch.prepare(module, x[:1], x, degree=[3, 3])
    with pytest.raises(lw.UserError, match='give "keep" or "average"'):
        lw.torch.prepare(module, x[:1], x, pools="mean")
    with pytest.raises(TraceError, match="in training mode"):
        lw.torch.prepare(copy.deepcopy(module).train(), x[:1], x)


def test_a_forward_that_calls_others_than_before_is_refused():
    x = rows()
    prepared = lw.torch.prepare(made(nets.Fickle), x[:1], x)
    prepared(x)
    with pytest.raises(TraceError, match=re.escape("torch.relu is not called any more")):
        prepared.train()(x)


def test_training_that_went_wrong_is_refused_by_name():
    x = rows()
    prepared = lw.torch.prepare(made(nets.Trained), x[:1], x)
    prepared.functions[0].coefficients.data[1] = float("nan")
    with pytest.raises(RangeError, match=r"1 of the 4 coefficients of functions\[0\] \(tanh\) are NaN"):
        lw.from_torch(prepared, x[:1])


def test_a_parabola_is_a_square_with_what_surrounds_it():
    """Of degree 2, whose product takes one level, where a polynomial in general takes two and its argument's scaling."""
    x = rows()
    prepared = lw.torch.prepare(made(Mlp), x[:1], x, degree=2)
    prepared.functions[0].coefficients.data = torch.tensor([0.3, 0.5, -0.4])
    program = lw.from_torch(prepared, x[:1])
    by_module = prepared(x).detach().numpy()
    np.testing.assert_allclose(program(x.numpy()), by_module, atol=1e-5)
    model = lw.compile(program, calibrate=x.numpy(), precision_bits=10, ring_degree=2048, insecure=True)
    assert model.report().level_use.spent == 3
    assert np.abs(model.simulate(x.numpy())[0] - by_module).max() <= 2.0**-10 * np.abs(by_module).max()
