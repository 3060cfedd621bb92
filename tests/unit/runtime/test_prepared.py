"""Constants that are encoded ahead: the same bytes as without, never taken from anything but what was verified."""

import fcntl
import json
import os
import re
import resource
import subprocess
import sys

import numpy as np
import pytest
from rlwe_cases import shared_case, to_bytes
from test_executor_arrays import ROWS, SLOTS, encrypted, map_plan
from typer.testing import CliRunner

import latticework as lw
from latticework import _core
from latticework.cli import app
from latticework.errors import FormatError, ParameterMismatchError, SecurityError, UserError
from latticework.runtime.server import constant_sources, prepared, shares
from latticework.runtime.server.server import Server

RNG = np.random.default_rng(8)
DATA = RNG.uniform(-1, 1, (16, 8))
WEIGHTS = RNG.normal(size=(8, 8)), RNG.normal(size=8), RNG.normal(size=(4, 8))


def has_seals():
    """Whether the system has memory that can be sealed."""
    try:
        os.close(os.memfd_create("probe", os.MFD_ALLOW_SEALING))
    except (AttributeError, OSError):
        return False
    return True


SHARES = pytest.mark.skipif(not has_seals(), reason="processes share no memory on this system")


@lw.program
def layers(x: lw.Secret[8], w1, b1, w2):
    return w2 @ (w1 @ x + b1) ** 2


@lw.circuit
def polynomials(a: lw.vector(4, low=0, high=9), b: lw.vector(4, low=0, high=9)):
    return [3 * x * x + 2 * y - x * y + 5 for x, y in zip(a, b, strict=True)]


class Case:
    def __init__(self, folder, program, inputs, **options):
        self.model = lw.compile(program, ring_degree=1024, insecure=True, **options)
        self.client = client = self.model.client()
        self.keys, self.file, self.folder = client.keygen().public(), folder / "constants.lwprepared", folder
        self.inputs = client.encrypt(**inputs)
        self.expected = self.model.server(self.keys)(self.inputs).to_bytes()
        self.model.prepare(self.file)

    def server(self, path=None):
        return self.model.server(self.keys, prepared=self.file if path is None else path)

    def altered(self, change):
        """A file beside it, with other bytes."""
        path, data = self.folder / "altered", bytearray(self.file.read_bytes())
        change(data)
        path.write_bytes(data)
        return path


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return Case(tmp_path_factory.mktemp("network"), layers, {"x": DATA[0]}, calibrate=DATA, weights=WEIGHTS)


@pytest.fixture(scope="module")
def integers(tmp_path_factory):
    return Case(tmp_path_factory.mktemp("integers"), polynomials, {"a": [1, 2, 3, 9], "b": [4, 3, 2, 1]}, scheme="bfv")


@pytest.fixture
def no_encoding(network, integers, monkeypatch):
    """Servers of these cannot encode."""

    def refuse(*_):
        raise AssertionError("a constant was encoded")

    monkeypatch.setattr(constant_sources, "slot_vectors", refuse)


@pytest.mark.parametrize("name", ["network", "integers"])
def test_results_are_the_same_and_nothing_is_encoded(request, no_encoding, name):
    case = request.getfixturevalue(name)
    server = case.server()
    for _ in range(2):
        assert server(case.inputs).to_bytes() == case.expected
    assert 0 < server.memory_use.constants <= case.file.stat().st_size


def test_block_maps_are_prepared_product_by_product(tmp_path):
    case = shared_case("plain")
    plan = map_plan(case, 3).plan(case.parameters)
    values = {product: np.random.default_rng(product).normal(size=SLOTS) for product in range(len(ROWS))}

    def sources(number, product):
        return values[product]

    x = encrypted(case, np.random.default_rng(3).normal(size=(2, SLOTS)))
    products = {"products": lambda _: ROWS}
    wanted = _core.Executor(case.context, plan, case.keys, sources, **products).run([x])
    file, names = tmp_path / "maps", (bytes(32), "build")
    _core.prepare(file, case.context, plan, sources, products["products"], *names, 0)
    found = _core.open_prepared(file, case.context, *names)
    executor = _core.Executor(case.context, plan, case.keys, None, prepared=found, **products)
    assert [list(map(to_bytes, array)) for array in executor.run([x])] == [list(map(to_bytes, a)) for a in wanted]


def test_the_file_may_become_anything_once_it_is_open(network, no_encoding):
    for change in (lambda path: os.truncate(path, 0), lambda path: path.write_bytes(bytes(len(path.read_bytes())))):
        path = network.altered(lambda data: None)
        server = network.server(path)
        change(path)
        assert server(network.inputs).to_bytes() == network.expected


def test_every_altered_byte_is_refused_where_it_is_taken(network, monkeypatch):
    """Under one budget whole plaintexts are taken, under the other coefficients; each byte is of one or of both."""
    size = network.file.stat().st_size
    places = [0, 9, 13, 40, 100, 130, 200, 4096, 4096 + 20, 5000, *range(9000, size, size // 20), size - 100]
    budgets = shares.DEFAULT_CONSTANTS, network.server().memory_use.constants - 1

    def is_refused(change, budget):
        monkeypatch.setattr(shares, "DEFAULT_CONSTANTS", budget)
        try:
            server = network.server(network.altered(change))
        except FormatError:
            return True
        assert server(network.inputs).to_bytes() == network.expected
        return False

    def flip(place):
        def change(data):
            data[place] ^= 1

        return change

    refused = [[is_refused(flip(place), budget) for budget in budgets] for place in places]
    assert all(any(each) for each in refused)
    assert all(all(each) for each in refused[:10])
    for length in (0, 100, 4096, size - 1):
        with pytest.raises(FormatError):
            network.server(network.altered(lambda data, length=length: data.__delitem__(slice(length, None))))


def test_a_file_of_another_plan_is_refused(network, integers, tmp_path):
    other = lw.compile(
        layers, ring_degree=1024, insecure=True, calibrate=DATA, weights=(WEIGHTS[0], WEIGHTS[1] + 1e-9, WEIGHTS[2])
    )
    other.prepare(tmp_path / "other")
    with pytest.raises(ParameterMismatchError, match=r"those of another plan.*latticework prepare"):
        network.server(tmp_path / "other")
    with pytest.raises(ParameterMismatchError):
        network.server(integers.file)
    network.model.save(tmp_path / "plan")
    with pytest.raises(FormatError, match=r"expected prepared constants, got a plan"):
        network.server(tmp_path / "plan")


def test_a_file_for_other_words_or_another_build_is_refused(network, monkeypatch):
    plan = network.model.plan
    for backend in ("ref", *(name for name, is_here in _core.backend_variants("cpu") if is_here)):
        context = _core.Context(network.client.context.parameters, backend, 1)
        with pytest.raises(ParameterMismatchError, match=f"this server has backend {backend}"):
            prepared.open_prepared(network.file, plan, context)
    monkeypatch.setattr(prepared, "build_of_core", lambda: "another")
    with pytest.raises(
        ParameterMismatchError, match=r"encoded by another build of latticework .* than this one \(another"
    ):
        network.server()


def test_what_another_user_may_write_is_refused(network):
    path = network.altered(lambda data: None)
    path.chmod(0o664)
    with pytest.raises(SecurityError, match=r"other users may write the file.*chmod go-w"):
        network.server(path)
    path.chmod(0o644)
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
        with pytest.raises(SecurityError, match="belongs to another user"):
            network.server(path)
    path.unlink()


def test_a_failed_write_leaves_what_was_there(network, tmp_path, monkeypatch):
    path = tmp_path / "constants"
    path.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(OSError, match="cannot reserve"):
            network.model.prepare(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    calls = []

    def fail(*given):
        calls.append(given)
        if len(calls) == 3:
            raise ZeroDivisionError
        return np.zeros(8)

    monkeypatch.setattr(constant_sources, "slot_vectors", fail)
    with pytest.raises(ZeroDivisionError):
        network.model.prepare(path)
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_devices_encode_by_themselves(network):
    with pytest.raises(UserError, match=r"device='sim.*' encodes by itself"):
        network.model.server(network.keys, device="sim", prepared=network.file)


def encoded(monkeypatch):
    """The constants that are asked for, from now on."""
    real, asked = constant_sources.slot_vectors, []

    def count(*given):
        asked.append(given)
        return real(*given)

    monkeypatch.setattr(constant_sources, "slot_vectors", count)
    return asked


@pytest.mark.parametrize("name", ["network", "integers"])
def test_a_budget_takes_what_it_holds_and_the_rest_is_encoded(request, name, monkeypatch):
    """From nothing to everything: results are the same, less is encoded with more, and no budget is exceeded."""
    case, counts = request.getfixturevalue(name), []
    for budget in (0, 1000, 9_000, 20_000, 50_000, 100_000, 1 << 40):
        monkeypatch.setattr(shares, "DEFAULT_CONSTANTS", budget)
        server, asked = case.server(), encoded(monkeypatch)
        for _ in range(2):
            assert server(case.inputs).to_bytes() == case.expected
            assert server.memory_use.constants <= budget
        counts.append(len(asked))
        monkeypatch.undo()
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1] == 0


def test_coefficients_come_first_where_not_all_plaintexts_fit(network, no_encoding, monkeypatch):
    """A budget that holds all coefficients, and few plaintexts, spares all encoding."""
    whole = network.server().memory_use.constants
    monkeypatch.setattr(shares, "DEFAULT_CONSTANTS", whole - 1)
    server = network.server()
    assert server(network.inputs).to_bytes() == network.expected
    assert server.memory_use.constants < whole


@SHARES
def test_servers_with_other_budgets_share_nothing_wrong(network, monkeypatch):
    """Memory is named by what was chosen: a server never takes that of another choice for its own."""
    servers = [network.server()]
    for budget in (20_000, 50_000, 20_000):
        monkeypatch.setattr(shares, "DEFAULT_CONSTANTS", budget)
        servers.append(network.server())
    assert len(set(mappings()[-4:])) == 3
    for server in servers:
        assert server(network.inputs).to_bytes() == network.expected


def test_memory_that_is_given_is_kept_to(network):
    """`memory=` that is too little for the file is no reason to refuse it."""
    least = 8 * 10**6
    server = network.model.server(network.keys, memory=least, prepared=network.file)
    assert server(network.inputs).to_bytes() == network.expected
    assert network.model.server(network.keys, memory="1GB", prepared=network.file)(network.inputs)


def test_a_writer_that_is_killed_leaves_no_file(network, tmp_path):
    """What it had written is no file of this name; the next one writes all of it."""
    network.model.save(tmp_path / "plan")
    code = (
        "import os, sys, latticework as lw\n"
        "from latticework.runtime.server import constant_sources as c\n"
        "real, calls = c.slot_vectors, []\n"
        "def die(*given):\n"
        "    calls.append(given)\n"
        "    if len(calls) == 12: os.kill(os.getpid(), 9)\n"
        "    return real(*given)\n"
        "c.slot_vectors = die\n"
        "lw.Model.load(sys.argv[1], allow_insecure=True).prepare(sys.argv[2])\n"
    )
    path = tmp_path / "constants"
    assert subprocess.run([sys.executable, "-c", code, tmp_path / "plan", path]).returncode == -9
    assert not path.exists()
    network.model.prepare(path)
    assert path.read_bytes() == network.file.read_bytes()


def mappings():
    """Inodes of the shared memory that this process has mapped, how often."""
    with open("/proc/self/maps") as file:
        return [line.split()[4] for line in file if "memfd:latticework-prepared" in line]


@SHARES
def test_servers_share_one_memory_that_nobody_can_change(network):
    before = set(mappings())
    servers = [network.server() for _ in range(2)]
    places = [inode for inode in mappings() if inode not in before]
    assert len(places) == 2 and len(set(places)) == 1
    fds = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    held = next(fd for fd in fds if os.path.exists(fd) and os.stat(fd).st_ino == int(places[0]))
    assert re.fullmatch(r"/memfd:latticework-prepared-[0-9a-f]{64} \(deleted\)", os.readlink(held))
    with open(held, "r+b") as file:
        for change in (lambda: os.pwrite(file.fileno(), b"x", 0), lambda: os.truncate(file.fileno(), 0)):
            with pytest.raises(PermissionError):
                change()
    del servers
    assert set(mappings()) == before


@SHARES
@pytest.mark.parametrize("sealed", [False, True])
def test_memory_of_the_same_name_is_no_proof(network, no_encoding, sealed):
    """Neither what can still be changed is taken, nor what is something else."""
    server = network.server()
    held = next(
        link for fd in os.listdir("/proc/self/fd")
        if os.path.lexists(f"/proc/self/fd/{fd}")
        and (link := os.readlink(f"/proc/self/fd/{fd}")).startswith("/memfd:latticework-prepared")
    )  # fmt: skip
    size = server.memory_use.constants
    del server
    forged = os.memfd_create(held.removeprefix("/memfd:").removesuffix(" (deleted)"), os.MFD_ALLOW_SEALING)
    try:
        os.truncate(forged, size)
        if sealed:
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
            fcntl.fcntl(forged, fcntl.F_ADD_SEALS, seals)
        server = network.server()
        assert str(os.fstat(forged).st_ino) not in mappings()
        assert server(network.inputs).to_bytes() == network.expected
    finally:
        os.close(forged)


def test_the_command_writes_what_run_takes(network, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network.model.save("model.lwplan")
    network.keys.save("keys")
    network.inputs.save("in.lwct")
    told = json.loads(CliRunner().invoke(app, ["prepare", "model.lwplan", "--json"]).stdout)
    assert (told["prepared"], told["bytes"]) == ("model.lwprepared", network.file.stat().st_size)
    assert "NOT encrypted" in CliRunner().invoke(app, ["explain", "model.lwprepared"]).stdout
    monkeypatch.setattr(constant_sources, "slot_vectors", None)
    assert CliRunner().invoke(app, ["run", "model.lwplan", "in.lwct", "--prepared", "model.lwprepared"]).exit_code == 0
    assert (tmp_path / "outputs.lwct").read_bytes() == network.expected
    server = Server.load("model.lwplan", "keys", prepared="model.lwprepared")
    assert server(network.inputs).to_bytes() == network.expected
