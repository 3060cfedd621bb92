"""The benchmark of GPUs: what is counted on a simulated device, what bounds say, and what times are made into."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from latticework import _core
from latticework.commands.benchmarks import suites
from latticework.errors import UserError

bench_suites = suites()  # puts the source tree on the path
from bench.gpu import models as gpu_models  # noqa: E402
from bench.gpu import part as gpu_part  # noqa: E402
from bench.gpu.equality import equal  # noqa: E402
from bench.reports import Row, rounded  # noqa: E402
from bench.xehe import bounds, ladder, matrices, networks, operations, rates, routines  # noqa: E402
from bench.xehe.bounds import Switch, bounded, transform_bytes  # noqa: E402
from bench.xehe.parts import PARTS, conditions  # noqa: E402
from bench.xehe.place import Place  # noqa: E402
from bench.xehe.published import density, of_rung  # noqa: E402

RATES = rates.Rates(3e12, 7e12, 3e13, 1e13, 2e-6, 3e-6, 1e-6)


@pytest.fixture
def sim():
    """Before it other tests may have made the device fail."""
    return Place.of("sim")


@pytest.fixture
def timed(monkeypatch, sim):
    """The simulated device as one whose times count, of known rates."""
    monkeypatch.setattr(Place, "is_timed", property(lambda place: True))
    for module in (rates, bounds, ladder):
        monkeypatch.setattr(module, "rates", lambda place: RATES)
    return sim


def no_times(rows):
    return all(row.unit not in ("s", "ms", "us") or row.ours is None for row in rows)


def test_a_suite_says_no_times_of_a_simulation():
    result = CliRunner().invoke(bench_suites.suite("xehe"), ["--device", "sim", "--parts", "rates,matrices", "--json"])
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert {row["metric"] for row in content["rows"] if row["ours"] is not None} == {"launches"}
    assert content["conditions"]["rates"] is None and content["conditions"]["device"]["kind"] == "sim"
    assert all(row["checked"] for row in content["rows"] if row["metric"] == "launches")


def test_options_that_are_none_are_refused():
    for words in (["--device", "tpu"], ["--arithmetic", "f16"], ["--parts", "all"]):
        assert CliRunner().invoke(bench_suites.suite("xehe"), words).exit_code == 2


def test_every_rate_has_a_row_with_the_kernels_carried_out(sim):
    found = list(rates.rows(sim))
    assert len(found) == 7 and all(row.ours is None and row.note for row in found)


def test_launches_of_a_graph_are_carried_out_in_every_replay():
    ring = rates.ring_of("sim-fp64-forward")
    simulated = _core.SimulatedDevice("sim-fp64-forward")
    simulated.reset_counters()
    _core.rate_seconds(ring, "copy", 4096, 1, 3, 2)
    assert simulated.counters()["launches"]["rate_copy"] == 1 + 3 * 3  # once before, and a replay that is not timed
    with pytest.raises(ValueError, match="multiple of 1024"):
        _core.rate_seconds(ring, "copy", 100)


def test_bounds_are_bytes_over_the_copy_bandwidth(timed):
    """28 + 7 limbs in 4 digits at N = 2^16: 446 limbs of 512 KiB at least for a product."""
    switch = Switch(16, 28, 7, 4)
    assert switch.product()[0] == 446 * 2**19 and switch.rotation()[0] == 392 * 2**19
    assert switch.product()[1] - switch.product()[0] == (280 + 140) * 2**19
    row = bounded(timed, "c", 156e-6, switch.product(), name="product", host=1.0, checked=True)
    assert row.details["bounds"][0] == pytest.approx(77.9, abs=0.1) and row.details["share of the least"] < 0.5
    assert (row.ours, row.target, row.reference, row.meets) == (pytest.approx(156), 300, 1e6, True)
    assert transform_bytes(16, 2) == 4 * 2**19


def test_transforms_of_a_key_switch_are_those_of_its_steps():
    """3 limbs and 1 of P in 3 digits: one inverse each, 2 + 1 for each digit, and both sums back."""
    assert Switch(10, 3, 1, 3).transforms() == 3 + 3 * 3 + 2 * (1 + 3)
    assert Switch(10, 3, 1, 3).transforms(1) == 3 + 3 * 3 + 2 * (2 + 2)


def test_operational_density_is_that_of_the_paper():
    assert density(2, 15, 15) == pytest.approx(of_rung("operational_density", "naive")[0])
    assert density(8, 15, 2) == pytest.approx(of_rung("operational_density", "radix-8")[0], abs=0.01)
    assert of_rung("efficiency", "radix-8") == (0.668, {"XeHE, devices 1 and 2": [0.341, 0.668]})
    assert of_rung("efficiency", "a form of ours") == (None, {})


def test_rungs_say_their_radix():
    found = [ladder.Rung(name).radix for name in ("naive", "radix-2-shuffle-16", "radix-16", "as built")]
    assert found == [2, 2, 16, None]
    assert ladder.Rung("radix-8", 2).name == "radix-8, two queues on one device"


@pytest.mark.parametrize("queues", [1, 2])
def test_transforms_on_queues_are_counted(queues):
    ring = rates.ring_of("sim-u64-forward", 11, 2)
    loop = _core.TransformLoop(ring, [0, 1], 2, queues)
    place = Place.of("sim", "u64")
    assert place.counts(loop.run)["launches"] == queues
    assert place.counts(lambda: loop.run(3, is_inverse=True))["launches"] == 3 * queues
    with pytest.raises(ValueError, match="as many polynomials for each queue"):
        _core.TransformLoop(ring, [0], 1, 2)


def test_the_ladder_has_every_rung_with_both_arithmetics(sim):
    found = list(ladder.rows(sim))
    per_rung = [row for row in found if row.metric == "launches"]
    assert all(row.checked for row in per_rung) and no_times(found)
    names = getattr(_core, "transform_names", lambda: ["as built"])()
    assert len(per_rung) == 2 * (len(names) + 1)
    assert per_rung[len(names)].case.endswith("two queues on one device, u64")


def test_times_of_the_ladder_are_set_beside_bounds_and_the_paper(timed, monkeypatch):
    monkeypatch.setattr(ladder, "INSTANCES", 2)
    monkeypatch.setattr(ladder, "LIMBS", 1)
    monkeypatch.setattr(ladder, "CALLS", 1)
    monkeypatch.setattr(ladder, "passes", lambda arithmetic, rung: 2)
    found = list(ladder.rung_rows(Place.of("sim", "u64"), "u64", ladder.Rung("as built"), [1.0]))
    shares = ["share of the arithmetic peak", "share of the bound of its passes"]
    assert [row.metric for row in found] == ["time", "speed-up over naive", *shares]
    time = found[0]
    assert found[3].ours == pytest.approx(time.details["share of the least"], rel=1e-3)
    assert time.details["bounds"] == [rounded(1e6 * 2 * transform_bytes(15, 2) / RATES.copy)]
    assert found[1].ours == pytest.approx(1e6 / time.ours)
    assert found[2].ours == pytest.approx(2 * 15 * 2**14 * 10 / (time.ours / 1e6) / RATES.multiply_add)


@pytest.mark.parametrize("way", ["in two", "fused", "at once"])
def test_a_product_of_matrices_is_that_of_the_numbers(way):
    (product, _) = small_product()
    assert product.is_right(way)


def small_product():
    random = np.random.default_rng(1)
    shape = (2, 3, 2)
    parameters = matrices.ckks.Parameters(1024, [45, 40], scale_bits=40, insecure=True)
    secret = matrices.ckks.KeyGenerator(parameters).secret_key()
    factors = random.uniform(-1, 1, (2, 2, matrices.SLOTS)), random.uniform(-1, 1, (2, 3, matrices.SLOTS))
    product = matrices.Product(shape, parameters, secret, *factors)
    return replace(product, parameters=parameters.on(device="sim")), product


def test_products_take_fewer_launches_where_more_is_done_at_once(sim):
    """And give the same bytes: a sum of products has one residue, however it is reduced."""
    product, at_home = small_product()
    factors = product.encrypted("fused")
    two, one, all_at_once = (
        sim.counts(lambda way=way: product.multiplied(factors, way))["launches"]
        for way in ("in two", "fused", "at once")
    )
    assert two > one > all_at_once == 1
    assert [stored(product, factors, way) for way in ("in two", "at once")] == [stored(product, factors, "fused")] * 2
    left, right = at_home.encrypted("fused")
    for way, reason in (("fused", "not those of the shape"), ("at once", "only devices")):
        with pytest.raises(ValueError, match=reason):
            at_home.multiplied((left[way == "fused" :], right), way)


def stored(product, factors, way):
    found = product.multiplied(factors, way)
    return bytes(_core.save_ciphertexts(None, found, [str(i) for i in range(len(found))], {}))


def test_from_numbers_to_numbers_launches_do_not_grow_with_the_matrices(sim):
    """Nor does the host wait for each element."""
    (product, _) = small_product()
    more = replace(product, shape=(4, 3, 2), left=np.concatenate([product.left] * 2))
    small, large = (sim.counts(lambda p=p: p.run("at once")) for p in (product, more))
    assert small["kernels"] == large["kernels"] and small["host_waits"] == large["host_waits"]
    assert large["bytes_down"] == 12 * 8 * matrices.SLOTS + 2 * 8  # numbers, and a verdict for each factor


def test_times_of_products_of_matrices_have_gains(timed, monkeypatch):
    monkeypatch.setattr(matrices, "SHAPES", {"10x9x8": (1, 1, 2)})
    found = list(matrices.rows(timed))
    assert len(found) == 5 * 2 + 2 * 4 + 1 and all(row.checked and row.ours for row in found)
    assert [row.reference for row in found if row.metric == "gain of both, whole"] == [2.82]


def test_routines_and_operations_are_the_hosts_bytes(sim):
    found = [*routines.rows(sim), *operations.rows(sim)]
    assert {row.case.split(",")[0] for row in found} >= {*routines.ROUTINES, "rotation", "one more rotation"}
    assert all(row.checked for row in found if not row.case.startswith("upload")) and no_times(found)


def test_times_of_operations_have_bounds(timed, monkeypatch):
    monkeypatch.setattr(operations, "LARGE", Switch(11, 3, 2, 2))
    monkeypatch.setattr(operations, "FROM_MEMORY", 2)
    monkeypatch.setattr(operations, "FROM_L2", 1)
    monkeypatch.setattr(operations, "CALLS", 1)
    monkeypatch.setattr(operations.ckks, "Parameters", lambda *a, **k: insecure_parameters())
    found = list(operations.rows(timed))
    assert all(row.ours is not None and row.details["bounds"] for row in found[:-1])
    assert found[-1].case.startswith("upload of 6 keys") and "GB/s" in found[-1].note


def insecure_parameters():
    from latticework.schemes.ckks.ckks_parameters import Parameters

    return Parameters(2048, [45, 40, 40], scale_bits=40, num_special=2, num_digits=2, insecure=True)


def test_networks_run_on_the_device_as_on_the_host(sim):
    found = networks.network_row(sim, networks.SMALL[1])
    assert found.checked and found.ours > 50 and found.metric == "launches"


def test_parts_of_the_script_have_files_that_count_when_they_end_early(tmp_path, monkeypatch, capsys):
    def fails(place):
        yield Row("first", "launches", "", 1)
        raise UserError("no more")

    monkeypatch.setattr(gpu_part, "GROUPS", {"rates": [fails, PARTS["rates"]]})
    assert gpu_part.measure("rates", "sim", tmp_path / "rates.json") == 1
    content = json.loads((tmp_path / "rates.json").read_text())
    assert content["rows"][0]["case"] == "first" and "no more" in content["rows"][1]["note"]
    assert len(content["rows"]) == 9 and content["conditions"]["is complete"]
    gpu_part.table([tmp_path / "rates.json"])
    assert "-- rates" in capsys.readouterr().out


def test_programs_are_equal_on_the_device(sim):
    assert all(row.meets for row in equal(10, sim))


def test_conditions_say_what_was_measured(sim):
    found = conditions(sim)
    assert found["second tile"] == "two queues on one device" and "two unnamed GPUs" in found["published"]


def run_models(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["models", *map(str, arguments)])
    return gpu_models.main()


def test_models_are_saved_and_run_on_the_device_as_on_the_host(tmp_path, monkeypatch, sim):
    found = tmp_path / "found.json"
    assert run_models(monkeypatch, "save", tmp_path / "kept", "--only", "logistic") == 0
    assert (
        run_models(monkeypatch, "run", tmp_path / "kept", "--device", "sim", "--host", "logistic", "--output", found)
        == 0
    )
    first, later, error = json.loads(found.read_text())["rows"]
    assert later["details"]["the host's bytes"] is True and later["details"]["of the same argmax"] == 4
    assert first["ours"] is later["ours"] is None and 0.0 < error["ours"] < 1e-4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("save", "kept"), "say which, --only NAMES"),
        (
            ("save", "kept", "--only", "logistic,others"),
            "no model is others, --only NAMES by commas; there are logistic",
        ),
        (("run", "kept", "--output", "found.json"), "no plan in kept; `save` makes them"),
        (("run", "kept", "--only", "icalabel", "--output", "found.json"), "no plan of icalabel in kept"),
        (("run", "kept"), "give --output FILE"),
    ],
)
def test_models_that_are_not_there_are_named(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        run_models(monkeypatch, *arguments)
    assert said in capsys.readouterr().err.replace("\n", " ")
