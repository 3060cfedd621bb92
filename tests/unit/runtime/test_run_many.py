"""Several inputs that go through a plan together: the bytes of runs one by one, and keys that are read once for all."""

import threading
import time
from dataclasses import replace

import array_programs
import numpy as np
import pytest
import vec_cases
from array_programs import Deployed, draw
from interrupts import interrupted
from rlwe_cases import random_slots, shared_case, to_bytes
from test_mapped_keys import DIGITS, SLOTS, expected, in_turn, mapped, quiet
from test_memory_plan import NoPrices, bootstraps
from test_run_states import drawn, stored
from vec_cases import plan_of, small_chain

from latticework import _core
from latticework.compiler.levels import program_depth
from latticework.errors import FormatError, RangeError, ShapeError
from latticework.plan.analysis.memory_plan import at_once_with
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.instructions.value_shapes import row_bytes
from latticework.plan.key_schedule.schedule import schedule
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain
from latticework.values.packing.packed_constants import slot_vectors

ORDER = [0, 1, 2, 0, 1]


@pytest.fixture(scope="module")
def case():
    return shared_case("plain")


@pytest.fixture(scope="module")
def path(case, tmp_path_factory):
    target = tmp_path_factory.mktemp("keys") / "keys.lwkeys"
    _core.save_evaluation_keys(target, case.keys)
    return target


@pytest.fixture(scope="module")
def xs(case):
    rng = np.random.default_rng(3)
    return [case.encrypt(random_slots(rng, SLOTS)) for _ in range(8)]


def loads_of_one(case, path, x, rows, order=ORDER, **options):
    keys = mapped(case, path, rows, **options)
    _core.Executor(case.context, in_turn(order), keys).run([x])
    return keys.traffic["loads"]


@pytest.mark.parametrize("rows", [DIGITS, 2 * DIGITS, 12, 30, 1000])
@pytest.mark.parametrize("readers", [0, 1, 3])
def test_each_window_is_read_once_for_all(case, path, xs, rows, readers):
    for number in (1, 2, 8):
        keys = mapped(case, path, rows, readers=readers)
        outputs = _core.Executor(case.context, in_turn(ORDER), keys).run_many([[x] for x in xs[:number]], 8)
        assert [to_bytes(y) for (y,) in outputs] == [expected(case, x, ORDER) for x in xs[:number]]
        traffic = keys.traffic
        assert traffic["loads"] == loads_of_one(case, path, xs[0], rows)
        assert traffic["peak_bytes"] <= traffic["budget_bytes"] and quiet(keys)


def test_no_more_than_are_wanted_go_together(case, path, xs):
    """And those that do are about as many each time, so that none is left to read alone."""
    once = loads_of_one(case, path, xs[0], DIGITS)
    for at_once, times in ((1, 8), (2, 4), (3, 3), (7, 2), (8, 1), (100, 1)):
        keys, orders = mapped(case, path, DIGITS), []
        outputs = _core.Executor(case.context, in_turn(ORDER), keys).run_many(
            [[x] for x in xs], at_once, lambda member, *_, orders=orders: orders.append(member)
        )
        assert [to_bytes(y) for (y,) in outputs] == [expected(case, x, ORDER) for x in xs]
        assert keys.traffic["loads"] == times * once
        assert sorted(set(orders)) == list(range(8)) and len(orders) == 8 * 2 * len(ORDER)


def test_keys_in_memory_are_computed_with_one_by_one(case, xs):
    members = []
    outputs = _core.Executor(case.context, in_turn(ORDER), case.keys).run_many(
        [[x] for x in xs], 8, lambda member, *_: members.append(member)
    )
    assert [to_bytes(y) for (y,) in outputs] == [expected(case, x, ORDER) for x in xs]
    assert members == sorted(members)


def test_no_members_have_no_results(case, path):
    assert _core.Executor(case.context, in_turn(ORDER), mapped(case, path, DIGITS)).run_many([], 8) == []


def test_runs_that_share_a_budget(case, path, xs):
    """Two batches and a run at the same time wait for each other's rows, and never for ever."""
    keys = mapped(case, path, 2 * DIGITS)
    wanted = [expected(case, x, ORDER) for x in xs]
    found = [None] * 3

    def work(place):
        executor = _core.Executor(case.context, in_turn(ORDER), keys)
        members = xs if place < 2 else xs[:1]
        found[place] = [to_bytes(y) for (y,) in executor.run_many([[x] for x in members], 8)]

    threads = [threading.Thread(target=work, args=(place,), daemon=True) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [wanted, wanted, wanted[:1]]
    assert quiet(keys) and keys.traffic["peak_bytes"] <= keys.traffic["budget_bytes"]


def test_a_run_that_has_no_rows_gets_some_while_another_goes_on(case, path, xs):
    """Room for one window alone: a long run lets a short one in between, and does not keep it until it ends."""
    keys, begun, done, after = mapped(case, path, DIGITS), threading.Event(), threading.Event(), []
    wanted = expected(case, xs[0], [2])

    def short():
        begun.wait(60)
        (y,) = _core.Executor(case.context, in_turn([2]), keys).run([xs[0]])
        after.append(to_bytes(y))
        done.set()

    def listen(op, block, instruction, *_):
        begun.set()
        if done.is_set():
            raise StopIteration

    thread = threading.Thread(target=short, daemon=True)
    thread.start()
    with pytest.raises(StopIteration):
        _core.Executor(case.context, in_turn([0, 1] * 2000), keys).run([xs[1]], listen)
    thread.join(60)
    assert after == [wanted] and quiet(keys) and keys.traffic["peak_bytes"] <= keys.traffic["budget_bytes"]


@pytest.mark.parametrize("deadline_s", [0.1, 60])
def test_a_run_that_waits_for_one_that_stands_still(case, path, xs, deadline_s):
    """It fails when nothing has moved for as long as reading may take, or when it is told to stop; the other goes on."""
    budget = mapped(case, path, DIGITS).traffic["budget_bytes"]
    keys = _core.MappedKeys(path, case.context, budget, deadline_s=deadline_s)
    stands, waits, go_on, found = threading.Event(), threading.Event(), threading.Event(), []

    def stand(*_):
        stands.set()
        go_on.wait(60)

    def first():
        (y,) = _core.Executor(case.context, in_turn(ORDER), keys).run([xs[0]], stand)
        found.append(to_bytes(y))

    thread = threading.Thread(target=first, daemon=True)
    thread.start()
    stands.wait(60)
    second = _core.Executor(case.context, in_turn([0]), keys)
    if deadline_s < 1:
        told = "other runs hold all of the memory for keys, and have not gone on within 100 ms"
        with pytest.raises(OSError, match=told):
            second.run([xs[1]])
    else:
        with interrupted(waits):
            threading.Timer(0.02, waits.set).start()
            second.run([xs[1]])
    go_on.set()
    thread.join(60)
    assert found == [expected(case, xs[0], ORDER)] and quiet(keys)
    (y,) = second.run([xs[1]])
    assert to_bytes(y) == expected(case, xs[1], [0])


# Programs


def check_program(plan, folder, members, *, backend="auto", constants=1 << 24, budgets=None, predicted=True):
    """Bytes of runs one by one; rows of one run, as predicted, wherever members take the same way."""
    deployed = Deployed(plan, backend=backend)
    members = [[*deployed.encrypt(arrays), *integers] for arrays, integers in members]
    wanted = [in_bytes(deployed.executor_with(constants).run(inputs)) for inputs in members]
    assert [in_bytes(o) for o in deployed.executor_with(constants).run_many(members, 8)] == wanted
    path = folder / f"{backend}.lwkeys"
    _core.save_evaluation_keys(path, deployed.keys)
    at_once = at_once_with(constants, row_bytes(plan.chain))
    everything = schedule(plan, 1 << 40, NoPrices(), TripCounts(plan), at_once=at_once)
    least = everything.smallest
    for budget in budgets or [least.bytes, least.overlapped * 2]:
        keys = _core.MappedKeys(path, deployed.context, budget)
        executor = deployed.executor_with(constants, keys=keys)
        assert [in_bytes(outputs) for outputs in executor.run_many(members, 8)] == wanted
        assert keys.traffic["peak_bytes"] <= budget and quiet(keys)
        if predicted:
            made = schedule(plan, budget, NoPrices(), TripCounts(plan), at_once=at_once)
            assert made.is_exact and made.loads == keys.traffic["loads"]


def in_bytes(outputs):
    return stored(c for array in outputs for c in (array if isinstance(array, list) else [array]))


def arrays_for(plan, rng):
    return [rng.uniform(-0.5, 0.5, (spec.pack.count, spec.pack.slots)) for spec in plan.client.secret_inputs]


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 8])
@pytest.mark.parametrize("backend", ["auto", "ref"])
def test_programs_on_arrays(seed, backend, tmp_path):
    """Block maps, hoisted turns, products: with constants kept and with constants that are made anew for each use."""
    module, _, _ = draw(seed)
    plan = plan_of(module, small_chain(program_depth(module)))
    if not plan.keys:
        pytest.skip("no key")
    rng = np.random.default_rng(seed)
    for constants in (0, 1 << 24):
        members = [(arrays_for(plan, rng), []) for _ in range(3)]
        check_program(plan, tmp_path, members, backend=backend, constants=constants)


@pytest.mark.parametrize("seed", range(6))
def test_loops_whose_members_differ_in_their_trips(seed, tmp_path):
    """Those with as many go together."""
    plan = plan_of(drawn(seed), small_chain(0))
    rng = np.random.default_rng(seed)
    members = [([rng.uniform(-1, 1, (1, vec_cases.SLOTS)) for _ in range(2)], [int(n)]) for n in (3, 1, 3, 0, 1)]
    check_program(plan, tmp_path, members, predicted=False)


def test_loops_of_as_many_trips_read_once(tmp_path):
    plan = plan_of(drawn(1), small_chain(0))
    deployed = Deployed(plan)
    rng = np.random.default_rng(0)
    path = tmp_path / "keys.lwkeys"
    _core.save_evaluation_keys(path, deployed.keys)
    loads = {}
    for trips in ([3], [1], [3, 3, 3], [3, 1, 3, 1]):
        least = deployed.executor_with(keys=_core.MappedKeys(path, deployed.context, 1 << 40)).key_need[0]
        keys = _core.MappedKeys(path, deployed.context, least)
        members = [[*deployed.encrypt([rng.uniform(-1, 1, (1, vec_cases.SLOTS)) for _ in range(2)]), n] for n in trips]
        deployed.executor_with(keys=keys).run_many(members, 8)
        loads[tuple(trips)] = keys.traffic["loads"]
    assert loads[3, 3, 3] == loads[3,] and loads[3, 1, 3, 1] <= loads[3,] + loads[1,]


def test_bootstraps(tmp_path):
    plan = bootstraps(bootstrap_chain(replace(BOOTSTRAP_SETS["T11"], name="small")), 1)
    rng = np.random.default_rng(0)
    check_program(plan, tmp_path, [(arrays_for(plan, rng), []) for _ in range(2)])


def test_plaintexts_in_use_are_made_once(tmp_path, monkeypatch):
    """Members of a batch multiply with the same ones at the same time, also where nothing keeps them."""
    module, _, _ = draw(8)
    plan = plan_of(module, small_chain(program_depth(module)))
    deployed, rng, asked = Deployed(plan), np.random.default_rng(0), []
    path = tmp_path / "keys.lwkeys"
    _core.save_evaluation_keys(path, deployed.keys)
    inputs = deployed.encrypt(arrays_for(plan, rng))

    def counted(*constant):
        asked.append(constant)
        return slot_vectors(*constant)

    monkeypatch.setattr(array_programs, "slot_vectors", counted)
    counts = []
    for members in (1, 4):
        executor = deployed.executor_with(0, keys=_core.MappedKeys(path, deployed.context, 1 << 40))
        executor.run_many([inputs] * members, members)
        counts.append(len(asked))
        asked.clear()
    assert 20 < counts[0] <= counts[1] < 2 * counts[0]


@pytest.mark.parametrize("constants", [0, 1 << 24])
def test_runs_at_the_same_time_make_constants_once(constants, monkeypatch):
    """Who needs one that another run makes waits for it, so that it is in memory once."""
    module, _, _ = draw(8)
    plan = plan_of(module, small_chain(program_depth(module)))
    deployed, rng, making, doubled = Deployed(plan), np.random.default_rng(0), [], []
    inputs, both = deployed.encrypt(arrays_for(plan, rng)), threading.Barrier(2)

    def slow(*constant):
        doubled.extend([constant] if constant in making else [])
        making.append(constant)
        time.sleep(0.002)  # until the other run is here as well
        values = slot_vectors(*constant)
        making.remove(constant)
        return values

    monkeypatch.setattr(array_programs, "slot_vectors", slow)
    executor, found = deployed.executor_with(constants), []

    def work():
        both.wait(20)
        found.append(in_bytes(executor.run(inputs)))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 2 and found[0] == found[1] and doubled == [] == making


# What goes wrong


def test_members_are_checked_before_any_work(case, path, xs):
    keys = mapped(case, path, DIGITS)
    executor = _core.Executor(case.context, in_turn(ORDER), keys)
    low = case.encrypt(np.arange(SLOTS), 1)
    for wrong, error, told in (
        ([low], Exception, r"run_many: member 2: input 0 is at level 1"),
        ([], ShapeError, r"run_many: member 2: 0 inputs given, the plan takes 1"),
        ([7], ShapeError, r"run_many: member 2: input 0 must be a ciphertext"),
    ):
        with pytest.raises(error, match=told):
            executor.run_many([[xs[0]], [xs[1]], wrong, [xs[2]]], 8)
    with pytest.raises(RangeError, match="keys may take 1 bytes"):
        _core.Executor(case.context, in_turn(ORDER), _core.MappedKeys(path, case.context, 1)).run_many([[xs[0]]] * 2, 2)
    assert keys.traffic["loads"] == 0


@pytest.mark.parametrize("member", [0, 2, 3])
def test_a_batch_that_is_ended_holds_nothing(case, path, xs, member):
    """At any instruction of any member, and what ended it is what is raised; the next batch works."""
    keys = mapped(case, path, 2 * DIGITS)
    executor = _core.Executor(case.context, in_turn(ORDER), keys)
    for moment in (0, 1, 4, 9):
        seen = []

        def stop(which, op, block, instruction, *_, moment=moment, seen=seen):
            seen.append((which, instruction))
            if (which, instruction) == (member, moment):
                raise RuntimeError(f"{which} at {instruction}")

        with pytest.raises(RuntimeError, match=f"{member} at {moment}"):
            executor.run_many([[x] for x in xs[:4]], 4, stop)
        assert seen[-1] == (member, moment) and quiet(keys)
    outputs = executor.run_many([[x] for x in xs[:4]], 4)
    assert [to_bytes(y) for (y,) in outputs] == [expected(case, x, ORDER) for x in xs[:4]]


def test_damaged_keys_fail_the_batch(case, path, xs, tmp_path):
    target = tmp_path / "damaged.lwkeys"
    whole = path.read_bytes()
    target.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    keys = mapped(case, target, DIGITS)
    executor = _core.Executor(case.context, in_turn([0, 1, 2]), keys)
    for _ in range(2):
        with pytest.raises(FormatError, match=r"damaged.lwkeys: galois key .*digit 2, limb 4"):
            executor.run_many([[x] for x in xs], 8)
        assert quiet(keys)
    target.write_bytes(whole)
    outputs = _core.Executor(case.context, in_turn([0, 1, 2]), keys).run_many([[x] for x in xs], 8)
    assert [to_bytes(y) for (y,) in outputs] == [expected(case, x, [0, 1, 2]) for x in xs]


class FailingReads:
    """From some read on, until it is mended."""

    def __init__(self, moment):
        self.moment, self.reads = moment, 0

    def __call__(self, _key, _is_ahead):
        self.reads += 1
        if self.reads > self.moment:
            raise OSError(5, "Input/output error")


@pytest.mark.parametrize("readers", [0, 1, 2])
def test_reads_that_fail_at_any_moment(case, path, xs, readers):
    rng = np.random.default_rng(readers)
    for _ in range(8):
        fault, members = FailingReads(int(rng.integers(60))), int(rng.integers(2, 5))
        keys = mapped(case, path, int(rng.choice([DIGITS, 12])), on_read=fault, readers=readers)
        executor = _core.Executor(case.context, in_turn(ORDER), keys)
        with pytest.raises(OSError, match="Input/output error"):
            executor.run_many([[x] for x in xs[:members]], members)
        assert quiet(keys)
        fault.moment = 1 << 40
        outputs = executor.run_many([[x] for x in xs[:members]], members)
        assert [to_bytes(y) for (y,) in outputs] == [expected(case, x, ORDER) for x in xs[:members]]


def test_a_batch_that_waits_can_be_cancelled(case, path, xs):
    """The thread that started it is told within moments, also while all members wait for rows."""
    hangs, release = threading.Event(), threading.Event()

    def hang(_key, is_ahead):
        if is_ahead:
            hangs.set()
            release.wait(60)
        hangs.wait(60)  # who reads for itself waits until a row is the reader's, which it then needs

    keys = _core.MappedKeys(path, case.context, 1 << 40, hang)
    executor = _core.Executor(case.context, in_turn(ORDER), keys)
    with interrupted(hangs):
        executor.run_many([[x] for x in xs[:3]], 3)
    release.set()
    assert quiet(keys)
    (y,), *_ = executor.run_many([[x] for x in xs[:3]], 3)
    assert to_bytes(y) == expected(case, xs[0], ORDER)
