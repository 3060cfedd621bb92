"""Comparisons with peers: finding interpreters, taking turns, workers, and the rows that follow."""

import sys
from math import log2
from pathlib import Path

import numpy as np
import pytest

from latticework.commands.benchmarks import suites
from latticework.errors import UserError

suites()  # puts the source tree on the path
from bench.peers import boot, environments  # noqa: E402
from bench.peers.boot import bits_left, boot_rows, compare_boot, measure  # noqa: E402
from bench.peers.compare import TARGETS, Findings, rows  # noqa: E402
from bench.peers.environments import PEERS, Peer, Unavailable, environment, find_python  # noqa: E402
from bench.peers.installation import NATIVE, Native, compiled, installation  # noqa: E402
from bench.peers.process import Failed, Library, processors  # noqa: E402
from bench.peers.turns import Duel, Effort, duel  # noqa: E402
from bench.peers.workers.sets import BABIES, CKKS, SIDE  # noqa: E402


def fake_python(path: Path, version: str | None) -> Path:
    """A program that answers with a version, or fails as a version manager's stand-in does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n" if version else "#!/bin/sh\nexit 127\n")
    path.chmod(0o755)
    return path


def test_interpreter_on_the_path_comes_before_managed_ones(tmp_path):
    fake_python(tmp_path / "home/.pyenv/versions/3.10.4/bin/python", "3.10")
    on_path = fake_python(tmp_path / "bin/python3.10", "3.10")
    assert find_python("3.10", tmp_path / "home", str(tmp_path / "bin")) == on_path


def test_stand_ins_are_passed_over_and_the_newest_release_is_taken(tmp_path):
    fake_python(tmp_path / "bin/python3.10", None)
    fake_python(tmp_path / "bin/python3", "3.12")
    fake_python(tmp_path / ".pyenv/versions/3.10.4/bin/python", "3.10")
    newest = fake_python(tmp_path / ".pyenv/versions/3.10.13/bin/python", "3.10")
    assert find_python("3.10", tmp_path, str(tmp_path / "bin")) == newest


@pytest.mark.parametrize(
    "place",
    [
        ".asdf/installs/python/3.10.9/bin/python",
        ".local/share/uv/python/cpython-3.10.16-linux-x86_64-gnu/bin/python3",
        "miniconda3/envs/old/bin/python3.10",
    ],
)
def test_version_managers(tmp_path, place):
    assert find_python("3.10", tmp_path, "") is None
    expected = fake_python(tmp_path / place, "3.10")
    assert find_python("3.10", tmp_path, "") == expected


def test_without_an_interpreter_a_peer_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "find_python", lambda version: None)
    with pytest.raises(Unavailable, match=r"openfhe.* needs Python 3\.10.*uv python install"):
        environment(PEERS[0], tmp_path)


def test_an_environment_that_is_there_is_used(tmp_path):
    peer = Peer("demo", ("demo==1.0",), ("3.0",), "json", "none.py")
    python = tmp_path / "demo-1.0/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    assert environment(peer, tmp_path) == python


class Scripted:
    """A library whose runs take what it is told, and which notes who was asked when."""

    def __init__(self, name, log, seconds, error=0.0):
        self.name, self.log, self.seconds, self.error = name, log, seconds, error

    def ask(self, **request):
        if "check" in request:
            return {"error": self.error}
        self.log.append(self.name)
        return {"wall": [2 * self.seconds] * 3, "cpu": [self.seconds] * 3}


def test_turns_alternate_and_medians_are_taken():
    log = []
    found = duel(Scripted("ours", log, 1.0), Scripted("peer", log, 4.0), "add", Effort(rounds=3), "cpu", 1e-3)
    assert log == ["ours", "peer"] * 3
    assert (found.ours, found.theirs, found.runs, found.checked) == (1.0, 4.0, (9, 9), True)
    assert duel(Scripted("o", [], 1.0), Scripted("p", [], 4.0), "add", Effort(2), "wall", 1e-3).ours == 2.0


@pytest.mark.parametrize(("ours", "theirs", "checked"), [(0.0, None, True), (None, 0.0, False), (0.5, 0.0, False)])
def test_only_right_results_count_as_checked(ours, theirs, checked):
    sides = Scripted("o", [], 1.0, ours), Scripted("p", [], 1.0, theirs)
    assert duel(*sides, "add", Effort(1), "cpu", 1e-3).checked is checked


def findings():
    found = Findings("ckks", "a", 1)
    found.facts = {
        "ours": {"library": "us", "digits": 4, "log2_q": 300.0},
        "one": {"library": "one 1.0", "log2_q": 400},
        "two": {"library": "two 2.0", "log2_q": 400},
    }
    found.duels = {
        "rotate": {"one": Duel(1e-3, 5e-3, True, (0.0, 0.0), (9, 9)), "two": Duel(1e-3, 4.5e-3, True, (0, 0), (9, 9))},
        "add": {"two": Duel(1e-3, 0.5e-3, True, (0.0, 0.0), (9, 9))},
    }
    found.sizes = {"key_bytes": {"ours": 1e6, "one": 3e6}}
    found.skip("", "three", "needs Python 3.10")
    return found


def test_targets_are_set_by_the_fastest_peer():
    shown = {(row.metric, row.source): row for row in rows(findings())}
    best = shown["rotate, 1 thread", "two 2.0, same run, in turns (the faster peer)"]
    assert (best.ours, best.reference, best.ratio) == (1.0, 4.5, pytest.approx(4.5))
    assert best.target == pytest.approx(4.5 / 4) and best.meets is True
    assert best.details["ours"]["us_per_modulus_bit"] == pytest.approx(1000 / 300, rel=1e-3)
    assert best.details["ours"]["digits"] == 4
    assert shown["rotate, 1 thread", "one 1.0, same run, in turns"].meets is None
    assert shown["add, 1 thread", "two 2.0, same run, in turns"].target is None
    assert shown["key size", "one 1.0, same run"].ratio == 3.0


def test_what_was_skipped_is_not_met_and_says_why():
    skipped = [row for row in rows(findings()) if row.ours is None]
    assert {row.metric.partition(",")[0] for row in skipped} == set(TARGETS["ckks"]) - {"rotate"}
    assert all(row.meets is False and "needs Python 3.10" in row.note for row in skipped)


def boot_findings():
    found = Findings("boot", "12", 1)
    found.facts = {
        "ours": {"library": "us", "log2_degree": 12, "log2_qp": 100.0},
        "ours, real": {"library": "us", "log2_degree": 12, "log2_qp": 99.0},
        "one": {"library": "one 1.0", "log2_degree": 12, "log2_qp": 120.0},
    }
    common = {"rms_bits": 24.0, "worst_bits": 20.0, "key_bytes": 2e9, "key_memory_bytes": 4e9, "error": 2.0**-20}
    figures = {
        "ours": common | {"seconds": 3.0, "levels_left": 14.0, "level_bits": 42.0, "peak_bytes": 5e9},
        "ours, real": common | {"seconds": 2.0, "levels_left": 14.0, "level_bits": 42.0, "peak_bytes": 5e9},
        "one": common | {"seconds": 27.0, "levels_left": 9.0, "level_bits": 59.0, "peak_bytes": 14e9, "rms_bits": 20.0},
    }
    return found, figures


def test_bootstraps_are_compared_by_time_levels_and_memory():
    rows_of = list(boot_rows(*boot_findings()))
    shown = {row.metric: row for row in rows_of if "complex" in row.case}
    real = next(row for row in rows_of if "real" in row.case)
    assert (real.ratio, real.details["ours"]["log2_qp"]) == (13.5, 99.0)
    time = shown["bootstrap, 1 thread"]
    assert (time.ratio, time.target, time.meets) == (9.0, 27.0 / 6, True)
    assert time.details["ours"]["secure"] is True and time.details["one"]["secure"] is False
    assert shown["time for each level left"].ratio == pytest.approx((27 / 9) / (3 / 14))
    assert shown["time for each bit of modulus left"].ours == pytest.approx(3000 / (14 * 42))
    assert (shown["peak memory"].ours, shown["peak memory"].reference) == (5.0, 14.0)
    assert shown["precision rms"].ratio == pytest.approx(1.2)


def test_a_native_build_is_held_to_the_time_of_a_bit_of_modulus_left_with_slots_of_its_kind():
    found, figures = boot_findings()
    del figures["one"]
    for kind, seconds in (("complex", 24.0), ("real", 12.0)):
        name = f"{NATIVE}, {kind}"
        figures[name] = figures["ours"] | {"seconds": seconds, "levels_left": 10.0, "level_bits": 60.0}
        found.facts[name] = {"library": "OpenFHE 1.5.1", "order": "SlotsToCoeff first", "log2_degree": 12}
    shown = list(boot_rows(found, figures))
    assert {row.case for row in shown} == {"boot N=2^12, our slots complex", "boot N=2^12, our slots real"}
    wanted = [row for row in shown if row.target is not None]
    assert [row.metric for row in wanted] == ["time for each bit of modulus left"] * 2
    assert [row.reference for row in wanted] == pytest.approx([40.0, 20.0])
    assert [row.target for row in wanted] == pytest.approx([10.0, 5.0])
    assert [row.meets for row in wanted] == [True, True]  # 3000 / 588 and 2000 / 588
    assert wanted[0].source == "OpenFHE 1.5.1, SlotsToCoeff first, same run, one after the other"
    assert wanted[0].note == (
        "14 levels of 42 bits left, precise to 24.0 bits rms, 20.0 at worst; "
        "theirs 10 levels of 60 bits left, precise to 24.0 bits rms, 20.0 at worst"
    )


def test_a_native_build_is_given_our_bits_of_modulus(monkeypatch, tmp_path):
    started = []

    class Fake:
        def __init__(self, name, python, worker, arguments, threads):
            self.facts = {}
            started.append((name, python, worker, arguments))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    _, figures = boot_findings()
    monkeypatch.setattr(boot, "Library", Fake)
    monkeypatch.setattr("bench.peers.installation.Library", Fake)
    monkeypatch.setattr(boot, "measure", lambda *_: figures["ours"])
    native = Native("OpenFHE 1.5.1", tmp_path / "program", "modraise-first")
    found, measured = compare_boot(12, 1, 1, (), lambda _: None, native)
    assert list(measured) == ["ours", "ours, real", f"{NATIVE}, complex", f"{NATIVE}, real"]
    assert bits_left(figures["ours"]) == 14 * 42
    assert started[2:] == [
        (NATIVE, None, str(native.program), ["boot", "12", kind, "modraise-first", "10", "4", "4", "3"])
        for kind in ("complex", "real")
    ]
    assert found.facts[f"{NATIVE}, real"]["library"] == "OpenFHE 1.5.1"


@pytest.fixture
def prefix(tmp_path):
    """What an installation of OpenFHE looks like."""
    place = tmp_path / "prefix"
    for folder in ("lib/OpenFHE", "include/openfhe/core"):
        (place / folder).mkdir(parents=True)
    (place / "lib/libOPENFHEpke.so").touch()
    (place / "include/openfhe/core/config_core.h").write_text("#define NATIVEINT 64\n#define WITH_INTEL_HEXL\n")
    (place / "lib/OpenFHE/OpenFHEConfig.cmake").write_text(
        'set(BASE_OPENFHE_VERSION 1.5.1)\nset(OpenFHE_CXX_FLAGS " -Wall -Werror -march=native -fopenmp")\n'
        'set(OpenFHE_CXX_COMPILER_ID "Clang")\nset(OpenFHE_CXX_COMPILER_VERSION "19.1")\nset(OpenFHE_NATIVEOPT "ON")\n'
    )
    return place


def test_an_installation_says_how_it_was_built(prefix):
    found = installation(prefix)
    assert found.about == "OpenFHE 1.5.1, built by Clang 19.1, for this machine (NATIVEOPT), with HEXL"
    assert found.flags == ("-march=native", "-fopenmp") and found.links == ("-lhexl",)
    config = prefix / "lib/OpenFHE/OpenFHEConfig.cmake"
    config.write_text(config.read_text().replace('"ON"', '"OFF"'))
    (prefix / "include/openfhe/core/config_core.h").write_text("/* #undef WITH_INTEL_HEXL */\n")
    plain = installation(prefix)
    assert plain.about.endswith("NOT for this machine (no NATIVEOPT), without HEXL") and plain.links == ()


@pytest.mark.parametrize(
    "lacking", ["lib/OpenFHE/OpenFHEConfig.cmake", "lib/libOPENFHEpke.so", "include/openfhe/core/config_core.h"]
)
def test_a_prefix_without_openfhe_is_refused(prefix, lacking):
    (prefix / lacking).unlink()
    with pytest.raises(UserError, match=f"--openfhe {prefix} is no installation of OpenFHE: {lacking} is not there"):
        installation(prefix)


def test_the_worker_is_compiled_for_an_installation(prefix, tmp_path, monkeypatch):
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\nfor word; do echo "$word"; done >"${0}.called"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", f"{compiler} -v")
    native = compiled(prefix, "stc-first", tmp_path)
    words = (tmp_path / "compiler.called").read_text().split("\n")
    assert {"-v", "-fopenmp", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-lOPENFHEcore"} <= set(words)
    assert str(native.program) == words[words.index("-o") + 1] and native.order == "stc-first"
    compiler.write_text("#!/bin/sh\necho 'a.cpp:1: error: no openfhe.h' >&2\nexit 1\n")
    with pytest.raises(UserError, match=r"does not compile with OpenFHE 1\.5\.1, .*: a\.cpp:1: error: no openfhe\.h"):
        compiled(prefix, "stc-first", tmp_path)
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    with pytest.raises(UserError, match="--openfhe needs a C\\+\\+ compiler, and .*none: No such file"):
        compiled(prefix, "stc-first", tmp_path)


def test_a_program_can_be_a_worker(tmp_path):
    program = tmp_path / "program"
    program.write_text(
        '#!/bin/sh\necho \'{"facts": {"log2_degree": 12}, "operations": ["bootstrap"]}\'\ncat >/dev/null\n'
    )
    program.chmod(0o755)
    with Native("OpenFHE 0", program, "stc-first").boot(12, "real", 588.0, 1) as library:
        assert library.facts == {"log2_degree": 12, "library": "OpenFHE 0"} and library.operations == ["bootstrap"]


def test_a_wrong_bootstrap_meets_nothing_and_a_missing_peer_is_named():
    found, figures = boot_findings()
    figures["ours"]["error"] = 0.5
    assert [row.meets for row in boot_rows(found, figures) if row.target] == [False, True]
    del figures["one"]
    found.skip("", "one", "needs Python 3.10")
    row, _ = boot_rows(found, figures)
    assert row.ours == 3.0 and row.meets is False and "needs Python 3.10" in row.note


@pytest.mark.slow
@pytest.mark.parametrize("slots", ["complex", "real"])
def test_our_bootstrap_worker(slots):
    with Library("ours", Path(sys.executable), "ours_boot_worker.py", ["boot", "11", "1", slots], 1) as ours:
        figures = measure(ours, 1, "cpu")
    assert figures["error"] < 2.0**-20 and figures["levels_left"] == 3.0
    assert figures["rms_bits"] > figures["worst_bits"] > 20
    assert 0 < figures["key_bytes"] < figures["key_memory_bytes"] < figures["peak_bytes"]


def test_our_worker_answers():
    with Library("ours", Path(sys.executable), "ours_worker.py", ["ntt", "10", "1"], 1) as ours:
        assert ours.facts["log2_degree"] == 10 and ours.operations == ["ntt", "intt"]
        answer = ours.ask(op="ntt", seconds=0.0, least=2, most=2)
        assert len(answer["wall"]) == len(answer["cpu"]) == 2
        assert ours.ask(check="ntt") == {"error": 0.0}
        with pytest.raises(Failed, match="frobnicate"):
            ours.ask(op="frobnicate", seconds=0.0, least=1, most=1)
        assert ours.ask(check="intt") == {"error": 0.0}  # goes on after a failure
    assert ours.process.returncode == 0


def test_a_worker_that_ends_is_reported(tmp_path):
    with pytest.raises(Failed, match="status 1: KeyError.*frobnicate"):
        Library("ours", Path(sys.executable), "ours_worker.py", ["frobnicate", "10", "1"], 1)


def test_matrix_vector_product_by_diagonals(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(environments.__file__).parent / "workers"))
    import work

    data = work.MatrixVector(2 * SIDE)
    total = np.zeros(2 * SIDE)
    for giant, row in data.giants():
        assert [baby for baby, _ in row] == list(range(BABIES))
        total += np.roll(sum(d * np.roll(data.vector, -baby) for baby, d in row), -giant)
    assert np.allclose(total, data.expected)
    assert set(work.STEPS_OF_MATVEC) == {*range(1, BABIES), *range(BABIES, SIDE, BABIES)}


@pytest.mark.parametrize("name", CKKS)
def test_our_primes_fit_the_sets(name):
    chosen = CKKS[name]
    log2_q = chosen.our_first_bits + (chosen.limbs - 1) * chosen.scale_bits
    first_digit = chosen.our_first_bits + (chosen.limbs_a_digit - 1) * chosen.scale_bits
    assert max(chosen.our_first_bits, chosen.our_special_bits) <= 49
    assert chosen.limbs_a_digit * chosen.our_special_bits >= first_digit
    assert log2_q < 60 + (chosen.limbs - 1) * chosen.scale_bits
    assert -(-chosen.limbs // chosen.limbs_a_digit) == chosen.digits
    assert log2(len(processors(1))) == 0


def test_network_of_the_digits_suite(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(Path(environments.__file__).parent / "workers"))
    from network import Network

    rng = np.random.default_rng(1)
    arrays = {"w1": rng.normal(size=(6, 4)), "b1": rng.normal(size=4), "w2": rng.normal(size=(4, 3))}
    arrays |= {"b2": rng.normal(size=3), "images": rng.uniform(size=(5, 6)), "low": -8.0, "high": 6.0}
    half, middle = 7.0, -1.0
    arrays["series"] = np.polynomial.chebyshev.chebinterpolate(lambda t: (half * t + middle) ** 2, 4)
    np.savez(tmp_path / "network.npz", **arrays)
    network = Network(tmp_path / "network.npz")
    expected = (arrays["images"] @ arrays["w1"] + arrays["b1"]) ** 2 @ arrays["w2"] + arrays["b2"]
    assert np.allclose(network.logits(), expected)
    assert network.different_classes(expected) == 0
    assert network.different_classes(-expected) > 0
