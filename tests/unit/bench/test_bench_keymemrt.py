"""`bench keymemrt`: its networks, what it counts of other ways, what follows from rows, and all of it on a small program."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework.commands.benchmarks import suites

suites()  # puts the source tree on the path
from bench.keymemrt import models, shaped, small  # noqa: E402
from bench.keymemrt.others import Trace, Use, balanced, least_recent, low_memory  # noqa: E402
from bench.keymemrt.suite import app  # noqa: E402
from bench.keymemrt.summary import against_others, all_models, by_the_system  # noqa: E402
from bench.lenet.train import Digits, initial  # noqa: E402
from bench.rows import Row  # noqa: E402

RNG = np.random.default_rng(0)
DIGITS = Digits(RNG.uniform(0, 1, (3, 28, 28)), RNG.integers(0, 10, 3))


@pytest.fixture(params=[small.MLP, small.LOLA], ids=lambda network: network.name)
def network(request):
    weights = initial(np.random.default_rng(1), request.param.shapes)
    return request.param, {name: w.astype(np.float64) for name, w in weights.items()}


def test_gradients_are_those_of_differences(network):
    made, weights = network
    _, gradients = made.gradient(weights, DIGITS)
    assert {name: g.shape for name, g in gradients.items()} == dict(made.shapes)
    for name, gradient in gradients.items():
        place = tuple(RNG.integers(0, gradient.shape))
        losses = []
        for step in (1e-5, -1e-5):
            moved = weights[name].copy()
            moved[place] += step
            losses.append(made.gradient(weights | {name: moved}, DIGITS)[0])
        assert (losses[0] - losses[1]) / 2e-5 == pytest.approx(gradient[place], rel=1e-4, abs=1e-7)


def test_programs_compute_what_is_trained(network):
    made, weights = network
    program = {"mlp": small.mlp, "lola": small.lola}[made.name]
    image = DIGITS.images[0]
    np.testing.assert_allclose(
        program(image[None], *weights.values()), small.scores(weights, image[None])[0], atol=1e-9
    )


# Keys 0 and 1 are used in turn, each use a second after the one before; key 2 at the end, far behind.
RUN = Trace([Use((0,), 1, 1.0), Use((1,), 2, 1.0), Use((0,), 3, 1.0), Use((0, 2), 40, 1.0)], 1.0)


def test_keymemrt_loads_a_key_again_after_ten_operations():
    found = low_memory(RUN, 100, 0.5)
    assert (found.loads, found.loaded_bytes, found.peak_bytes, found.seconds) == (4, 400, 200, 5.0 + 4 * 0.5)


def test_keymemrt_reads_ahead_while_there_is_room():
    found = balanced(RUN, 100, 0.5, 3)  # the first key is there before the second one, the rest in time
    assert (found.loads, found.peak_bytes, found.seconds) == (4, 300, 5.0)
    assert balanced(RUN, 100, 3.0, 2).seconds > 5.0
    assert balanced(RUN, 100, 0.5, 1).peak_bytes == 200  # no fewer than one use needs


def test_a_cache_drops_what_was_used_least_recently():
    found = least_recent(RUN, [100, 100, 50], 200, 0.01)
    assert (found.loads, found.loaded_bytes, found.peak_bytes) == (3, 250, 200)
    assert found.seconds == pytest.approx(5.0 + 2.5)
    assert least_recent(RUN, [100, 100, 50], 100, 0.0).loads == 4


def row(case, metric, ours, **more):
    return Row(case, metric, "", ours, checked=True, **more)


def test_rows_that_follow_from_others():
    rows = [
        row("net, all in memory", "peak of the process", 1300.0),
        row("net, all in memory", "run, of all in memory", 1.0),
    ]
    for case, peak, anonymous, ratio in (("5.0 MB (least)", 5.0, 105.0, 1.2), ("20 MB", 20.0, 121.0, 1.1)):
        rows += [row(f"net, {case}", "peak of keys", peak), row(f"net, {case}", "run, of all in memory", ratio)]
        rows += [row(f"net, {case}", "anonymous memory of the process", anonymous)]
    rows += [
        row("net, KeyMemRT balanced, 60 MB", "run, of all in memory", 1.15),
        row("other, 1 MB", "peak of keys", 1.0),
    ]
    rows += [row(f"net, {mb}MB for everything", "peak of the process", float(mb)) for mb in (500, 650)]

    (found, off) = by_the_system(rows, "net")
    assert (found.case, found.ours, off.meets) == ("net, 20 MB", 21.0, True)
    slower, quicker = against_others(rows, "net")
    assert not slower.meets and quicker.meets and quicker.ours == pytest.approx(1.1 / 1.15)
    (saved,) = all_models(rows)
    assert saved.ours == pytest.approx(2.6) and saved.ratio == pytest.approx(2.6 / 1.74)
    assert not list(against_others(rows, "other")) and not list(all_models(rows[:-2]))


def tiny(_data, techniques):
    weights = np.linspace(-1, 1, 256).reshape(16, 16) / 4

    @lw.program
    def layer(x: lw.Secret[16]):
        return x @ weights

    x = np.linspace(-1, 1, 16)
    return lw.compile(layer, precision_bits=8, techniques=techniques), [x], layer(x)


def test_a_small_program_goes_through_all_of_it(monkeypatch, tmp_path):
    monkeypatch.setitem(models.MODELS, "tiny", tiny)
    words = ["--models", "tiny", "--budgets", "least", "--runs", "1", "--strategies", "powers-of-two", "--json"]
    done = CliRunner().invoke(app, [*words, "--folder", str(tmp_path)])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    rows = {(found["case"], found["metric"]): found for found in report["rows"]}
    label = next(case for case, _ in rows if case.endswith("(least)"))
    assert all(
        found["checked"] for (case, _), found in rows.items() if "KeyMemRT" not in case and "least rec" not in case
    )
    assert rows["tiny, all in memory", "error of the result"]["meets"]
    assert rows["tiny, keys powers-of-two, all in memory", "error of the result"]["meets"]
    assert rows[label, "peak of keys"]["ours"] <= rows["tiny, all in memory", "peak of keys"]["ours"] / 2
    assert rows[label, "rows read a run"]["ours"] > 0 and rows[label, "reads planned"]["meets"]


def test_plans_that_are_not_run_are_modelled(monkeypatch, tmp_path):
    monkeypatch.setitem(shaped.SHAPED, "tiny", (None, "one matrix"))
    tiny(None, lw.Techniques())[0].save(tmp_path / "tiny.lwplan")
    done = CliRunner().invoke(app, ["--models", "-", "--modelled", "tiny", "--folder", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    rows = {(found["case"], found["metric"]): found for found in json.loads(done.stdout)["rows"]}
    least = next(case for case, _ in rows if "(least)" in case)
    resident = rows["tiny-shaped, all in memory, modelled", "peak of keys"]["ours"]
    assert (
        rows[least, "peak of keys"]["ours"]
        < resident
        < rows["tiny-shaped, unseeded at the top, modelled", "peak of keys"]["ours"]
    )
    assert rows[least, "rows read a run"]["ours"] > 0 and "one matrix" in rows[least, "planned"]["details"]["network"]
    assert {found["checked"] for (_, metric), found in rows.items() if metric != "planned"} == {False}


def test_models_are_named_and_digits_asked_for(tmp_path):
    for words, said in ((["--models", "vgg"], "'vgg' is none of"), (["--models", "mlp"], "--data names an .npz")):
        done = CliRunner().invoke(app, [*words, "--folder", str(tmp_path)])
        assert done.exit_code and said in str(done.exception)
    assert not list(tmp_path.iterdir())
