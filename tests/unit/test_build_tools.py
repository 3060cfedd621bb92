"""Building and installing says how far it is and, where it cannot be done, why and what to do."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from latticework.words.extension import explain

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import build_backend  # noqa: E402
import test_pythons  # noqa: E402
import watch_build  # noqa: E402

sys.path.remove(str(TOOLS))
FAILING_FINDER = """
import sys
class Finder:
    def find_spec(name, *_):
        if name == "latticework._core":
            raise PermissionError(13, "Permission denied", "/srv/tree/build/cp311/editable_rebuild.lock")
sys.meta_path.insert(0, Finder)
import latticework
latticework.load("model.lwplan")
"""


def test_an_extension_that_cannot_be_rebuilt_names_the_folder_and_the_remedy():
    done = subprocess.run(
        [sys.executable, "-c", FAILING_FINDER], capture_output=True, text=True, timeout=120, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: latticework is installed editable from ")
    assert "/srv/tree/build/cp311 cannot be written by this user" in last and "pip install" in last


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file", "cmake"), r"cmake is not in PATH: put the tools .* PATH=.*/bin:\$PATH"),
        (subprocess.CalledProcessError(1, "cmake"), "what is printed above .*non-zero exit status 1.*tools/setup"),
        (ModuleNotFoundError("no", name="latticework._core"), r"no C\+\+ extension for Python 3\.\d+: .* -m pip"),
        (ImportError("undefined symbol: x"), "undefined symbol: x"),
    ],
    ids=["cmake", "compiler", "missing", "other"],
)
def test_other_faults_of_loading_are_told_apart(error, said):
    with pytest.raises(ImportError, match=said):
        raise explain(error)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A source tree, and a set of places in it that cannot be written."""
    closed = set()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) not in closed)
    return tmp_path, closed


def test_an_editable_install_of_a_tree_of_another_user_is_refused(tree):
    root, closed = tree
    assert build_backend.unwritable(root) is None
    closed.add(root)
    said = rf"builds in {root}/build, but {root} belongs to \S+ and \S+ cannot write there\. Use a copy .*pip install {root}"
    for build in (build_backend.build_editable, build_backend.prepare_metadata_for_build_editable):
        with pytest.raises(SystemExit, match=said):
            build("anywhere")
    cache = root / "build" / f"cp{sys.version_info.major}{sys.version_info.minor}-linux" / "CMakeCache.txt"
    cache.parent.mkdir(parents=True)
    cache.touch()
    assert build_backend.unwritable(root) is None
    closed.add(cache)
    assert build_backend.unwritable(root) == cache


def test_a_wheel_of_such_a_tree_is_built_elsewhere(tree, monkeypatch, capsys):
    root, closed = tree
    used = []
    monkeypatch.setattr(
        build_backend.scikit, "build_wheel", lambda folder, settings, _: used.append(settings) or "a.whl"
    )
    build_backend.build_wheel("out", {"wheel.cmake": "true"})
    closed.add(root)
    build_backend.build_wheel("out", {"wheel.cmake": "true"})
    build_backend.build_wheel("out", {"build-dir": "mine"})
    assert used[0] == {"wheel.cmake": "true"} and used[2] == {"build-dir": "mine"}
    assert used[1]["wheel.cmake"] == "true" and not Path(used[1]["build-dir"]).is_relative_to(root)
    assert f"{root} cannot be written; building in {used[1]['build-dir']}" in capsys.readouterr().out


BUILD = """
for i in range(1, 9): print(f"  [{i}/8] Building CXX object CMakeFiles/core.dir/cpp/ring.cpp.o")
print("the reason")
raise SystemExit(%d)
"""


def test_a_build_says_how_far_it_is():
    told = io.StringIO()
    assert watch_build.watched("setup", [sys.executable, "-c", BUILD % 0], told) == 0
    lines = told.getvalue().splitlines()
    assert [line.partition(",")[0] for line in lines[:-1]] == [f"setup: {n} of 8 compilations" for n in (1, 2, 4, 6, 8)]
    assert lines[-1].startswith("setup: built after ")


def test_a_build_that_fails_shows_its_last_lines():
    told = io.StringIO()
    assert watch_build.watched("setup", [sys.executable, "-c", BUILD % 3], told) == 3
    assert "setup: FAILED after" in told.getvalue() and told.getvalue().endswith("the reason\n")


def test_pythons_that_are_too_old_or_not_here_are_named(tmp_path, monkeypatch):
    for name, body in {"python3.10": "exit 0", "python3.12": "exit 0", "python3.13": "exit 1"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    found = test_pythons.interpreters()
    assert found == {"3.10": tmp_path / "python3.10", "3.12": tmp_path / "python3.12"}
    assert test_pythons.refusal("3.12", found) is None
    assert test_pythons.refusal("3.10", found) == "Python 3.10 is too old: latticework needs 3.11 or newer"
    assert test_pythons.refusal("3.13", found) == "Python 3.13 is not here: no python3.13 in PATH or of pyenv"


def test_supported_versions_are_those_of_the_classifiers():
    assert test_pythons.SUPPORTED[0] == ".".join(map(str, test_pythons.OLDEST))
    assert {"3.12", "3.13"} <= set(test_pythons.SUPPORTED)
