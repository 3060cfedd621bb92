"""Several runs of a server under one budget, as members and from threads: within it, and the bytes of single runs."""

import re
import threading

import numpy as np
import pytest
from e2e_cases import INSECURE_SMALL, uniform

import latticework as lw
from latticework.errors import BudgetError, UserError
from latticework.runtime.devices import device

MATRICES = np.random.default_rng(4).uniform(-0.3, 0.3, (2, 32, 32))


@lw.program
def layers(x: lw.Secret[32]):
    return (x @ MATRICES[0]) ** 2 @ MATRICES[1]


class Case:
    """A program in files, inputs as a client sends them, and what single runs with everything in memory answer."""

    def __init__(self, folder):
        data = uniform((20, 32))
        model = lw.compile(layers, calibrate=data, **INSECURE_SMALL)
        self.client, self.folder = model.client(threads=1), folder
        self.public = self.client.keygen().public()
        self.model = model
        model.save(folder / "model.lwplan")
        self.public.save(folder / "keys")
        self.sent = [self.client.encrypt(x).to_bytes() for x in data[:6]]
        server = self.load()
        self.answers = [server(server.load_encrypted(one)).to_bytes() for one in self.sent]

    def load(self, **options):
        return lw.Server.load(self.folder / "model.lwplan", self.folder / "keys", **{"threads": 1, **options})

    def least(self, runs):
        """The least budget for so many."""
        with pytest.raises(BudgetError) as refusal:
            self.load(memory=1, runs=runs)
        return int(re.search(r"\((\d+) bytes\)", str(refusal.value))[1])


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return Case(tmp_path_factory.mktemp("layers"))


@pytest.fixture(params=["auto", "ref"])
def backend(request, monkeypatch):
    monkeypatch.setattr(device, "HOST", request.param)


def bytes_of(encrypted):
    return sum(ciphertext.num_bytes for array in encrypted.tensors.values() for ciphertext in array)


def spares(case, runs):
    """Budgets: the least, and some with room for a part or all of keys and constants."""
    least = case.least(runs)
    return [least, least + 200_000, least + (1 << 21), least + (1 << 30)]


def peak_of(server, members, work):
    """What work gives, and the bytes that the server held at the worst moment, without what is its caller's: inputs of
    members that wait, and answers."""
    server.context.reset_peak()
    answers = work(members)
    together = min(server.runs_at_once, len(members))
    callers = sum(bytes_of(one) for one in (*members, *answers)) // len(members) * (len(members) - together)
    return [answer.to_bytes() for answer in answers], server.context.peak_bytes - callers


@pytest.mark.parametrize("runs", [1, 2, 4])
def test_members_keep_the_budget_and_answer_as_single_runs(case, runs, backend):
    for memory in spares(case, runs):
        server = case.load(memory=memory, runs=runs)
        assert server.runs_at_once >= runs
        answers, peak = peak_of(server, [server.load_encrypted(one) for one in case.sent], server.run_many)
        assert answers == case.answers and peak <= memory


def at_the_same_time(server, members, **options):
    """A call for each member, from a thread of its own."""
    answers = [None] * len(members)

    def call(place):
        answers[place] = server(members[place], **options)

    threads = [threading.Thread(target=call, args=(place,), daemon=True) for place in range(len(members))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers


@pytest.mark.parametrize("runs", [1, 2, 4])
def test_calls_from_threads_keep_the_budget_and_answer_as_single_runs(case, runs, backend):
    """As many as there is room for go at the same time, and no more."""
    for memory in spares(case, runs):
        server, under_way, most, lock = case.load(memory=memory, runs=runs), set(), [], threading.Lock()

        def note(event, under_way=under_way, most=most, lock=lock):
            with lock:
                under_way.add(threading.get_ident())
                most.append(len(under_way))
                if event.done == event.total:
                    under_way.remove(threading.get_ident())

        members = [server.load_encrypted(one) for one in case.sent]
        answers, peak = peak_of(server, members, lambda given, s=server, n=note: at_the_same_time(s, given, on_event=n))
        assert answers == case.answers and peak <= memory
        assert max(most) <= server.runs_at_once
        traffic = server.key_traffic
        assert traffic is None or (traffic.peak_bytes <= traffic.budget_bytes and traffic.held_rows == 0)


def test_threads_that_come_and_go(case):
    """Calls, batches and runs that fail, at random, with the least budget: every one ends, and the budget is kept."""
    rng, wrong = np.random.default_rng(3), []
    server = case.load(memory=case.least(2), runs=2)
    members = [server.load_encrypted(one) for one in case.sent]

    def stop(event):
        if event.done == 7:
            raise RuntimeError("stopped")

    def work(jobs):
        for kind, first in jobs:
            given = slice(first, first + 1 + kind)
            try:
                answers = server.run_many(members[given], on_event=stop if first % 2 else None)
            except RuntimeError:
                wrong.extend([] if first % 2 else [(kind, first)])
                continue
            if first % 2 or [answer.to_bytes() for answer in answers] != case.answers[given]:
                wrong.append((kind, first))

    threads = [
        threading.Thread(target=work, args=(rng.integers([0, 0], [3, 6], (5, 2)),), daemon=True) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads) and wrong == []
    traffic = server.key_traffic
    assert traffic.peak_bytes <= traffic.budget_bytes and traffic.held_rows == 0


def test_room_for_more_members_reads_keys_less_often(case):
    """Each window is read once for all that go together, here with the least budget for each number."""
    loads = {}
    for runs in (1, 2, 3, 6):
        server = case.load(memory=case.least(runs), runs=runs)
        assert server.runs_at_once == runs
        server.run_many([server.load_encrypted(one) for one in case.sent])
        loads[runs] = server.key_traffic.loads
    assert loads[1] == 2 * loads[2] == 3 * loads[3] == 6 * loads[6]


def test_a_batch_for_which_there_is_no_room(case):
    server = case.load(memory=case.least(2), runs=2)
    members = [server.load_encrypted(one) for one in case.sent]
    with pytest.raises(BudgetError, match=r"at_once=4, and memory= of this server has room for 2 runs .* runs=4"):
        server.run_many(members, at_once=4)
    assert [y.to_bytes() for y in server.run_many(members[:2], at_once=4)] == case.answers[:2]
    assert [y.to_bytes() for y in server.run_many(members, at_once=1)] == case.answers
    with pytest.raises(BudgetError, match=r"for values of 6 runs, .* give at least"):
        case.load(memory=case.least(2), runs=6)
    with pytest.raises(BudgetError, match=r"for values of 6 runs, .* for the keys, which are all in memory; give at"):
        case.model.server(case.public, memory=case.least(2), runs=6)


def test_what_is_no_number_of_runs(case):
    for runs in (0, -1, 1.5, True, "2", 1 << 40):
        with pytest.raises(UserError, match="runs=.*; give a whole number from 1"):
            case.load(memory="1GB", runs=runs)
    for make in (case.load, lambda runs: case.model.server(case.public, runs=runs)):
        with pytest.raises(UserError, match="runs=2 says how many runs memory= has room for"):
            make(runs=2)
    assert case.load().runs_at_once is None
    assert case.model.server(case.public, memory="1GB", runs=3, threads=1).runs_at_once >= 3


def test_a_listener_that_starts_a_run(case):
    """Which works where everything is in memory, and elsewhere is refused rather than waited for."""
    for options in ({}, {"memory": case.least(2), "runs": 2}, {"key_memory": "1MB"}):
        server, inner = case.load(**options), []
        x = server.load_encrypted(case.sent[0])

        def listen(_event, server=server, x=x, inner=inner):
            if not inner:
                inner.append(server(x).to_bytes())

        if not options:
            assert server(x, on_event=listen).to_bytes() == inner[0] == case.answers[0]
            continue
        for run in (
            lambda s=server, x=x, n=listen: s(x, on_event=n),
            lambda s=server, x=x, n=listen: s.run_many([x, x], on_event=n),
        ):
            with pytest.raises(BudgetError, match="start it when that one has ended"):
                run()
        assert server(x).to_bytes() == case.answers[0] and server.key_traffic.held_rows == 0
