"""Several inputs that a server computes together: results of calls one by one, refusals that name the member, files."""

import os
import re

import numpy as np
import pytest
from e2e_cases import INSECURE_SMALL, uniform
from test_cli import fault
from typer.testing import CliRunner

import latticework as lw
from latticework.cli import app
from latticework.errors import FormatError, ParameterMismatchError, RangeError, ShapeError, UserError
from latticework.runtime.server import members as runtime_members


@lw.program
def turned(x: lw.Secret[4], y: lw.Secret[4], n: lw.Index):
    return lw.for_loop(n, lambda i, z: np.roll(z, 1) * 0.5 + y, x, at_most=3)


@pytest.fixture(scope="module")
def looped(tmp_path_factory):
    """A program with a run-time integer and two inputs, its client, and its files."""
    folder = tmp_path_factory.mktemp("looped")
    data = {"x": uniform((20, 4)), "y": uniform((20, 4), 6), "n": 3}
    model = lw.compile(turned, calibrate=data, **INSECURE_SMALL)
    client = model.client(threads=1)
    keys = client.keygen()
    model.save(folder / "model.lwplan")
    keys.public().save(folder / "keys")
    return folder, client, model.server(keys.public(), threads=1)


def server_of(folder, **options):
    return lw.Server.load(folder / "model.lwplan", folder / "keys", **{"key_memory": "1MB", "threads": 1, **options})


@pytest.fixture(scope="module")
def members(looped):
    _, client, _ = looped
    rng = np.random.default_rng(1)
    return [client.encrypt(*rng.uniform(-1, 1, (2, 4)), n) for n in (2, 1, 2, 2, 0, 1, 2, 2)]


def test_results_are_those_of_calls(looped, members):
    """With keys in their file and in memory, whatever number goes together; trips differ, so not all do."""
    folder, client, resident = looped
    wanted = [resident(one).to_bytes() for one in members]
    for server in (resident, server_of(folder)):
        for at_once in (None, 1, 3, 8):
            assert [y.to_bytes() for y in server.run_many(members, at_once=at_once)] == wanted
    assert [y.to_bytes() for y in server_of(folder).run_many(members[:1])] == wanted[:1]
    assert np.shape(client.decrypt(server_of(folder).run_many(tuple(members))[3]).reveal()) == (4,)


def test_keys_are_read_once_for_all_that_go_together(looped, members):
    folder, _, _ = looped
    alike = [members[0], members[2], members[3], members[6]]
    with pytest.raises(UserError) as caught:
        server_of(folder, key_memory=1)
    least = int(re.search(r"runs is (\d+) ", str(caught.value))[1])
    loads = []
    for batch in (alike[:1], alike):
        server = server_of(folder, key_memory=least)
        server.run_many(batch)
        loads.append(server.key_traffic.loads)
        assert server.key_traffic.peak_bytes <= least
    assert loads[0] == loads[1] > 0


def test_members_for_which_there_is_no_memory_follow(looped, members, monkeypatch):
    """As many as half of the memory that is left has room for, and one at least."""
    folder, _, resident = looped
    values = runtime_members.peak_value_bytes(resident.plan, runtime_members.TripCounts(resident.plan))
    for free, at_once in ((0, 1), (2 * values, 1), (4 * values, 2), (20 * values, 10)):
        monkeypatch.setattr(runtime_members, "free_bytes", lambda free=free: free)
        assert runtime_members.members_at_once(resident.plan) == at_once
    server = server_of(folder)
    monkeypatch.setattr(runtime_members, "free_bytes", lambda: 0)
    assert [y.to_bytes() for y in server.run_many(members)] == [resident(one).to_bytes() for one in members]


def test_parts_and_stacks(looped, members):
    """Parts of a member are a list; a stack is as many members as it has inputs, and one result."""
    folder, client, resident = looped
    x, y = uniform((2, 4))
    parts = [client.encrypt_part(x=x), client.encrypt_part(y=y, n=2)]
    stack = client.encrypt(uniform((3, 4)), y, 2)
    open_part = [client.encrypt_part(x=x), client.encrypt_part(y=y)]
    wanted = [resident(*parts).to_bytes(), resident(stack).to_bytes(), resident(members[0]).to_bytes()]
    server = server_of(folder)
    assert [r.to_bytes() for r in server.run_many([parts, stack, members[0]])] == wanted
    assert server.run_many([open_part], integers={"n": 2})[0].to_bytes() == resident(*open_part, n=2).to_bytes()


def test_events_count_the_steps_of_all(looped, members):
    folder, _, _ = looped
    for server in (server_of(folder), looped[2]):
        events = []
        server.run_many(members[:4], on_event=events.append)
        assert [event.done for event in events] == sorted(event.done for event in events)
        assert {event.total for event in events} == {events[-1].done}


def refused(error, message, call):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "test_members.py:" in str(caught.value.at)


def test_what_is_no_list_of_inputs(looped, members):
    server = server_of(looped[0])
    for wrong, told in (
        ([], "program turned, run_many was given no inputs: give it a list of at least one"),
        (members[0], "takes a list of encrypted inputs, got Encrypted"),
        (None, "takes a list of encrypted inputs, got NoneType"),
        ([members[0], 7], "member 1, counted from 0, is int; give encrypted inputs"),
    ):
        refused(UserError, told, lambda wrong=wrong: server.run_many(wrong))
    for at_once in (0, -1, 1.5, True):
        refused(UserError, "at_once=.*whole number", lambda n=at_once: server.run_many(members, at_once=n))


def test_members_that_do_not_belong_are_named_before_any_work(looped, deployed, members):
    """Another program, another key set, too many or too few inputs, an integer out of bounds."""
    folder, client, _ = looped
    server, x = server_of(folder), uniform(4)
    other = lw.load(folder / "model.lwplan").client(threads=1, allow_insecure=True)
    other.keygen()
    for wrong, error, told in (
        (deployed.client.encrypt(deployed.data[0]), (FormatError, ParameterMismatchError), "affine"),
        (other.encrypt(x, x, 1), ParameterMismatchError, "key set"),
        (client.encrypt_part(x=x), ShapeError, "input y is missing and the run-time integer n is"),
        ([members[0], members[1]], UserError, "given twice"),
        ([members[0], None], UserError, ""),
        (server.run_many(members[:1])[0], FormatError, "outputs"),
    ):
        loads = server.key_traffic.loads
        refused(error, f"run_many, member 2, counted from 0: .*{told}", lambda wrong=wrong: server.run_many([*members[:2], wrong, members[3]]))  # fmt: skip
        assert server.key_traffic.loads == loads
    parts = [client.encrypt_part(x=x), client.encrypt_part(y=x)]
    refused(RangeError, "member 0, .*n is 9", lambda: server.run_many([parts], integers={"n": 9}))


def test_a_batch_that_fails_leaves_a_server_that_works(looped, members, tmp_path):
    folder, _, resident = looped
    server, seen = server_of(folder), []

    def stop(event):
        seen.append(event)
        if len(seen) == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        server.run_many(members, on_event=stop)
    assert len(seen) == 20 and server.key_traffic.held_rows == 0
    assert [y.to_bytes() for y in server.run_many(members)] == [resident(one).to_bytes() for one in members]


def test_results_of_files_get_their_names(looped, members, tmp_path):
    folder, _, resident = looped
    files = [tmp_path / f"{number}.lwct" for number in range(3)]
    for file, one in zip(files, members, strict=False):
        one.save(file)
    out = tmp_path / "out"
    command = ["run", folder / "model.lwplan", *files, "-k", folder / "keys", "--each", out]
    budget = ["--key-memory", "1MB"]
    assert "there is no folder" in fault(*command, status=3)
    out.mkdir()
    done = CliRunner().invoke(app, [str(word) for word in [*command, *budget]])
    assert done.exit_code == 0 and "wrote 3 results" in done.output
    for file, one in zip(files, members, strict=False):
        assert (out / file.name).read_bytes() == resident(one).to_bytes()
    assert "exists; --force" in fault(*command, status=3)
    done = CliRunner().invoke(app, [str(word) for word in [*command, "--force", "--json"]])
    assert done.exit_code == 0 and '"outputs"' in done.output
    for more, told in (
        (["-o", "x.lwct"], "--each takes neither --output"),
        (["--checkpoint", "c.ckpt"], "nor --checkpoint"),
        ([files[0]], "two outputs have this name"),
        (["-"], "- has no name"),
    ):
        assert told in fault(*command, *more, "--force")
    assert "is also an input" in fault(*command[:-1], tmp_path, "--force")
    assert not [name for name in os.listdir(out) if not name.endswith(".lwct")]
