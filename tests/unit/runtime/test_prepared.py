"""Constants that are encoded ahead: the same bytes as without, never taken from anything but what was verified."""

import fcntl
import json
import os
import re
import resource

import numpy as np
import pytest
from rlwe_cases import shared_case, to_bytes
from test_executor_arrays import ROWS, SLOTS, encrypted, map_plan
from typer.testing import CliRunner

import latticework as lw
from latticework import _core
from latticework.cli import app
from latticework.errors import BudgetError, FormatError, ParameterMismatchError, SecurityError, UserError
from latticework.runtime.server import constant_sources, prepared
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
def shares(a: lw.vector(4, low=0, high=9), b: lw.vector(4, low=0, high=9)):
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
    return Case(tmp_path_factory.mktemp("integers"), shares, {"a": [1, 2, 3, 9], "b": [4, 3, 2, 1]}, scheme="bfv")


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


def test_every_altered_byte_is_refused(network):
    size = network.file.stat().st_size
    places = [0, 9, 13, 40, 100, 130, 200, 4096, 4096 + 20, 5000, *range(9000, size, size // 20), size - 100]

    def flip(place):
        def change(data):
            data[place] ^= 1

        return change

    for place in places:
        with pytest.raises(FormatError):
            network.server(network.altered(flip(place)))
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


def test_budgets_and_devices(network, monkeypatch):
    with pytest.raises(UserError, match=r"device='sim.*' encodes by itself"):
        network.model.server(network.keys, device="sim", prepared=network.file)
    monkeypatch.setattr("latticework.runtime.server.shares.DEFAULT_CONSTANTS", 1000)
    with pytest.raises(BudgetError, match=r"of encoded constants, and this server has 1.* kB for them"):
        network.server()
    assert network.model.server(network.keys, memory="1GB", prepared=network.file)(network.inputs)


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
