"""The public names: found when they are asked for, the same for people, programs and type checkers."""

import ast
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import latticework as lw

SOURCE = ast.parse(Path(lw.__file__).read_text())
EAGER = {"ApproximationWarning", "EffortWarning", "LeftoverWarning", "RangeWarning", "UserError", "errors"}
COMPILER = {"compiler.compile", "compiler.lanes", "compiler.layout_choice", "frontend", "tensor"}


def names_for_type_checkers():
    """Name -> module, of the imports that only type checkers see."""
    (block,) = [node for node in SOURCE.body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    return {alias.asname or alias.name: statement.module for statement in block.body for alias in statement.names}


def loaded_by(code):
    """Folders and modules of the package that a fresh process has after running this."""
    listing = (
        "import sys; print(*{'.'.join(m.split('.')[1:k]) for m in sys.modules if 'latticework.' in m for k in (2, 3)})"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{listing}"], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.splitlines()[-1].split())


def test_type_checkers_see_what_programs_see():
    homes = {name: f"latticework.{module}" for module, names in lw._HOMES.items() for name in names}
    packages = dict.fromkeys(lw._PACKAGES, "latticework")
    seen = names_for_type_checkers()
    assert (seen.pop("Secret"), seen.pop("Index")) == ("typing", "builtins")  # what annotations mean to them
    assert seen | {name: homes[name] for name in ("Secret", "Index")} == {**homes, **packages}
    assert set(lw.__all__) == {*homes, *EAGER} and lw.__all__ == sorted(lw.__all__)


def test_every_name_is_listed_and_found():
    assert set(dir(lw)) == {*lw.__all__, *lw._PACKAGES, "__version__"}  # no module or import of ours among them
    for name in lw.__all__:
        value = getattr(lw, name)
        if name not in ("Array", "Number"):  # other names of types of NumPy and Python
            assert getattr(value, "__name__", name) in (name, f"latticework.{name}")
        assert getattr(lw, name) is value
    with pytest.raises(AttributeError, match="module 'latticework' has no attribute 'nothing'"):
        lw.nothing
    for name, instead in lw._OTHER_NAMES.items():
        assert instead in lw.__all__
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'; see lw.{instead}$"):
            getattr(lw, name)
    namespace = {}
    exec("from latticework import *", namespace)
    assert set(lw.__all__) <= set(namespace)


def test_functions_are_not_replaced_by_submodules_of_their_names():
    loaded = loaded_by(
        "import latticework.compiler.lanes.lane_graph, latticework.compiler.compile\n"
        "import latticework as lw\n"
        "assert callable(lw.circuit) and callable(lw.compile)\n"
        "import latticework.compiler.lanes.emit_vectors\n"
        "from latticework import circuit, compile\n"
        "assert (circuit, compile) == (lw.circuit, lw.compile)\n"
    )
    assert loaded >= COMPILER


@pytest.mark.parametrize(
    "code", ["import latticework", "from latticework import bfv, ckks", "from latticework import Client, Server, load"]
)
def test_what_compiles_nothing_does_not_load_the_compiler(code):
    assert not loaded_by(code) & COMPILER


@pytest.mark.parametrize("name", sorted({*lw.__all__} - {"Array", "Number", "errors"}))
def test_help_of_a_name_is_about_it(name):
    """A default is shown in few words; nothing shows an address or a repr of many fields."""
    text = pydoc.render_doc(getattr(lw, name), renderer=pydoc.plaintext)
    signature = str(inspect.signature(getattr(lw, name)))
    assert " at 0x" not in text
    assert all(len(repr(p.default)) < 30 for p in inspect.signature(getattr(lw, name)).parameters.values()), signature


def test_what_is_left_out_is_all_that_techniques_show():
    assert repr(lw.Techniques()) == "Techniques()"
    assert repr(lw.Techniques(rolls=False, hoisting=False)) == "Techniques(rolls=False, hoisting=False)"
    assert "techniques: 'Techniques' = Techniques()," in pydoc.render_doc(lw.compile, renderer=pydoc.plaintext)
