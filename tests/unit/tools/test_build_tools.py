"""Building and installing says how far it is and, where it cannot be done, why and what to do."""

import base64
import contextlib
import hashlib
import io
import os
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from latticework.values.extension import explain

TOOLS = Path(__file__).parents[3] / "tools"
sys.path.insert(0, str(TOOLS))
import build_backend  # noqa: E402
import rebuild_extension  # noqa: E402
import test_pythons  # noqa: E402
import watch_build  # noqa: E402

sys.path.remove(str(TOOLS))


def test_a_missing_extension_is_told_from_other_faults_of_loading():
    with pytest.raises(ImportError, match=r"no C\+\+ extension for Python 3\.\d+: .* -m pip"):
        raise explain(ModuleNotFoundError("no", name="latticework._core"))
    with pytest.raises(ImportError, match=r"undefined symbol: x"):
        raise explain(ImportError("undefined symbol: x"))


FAKE_CMAKE = """#!/bin/sh
echo "$*" >>"{build}/calls"
case $1 in
  --build) ! grep -qx wrong "{tree}/cpp/a.cpp" || {{ echo "a.cpp:1: error: wrong"; exit 1; }} ;;
  --install) cp "{tree}/cpp/a.cpp" "$4/latticework/_core.so" ;;
esac
"""


class Editable:
    """A tree of one source that is built in a folder, by a stand-in for CMake that copies the source."""

    def __init__(self, root):
        self.tree, self.build, self.bin = root / "tree", root / "tree/build/mine", root / "bin"
        self.core, self.cache = self.build / "site/latticework/_core.so", self.build / "CMakeCache.txt"
        for folder in (self.tree / "cpp", self.core.parent, self.bin):
            folder.mkdir(parents=True)
        (self.tree / "CMakeLists.txt").touch()
        self.write("one")
        self.program("cmake", FAKE_CMAKE.format(build=self.build, tree=self.tree))
        self.program("c++", "#!/bin/sh\n")
        cache = {"CMAKE_MAKE_PROGRAM": self.bin, "nanobind_DIR": self.bin, "CMAKE_CXX_COMPILER": self.bin / "c++"}
        lines = (f"{name}:FILEPATH={place}\n" for name, place in cache.items())
        self.cache.write_text("# a comment\n//help=x\n" + "".join(lines))
        self.import_it()

    def write(self, text, name="a.cpp"):
        (self.tree / "cpp" / name).write_text(text)

    def program(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def import_it(self):
        rebuild_extension.bring_up_to_date(self.tree, self.build)

    def files(self):
        """Path -> time and contents, of all that is there."""
        return {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in self.tree.rglob("*") if p.is_file()}


@pytest.fixture
def editable(tmp_path, monkeypatch):
    """An installation that is up to date; its imports are impatient."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setattr(rebuild_extension, "SECONDS_TO_WAIT", 0.05)
    return Editable(tmp_path)


@pytest.mark.parametrize("change", ["edited", "added", "removed", "older", "lost", "stopped"])
def test_an_import_compiles_when_something_changed_and_only_then(editable, capsys, change):
    editable.write("two", "b.cpp")
    editable.import_it()
    before = editable.files()
    editable.import_it()
    assert editable.files() == before
    said = {
        "edited": lambda: editable.write("new"),
        "added": lambda: editable.write("new", "c.cpp"),
        "removed": (editable.tree / "cpp/b.cpp").unlink,
        "older": lambda: os.utime(editable.tree / "cpp/a.cpp", (0, 0)),
        "lost": editable.core.unlink,
        "stopped": (editable.build / "built-from").unlink,
    }
    said[change]()
    capsys.readouterr()
    editable.import_it()
    named = {"added": "cpp/c.cpp", "removed": "cpp/b.cpp", "lost": "not there", "stopped": "was not finished"}
    assert named.get(change, "cpp/a.cpp") in capsys.readouterr().err
    # build tools compare times alone: an older source is compiled only if everything is
    assert ("--clean-first" in (editable.build / "calls").read_text()) == (change == "older")
    assert editable.core.read_text() == (editable.tree / "cpp/a.cpp").read_text()
    before = editable.files()
    editable.import_it()
    assert editable.files() == before


def test_a_process_that_holds_the_folder_is_named_where_a_build_is_needed(editable, start_python):
    child = start_python(
        "import fcntl, sys, time\nlock = open(sys.argv[1], 'r+')\nfcntl.flock(lock, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\ntime.sleep(60)",
        str(editable.build / "editable_rebuild.lock"),
    )
    assert child.stdout.readline() == "held\n"
    editable.import_it()  # nothing changed: nothing to wait for
    editable.write("two")
    who = rf"process {child.pid} \(" if sys.platform == "linux" else "another process"
    with pytest.raises(ImportError, match=rf"has to be compiled in \S+mine, but {who}.* holds \S+rebuild\.lock"):
        editable.import_it()
    assert editable.core.read_text() == "one"
    child.kill()
    child.wait()
    editable.import_it()
    assert editable.core.read_text() == "two"


def test_what_another_process_compiled_meanwhile_is_not_compiled_again(editable, monkeypatch):
    really = rebuild_extension.locked

    @contextlib.contextmanager
    def locked_late(build):
        monkeypatch.setattr(rebuild_extension, "locked", really)
        editable.import_it()  # the other one
        with really(build):
            yield

    editable.write("two")
    calls = (editable.build / "calls").read_text().count("--build")
    monkeypatch.setattr(rebuild_extension, "locked", locked_late)
    editable.import_it()
    assert (editable.build / "calls").read_text().count("--build") == calls + 1


def test_a_source_that_does_not_compile_fails_each_import_until_it_is_mended(editable, capfd):
    editable.write("wrong")
    for what in ("cpp/a.cpp", "a build that was not finished"):
        with pytest.raises(ImportError, match=f"for {what}; cmake --build failed with status 1, for what is printed"):
            editable.import_it()
        assert "a.cpp:1: error: wrong" in capfd.readouterr().err
    editable.write("three")
    editable.import_it()
    assert editable.core.read_text() == "three"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("no cmake", r"for cpp/a\.cpp, but cmake is not in PATH: install it, such as with pip install cmake"),
        (
            "cmake of an environment",
            r"cmake is not in PATH: put the tools of this environment first, PATH=\S+/bin:\$PATH",
        ),
        ("cmake does not run", r"cmake at \S+ does not run: pyenv: cmake: command not found"),
        ("no compiler", r"but the C\+\+ compiler it was built with, \S+/gone, is gone\. Install the tree anew"),
        ("no assembler", r"but the C\+\+ compiler \S+/c\+\+ does not run: cannot execute 'as'"),
        ("no nanobind", r"but nanobind it was built with, \S+/gone, is gone\. .*--no-build-isolation"),
        ("no folder", r"but \S+mine, where its C\+\+ extension was built, is gone\. Install the tree anew"),
    ],
)
def test_a_tool_that_is_not_there_is_named(editable, monkeypatch, tmp_path, fault, said):
    editable.write("two")
    if fault == "cmake of an environment":
        monkeypatch.setattr(sys, "prefix", str(tmp_path))
        monkeypatch.setenv("PATH", "/nowhere")
    elif fault == "no cmake":
        monkeypatch.setattr(sys, "prefix", str(tmp_path / "none"))
        monkeypatch.setenv("PATH", "/nowhere")
    elif fault == "cmake does not run":
        editable.program("cmake", "#!/bin/sh\necho 'pyenv: cmake: command not found' >&2\nexit 127\n")
    elif fault == "no assembler":
        editable.program("c++", "#!/bin/sh\necho \"cannot execute 'as'\" >&2\nexit 1\n")
    elif fault == "no folder":
        editable.cache.unlink()
    else:
        entry = {"no compiler": "CMAKE_CXX_COMPILER", "no nanobind": "nanobind_DIR"}[fault]
        kept = [line for line in editable.cache.read_text().splitlines() if not line.startswith(entry)]
        editable.cache.write_text("\n".join([*kept, f"{entry}:FILEPATH={tmp_path}/gone\n"]))
    with pytest.raises(ImportError, match=said):
        editable.import_it()
    assert editable.core.read_text() == "one"


def test_a_folder_of_another_user_is_no_hindrance_until_it_has_to_be_written(editable, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied", str(editable.build))

    monkeypatch.setattr(os, "open", refused)
    editable.import_it()
    (editable.build / "built-from").write_text("")
    with pytest.raises(
        ImportError, match=r"mine, but that cannot be written by this user .*Use a copy .* pip install "
    ):
        editable.import_it()


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A source tree, and a set of places in it that cannot be written."""
    closed = set()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) not in closed)
    return tmp_path, closed


def test_each_environment_has_a_folder_of_its_own(tree, monkeypatch):
    root, _ = tree
    folders = set()
    for prefix in ("one/.venv", "two/.venv", "two/.venv-3"):
        monkeypatch.setattr(sys, "prefix", str(root / prefix))
        folders.add(build_backend.build_folder(root))
        assert build_backend.build_folder(root) in folders
    assert len(folders) == 3 and {folder.parent for folder in folders} == {root / "build"}


def test_an_editable_install_of_a_tree_of_another_user_is_refused(tree):
    root, closed = tree
    build = build_backend.build_folder(root)
    assert build_backend.unwritable(root, build) is None
    closed.add(root)
    said = rf"builds in {build}, but {root} belongs to \S+ and \S+ cannot write there\. Use a copy .*pip install {root}"
    for command in (build_backend.build_editable, build_backend.prepare_metadata_for_build_editable):
        with pytest.raises(SystemExit, match=said):
            command("anywhere")
    cache = build / "CMakeCache.txt"
    cache.parent.mkdir(parents=True)
    cache.touch()
    assert build_backend.unwritable(root, build) is None
    closed.add(cache)
    assert build_backend.unwritable(root, build) == cache


def test_only_an_editable_install_builds_in_the_tree():
    """scikit-build-core takes a temporary folder where none is named."""
    project = tomllib.loads((TOOLS.parent / "pyproject.toml").read_text())
    assert "build-dir" not in project["tool"]["scikit-build"]
    assert build_backend.build_wheel is build_backend.scikit.build_wheel


def test_an_editable_install_follows_its_sources(tree, monkeypatch):
    root, _ = tree
    (root / "cpp").mkdir()
    (root / "cpp/a.cpp").touch()
    told = []

    def made(folder, settings, metadata):
        told.append(settings)
        with zipfile.ZipFile(Path(folder, "x.whl"), "w") as wheel:
            wheel.writestr("x.dist-info/RECORD", "x.dist-info/RECORD,,\n")
        return "x.whl"

    monkeypatch.setattr(build_backend.scikit, "build_editable", made)
    assert build_backend.build_editable(str(root), {"cmake.define.A": "B"}) == "x.whl"
    build = build_backend.build_folder(root)
    assert told == [
        {
            "cmake.define.A": "B",
            "build-dir": str(build),
            "editable.rebuild": "false",
            "editable.rebuild-dir": str(build / "site"),
        }
    ]
    assert (build / "built-from").read_text() == rebuild_extension.sources(root)
    with zipfile.ZipFile(root / "x.whl") as wheel:
        recorded = dict(line.split(",", 1) for line in wheel.read("x.dist-info/RECORD").decode().split())
        assert set(recorded) == set(wheel.namelist())
        for name in ("_latticework_rebuild.py", "_latticework_rebuild.pth"):
            content = wheel.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            assert recorded[name] == f"sha256={digest},{len(content)}"
        hook = wheel.read("_latticework_rebuild.py").decode()
    finders = list(sys.meta_path)
    monkeypatch.setattr(sys, "meta_path", [])
    tool = root / "tools/rebuild_extension.py"
    tool.parent.mkdir()
    tool.write_text("def bring_up_to_date(tree, build):\n    raise ImportError(f'{tree} {build}')\n")
    exec(hook, {})
    (finder,) = sys.meta_path
    monkeypatch.setattr(sys, "meta_path", finders)
    assert finder.find_spec("latticework.plan.parameters") is None
    with pytest.raises(ImportError, match=f"^{root} {build}$"):
        finder.find_spec("latticework._core")


def test_an_editable_install_does_not_wait_for_another(tree, monkeypatch):
    root, _ = tree
    build = build_backend.build_folder(root)
    build.mkdir(parents=True)
    monkeypatch.setattr(rebuild_extension, "SECONDS_TO_WAIT", 0.05)
    with rebuild_extension.locked(build), pytest.raises(SystemExit, match=r"process .* builds in \S+\. Install again"):
        build_backend.build_editable(str(root))


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
