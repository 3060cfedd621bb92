"""Costs: work against hand counts, laws of the model, memory and bytes against the core's own."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tiny_plans import CHAIN, N, counted_plan, loop_plan

from latticework import _core
from latticework.errors import FormatError
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import UNITS, CostModel, Shape, default_table, parse_table, read_table, work
from latticework.plan.cost.table import shipped_table
from latticework.plan.files.code_file import encode_code
from latticework.plan.parameters import bootstrap_chain

TABLE = {
    "format": 1,
    "machine": {"cpu": "test", "cores": 1},
    "date": "2026-01-01",
    "commit": None,
    "command": "none",
    "threads": 1,
    "source": "measured",
    "units": [{"unit": unit, "ring_degree": N, "seconds": 1e-6} for unit in UNITS],
}
ROTATED = Shape(N, 3, 1, (2, 1))


def model(**changes):
    return CostModel(parse_table(json.dumps(TABLE | changes)))


def op_rows(*pairs):
    return [{"op": "rotate", "ring_degree": N, "q_limbs": limbs, "seconds": seconds} for limbs, seconds in pairs]


def test_work_of_a_rotation():
    # By hand for limbs p0 | q0 q1 | q2: digit 0 goes to p0 and to q2 in two lifts, digit 1 to p0 q0 q1 in one.
    hoist = {"ntt": 3 + 2 + 3, "lift_source": 2 * 2 + 1, "lift_term": 2 + 2 + 3, "pointwise": 2 + 3}
    assert work("hoist", ROTATED) == hoist
    product = {"key_mac": 2 * 4 * 2, "pointwise": 2 * 4 + 2 * 3, "automorphism": 2 * 4}
    assert work("key_product", ROTATED) == product
    down = {"ntt": 2 * (1 + 3), "lift_source": 2, "lift_term": 6, "pointwise": 6 + 6}
    assert work("mod_down", Shape(N, 3, 1, target=3)) == down
    fused = {"ntt": 16, "lift_source": 7, "lift_term": 13, "key_mac": 16, "pointwise": 5 + 14 + 12, "automorphism": 8}
    assert work("rotate", ROTATED) == fused


@pytest.mark.parametrize(
    ("op", "shape", "expected"),
    [
        ("add", Shape(N, 3), {"pointwise": 6}),
        ("mul_plain", Shape(N, 3, 1), {"pointwise": 8}),
        ("square", Shape(N, 3), {"pointwise": 12}),
        ("mod_down", Shape(N, 3, target=3), {}),
        ("mod_down", Shape(N, 3, target=2, polys=3), {"ntt": 9, "lift_source": 3, "lift_term": 6, "pointwise": 12}),
        ("encode", Shape(N, 3, slots=N // 2), {"fft": 1.0, "pointwise": 3, "ntt": 3}),
    ],
)
def test_work_of_other_operations(op, shape, expected):
    assert work(op, shape) == expected


def test_a_relinearisation_that_rescales_saves_the_transforms_of_a_division():
    whole = Shape(N, 4, 2, (2, 2), polys=3)
    merged, apart = work("relinearize", replace(whole, target=3)), work("relinearize", whole)
    assert apart["ntt"] - merged["ntt"] == 2 * 4 - 2 * (1 + 3)
    rescale = work("mod_down", Shape(N, 4, target=3))
    assert apart["ntt"] + rescale["ntt"] - merged["ntt"] == 2 * (1 + 3)


def test_loop_of_three_trips():
    cost = estimate(loop_plan(), model())
    counts = cost.counts
    assert (counts.rotations, counts.relinearizations, counts.key_switches) == (3, 1, 4)
    assert (counts.additions, counts.ciphertext_products, counts.plaintext_products) == (3, 1, 1)
    assert (counts.encodes, counts.rescales, counts.mod_downs, counts.hoists) == (1, 1, 0, 0)
    assert cost.key_uses == {0: 1, 1: 3}
    # a relinearisation hoists like a rotation, keeps two polynomials and turns none
    relin_ntt, relin_pointwise = 16, 5 + (8 + 2 * 2 * 3) + 12
    assert cost.units["ntt"] == 3 * 16 + relin_ntt + 2 * (1 + 2) + 2
    assert cost.units["pointwise"] == 3 * (31 + 6) + 4 * 3 + relin_pointwise + (4 + 4) + 2 + 4
    assert cost.units["automorphism"] == 3 * 8


def test_totals_agree():
    cost = estimate(loop_plan(), CostModel.load())
    assert cost.seconds > 0
    assert sum(step.seconds for step in cost.steps) == pytest.approx(cost.seconds)
    assert sum(cost.by_op.values()) == pytest.approx(cost.seconds)
    assert sum(cost.by_location.values()) == pytest.approx(cost.seconds)
    assert cost.warm_seconds == pytest.approx(cost.seconds - cost.by_op["encode"])
    assert CostModel.load().work_seconds(cost.units, N) == pytest.approx(
        estimate(loop_plan(), CostModel(replace(default_table(), overhead={}, ops=()))).seconds
    )


def test_the_first_run_pays_for_its_memory():
    """Values and constants once, at the median of the prices; keys before; nothing where a table has no price."""
    prices = [{"unit": "fresh_byte", "ring_degree": N << k, "seconds": s} for k, s in enumerate((1e-9, 4e-9, 2e-9))]
    others = [row for row in TABLE["units"] if row["unit"] != "fresh_byte"]
    with_prices, without = (estimate(loop_plan(), model(units=units)) for units in ([*others, *prices], others))
    assert with_prices.fresh_seconds == pytest.approx(2e-9 * (with_prices.memory.values + with_prices.memory.constants))
    assert with_prices.first_seconds == pytest.approx(with_prices.seconds + with_prices.fresh_seconds)
    assert (without.fresh_seconds, without.first_seconds) == (0.0, without.seconds)
    assert (with_prices.seconds, with_prices.warm_seconds) == (without.seconds, without.warm_seconds)
    keys = with_prices.key_load_seconds - without.key_load_seconds
    assert keys == pytest.approx(2e-9 * with_prices.bytes.keys_resident)


@pytest.mark.parametrize(
    ("limit", "given", "adds"), [(7, {}, 7), (7, {"n": 2}, 2), (7, {"n": 0}, 0), (None, {}, 1), (None, {"n": 9}, 9)]
)
def test_run_time_trips(limit, given, adds):
    cost = estimate(counted_plan(limit), model(), given)
    assert cost.counts.additions == adds
    assert cost.seconds == pytest.approx(adds * 6e-6)
    assert bool(cost.unbounded) == (limit is None and not given)


def test_bytes_by_hand():
    cost = estimate(loop_plan(), model())
    packed = (40 + 31 + 31) * N // 8  # bit lengths of the three primes
    assert cost.bytes.inputs_fresh == packed
    assert cost.bytes.inputs_evaluated == 2 * packed
    assert cost.bytes.outputs == 2 * (40 + 31) * N // 8
    assert cost.bytes.keys_stored == 60_000
    assert cost.bytes.constants == 2 * (N + 8) * 8
    assert cost.memory.total == cost.memory.values + cost.memory.keys + cost.memory.constants


def test_units_scale_with_the_ring_degree():
    m = model()
    assert m.unit_seconds("pointwise", 4 * N) == pytest.approx(4e-6)
    assert m.unit_seconds("ntt", 4 * N) == pytest.approx(4e-6 * 12 / 10)
    assert m.unit_seconds("read_byte", 4 * N) == 1e-6
    two = model(units=[*TABLE["units"], {"unit": "ntt", "ring_degree": 8 * N, "seconds": 1e-3}])
    assert two.unit_seconds("ntt", 8 * N) == 1e-3
    assert two.unit_seconds("ntt", 2 * N) == pytest.approx(2e-6 * 11 / 10)


def test_a_missing_unit_is_named():
    bare = model(units=[{"unit": "ntt", "ring_degree": N, "seconds": 1e-6}])
    with pytest.raises(FormatError, match="pointwise"):
        bare.seconds("add", Shape(N, 3))


def test_operation_rows_come_first_and_are_interpolated():
    m = model(ops=op_rows((4, 1e-3), (2, 5e-4), (8, 3e-3)))
    assert m.seconds("rotate", replace(ROTATED, q_limbs=4)) == 1e-3
    assert m.seconds("rotate", replace(ROTATED, q_limbs=6)) == pytest.approx(2e-3)
    assert m.seconds("rotate", replace(ROTATED, q_limbs=16)) == pytest.approx(6e-3)
    assert m.seconds("rotate", replace(ROTATED, q_limbs=1)) == pytest.approx(2.5e-4)
    assert m.seconds("relinearize", ROTATED) == model().seconds("relinearize", ROTATED)
    assert m.seconds("rotate", replace(ROTATED, ring_degree=2 * N)) != 1e-3


@pytest.mark.parametrize("ops", [[], op_rows((2, 1e-4), (5, 1e-3), (9, 1.5e-3))])
@pytest.mark.parametrize("op", ["rotate", "mul", "mod_down", "hoist"])
def test_more_limbs_never_cost_less(op, ops):
    m = CostModel(replace(model(ops=ops).table, overhead={"rotate": 1.3}))
    seconds = [m.seconds(op, Shape(N, q, 2, (2,) * (q // 2), target=max(q - 1, 1))) for q in range(2, 14, 2)]
    assert seconds == sorted(seconds)
    assert seconds[0] < seconds[-1]


def test_overhead_is_a_factor():
    assert model(overhead={"add": 2.5}).seconds("add", Shape(N, 3)) == pytest.approx(2.5 * 6e-6)


def test_hash_names_the_content():
    assert model().table_hash == model().table_hash
    assert model().table_hash != model(overhead={"add": 2.0}).table_hash
    assert model().table_hash != model(date="2026-01-02").table_hash
    reordered = json.dumps(dict(reversed(TABLE.items())))
    assert parse_table(reordered).hash == model().table_hash


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"format": 2}, "format"),
        ({"units": [{"unit": "nt", "ring_degree": N, "seconds": 1.0}]}, "'nt'"),
        ({"units": [{"unit": "ntt", "ring_degree": 1000, "seconds": 1.0}]}, "1000"),
        ({"units": [{"unit": "ntt", "ring_degree": N, "seconds": -1.0}]}, "-1.0"),
        ({"units": [{"unit": "ntt", "ring_degree": N}]}, "seconds"),
        ({"source": "guessed"}, "guessed"),
        ({"overhead": {"add": 0}}, "0"),
        ({"threads": "many"}, "many"),
        ({"threads": 1 << 30}, "1073741824 is not a whole number from 0 to 1048576"),
        ({"overhead": {"add": 10**400}}, "too large"),
        ({"parallel": {"overhead": {"add": 10**400}}}, "too large"),
    ],
)
def test_bad_tables_are_refused(change, named):
    with pytest.raises(FormatError, match=named):
        parse_table(json.dumps(TABLE | change))


@pytest.mark.parametrize(
    "data", [b"{", b"", b"[" * 100_000, b"\xff\xfe", b"\xef\xbb\xbf{}", b'{"format": ' + b"9" * 5000 + b"}"]
)
def test_files_that_are_no_tables_are_refused(tmp_path, data):
    (tmp_path / "table.json").write_bytes(data)
    with pytest.raises(FormatError, match=r"table.json: not JSON"):
        read_table(tmp_path / "table.json")


def test_shipped_table():
    table = default_table()
    assert table.source == "measured"
    assert table.threads == 1
    assert set(table.machine) == {"cpu", "cores", "memory_gb", "gpu"}
    assert {2**12, 2**13, 2**14, 2**15} <= set(table.units["ntt"])
    assert set(table.units) == set(UNITS)


class RealRun:
    """A plan of the compiler on the core, to measure what was predicted."""

    def __init__(self):
        lw = pytest.importorskip("latticework")

        @lw.program
        def layer(x: lw.Secret[16], weights):
            return lw.square(x @ weights) @ weights

        rng = np.random.default_rng(3)
        self.data = rng.uniform(-1, 1, (4, 16))
        options = {"precision_bits": 6, "ring_degree": 1024, "insecure": True}
        self.model = lw.compile(layer, weights=(rng.normal(size=(16, 16)) / 4,), calibrate=self.data, **options)
        self.plan = self.model.plan


@pytest.fixture(scope="module")
def real():
    return RealRun()


def test_predicted_memory_and_bytes_are_the_cores_own(real):
    from latticework.plan.parameters.fingerprint import core_parameters

    plan, spec = real.plan, real.plan.client.inputs[0]
    parameters = core_parameters(plan.chain)
    context = _core.Context(parameters, "ref", 1)
    generator = _core.KeyGenerator(context)
    secret = generator.secret_key()
    specs = [
        {"kind": k.kind, "galois_element": k.galois_element, "track": k.track, "level": k.level} for k in plan.keys
    ]
    keys = generator.evaluation_keys(secret, specs)
    executor = _core.Executor(
        context, _core.Plan(parameters, encode_code(plan)), keys, lambda i: plan.constants[i].evaluate(plan.sources)
    )
    encoded = _core.Encoder(context).encode(spec.pack.pack(real.data[0]), (0, spec.level), spec.scale)
    x = _core.Encryptor(context, secret).encrypt(encoded)
    del encoded
    executor.run([x])  # encodes all constants
    cost = estimate(plan, CostModel.load())
    assert cost.memory.constants <= executor.cached_constant_bytes <= 2 * cost.memory.constants  # and roundings
    resident = context.live_bytes - cost.memory.constants - x.num_bytes  # keys
    context.reset_peak()
    outputs = executor.run([x])
    assert context.peak_bytes - resident == pytest.approx(cost.memory.values + cost.memory.constants, rel=0.02)
    overhead = 3 * 4096  # header, and sections that begin at multiples of 4096
    assert 0 <= len(_core.save_ciphertexts(None, [x], ["x"])) - cost.bytes.inputs_fresh < overhead
    assert 0 <= len(_core.save_ciphertexts(None, outputs, ["y"])) - cost.bytes.outputs < overhead
    stored = len(_core.save_evaluation_keys(None, keys))
    assert 0 <= stored - cost.bytes.keys_stored < overhead + 4096 * len(keys)


def test_chain_of_the_tiny_plan_is_what_the_hand_counts_say():
    assert [len(d) for d in CHAIN.digits] == [2, 1]
    assert CHAIN.main.basis(2) == (0, 1, 2)


# -- bootstraps --------------------------------------------------------------------------------------

T11 = bootstrap_chain("T11")
SMALL = {"ring_degree": 2048, "q_limbs": 20, "p_limbs": 3, "slots": 1024}


def bootstrap_rows(*rows):
    return [SMALL | {"target": target, "real": real, "seconds": seconds} for target, real, seconds in rows]


def not_needed():
    raise AssertionError("what a bootstrap's operations add up to was asked for")


def test_measured_bootstraps_are_priced_as_measured_and_on_lines_between():
    known = model(bootstraps=bootstrap_rows((1, False, 1.0), (3, False, 2.0), (1, True, 0.5), (3, True, 0.7)))
    seconds = [known.bootstrap_seconds(T11, target, 1024, not_needed, real=False) for target in (1, 2, 3)]
    assert seconds == [1.0, 1.5, 2.0]
    assert known.bootstrap_seconds(T11, 2, 1024, not_needed, real=True) == pytest.approx(0.6)
    assert known.bootstrap_seconds(T11, 3, 1024, not_needed, real=True, count=5, iterations=2) == pytest.approx(7.0)


def test_other_bootstraps_take_as_much_longer_than_their_operations_as_measured_ones():
    rows = bootstrap_rows((1, False, 3.0), (3, False, 2.0))
    known = model(bootstraps=[rows[0] | {"expected": 2.0}, rows[1] | {"expected": 1.0}])
    narrow = known.bootstrap_seconds(T11, 1, 64, lambda: 10.0, real=False)
    other = known.bootstrap_seconds(bootstrap_chain("T12"), 1, 1024, lambda: 10.0, real=False)
    assert narrow == other == pytest.approx(10.0 * (1.5 + 2.0) / 2)
    assert model().bootstrap_seconds(T11, 1, 64, lambda: 10.0, real=False) == 10.0


def test_published_bootstraps_hold_for_any_chain_width_and_kind_of_their_ring():
    halo = CostModel(shipped_table("halo"))
    chain = bootstrap_chain("H17")
    seconds = [halo.bootstrap_seconds(chain, t, 1 << 16, not_needed, real=t % 2 == 0) for t in (1, 4, 10, 16)]
    assert seconds[1:] == [0.294928, 0.384637, 0.463171]
    assert seconds[0] == pytest.approx(0.294928 - (0.339302 - 0.294928))
    product = Shape(1 << 17, 11, 9, (6, 5))
    assert halo.seconds("mul_relinearize", product) == 0.001974


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"real": 1}, "real=1 is not true or false"),
        ({"target": -1}, "-1 is not a whole number"),
        ({"seconds": 0}, "0 is not a positive"),
        ({"ring_degree": 3000}, "3000 is not a power of two"),
        ({"expected": "long"}, "'long' is not a positive"),
    ],
)
def test_rows_of_bootstraps_are_checked(change, message):
    with pytest.raises(FormatError, match=message):
        model(bootstraps=[bootstrap_rows((1, False, 1.0))[0] | change])


def test_the_shipped_table_prices_bootstraps_as_a_whole():
    """A bootstrap takes nearly what its operations add up to."""
    table = default_table()
    assert {row.ring_degree for row in table.bootstraps} >= {1 << 12}
    ratios = [row.seconds / row.expected for row in table.bootstraps]
    assert min(ratios) > 0.8 and max(ratios) < 1.25
