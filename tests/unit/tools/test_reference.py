"""The reference has every public name, and shows docstrings as they are meant; `make docs` builds it."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import latticework as lw
from latticework import bfv, ckks, errors

TOOLS = Path(__file__).parents[3] / "tools" / "docs"
sys.path.insert(0, str(TOOLS))
import docstrings  # noqa: E402
import links  # noqa: E402
import reference  # noqa: E402

sys.path.remove(str(TOOLS))
PUBLIC = [(module, name) for module in (lw, ckks, bfv) for name in module.__all__]
CLASSES = {v for v in (getattr(*case) for case in PUBLIC) if inspect.isclass(v) and not reference.is_alias(v)}


def name_of(case):
    return f"{case[0].__name__}.{case[1]}"


def test_every_public_name_stands_on_one_page():
    found = [(page.module, name) for page in reference.pages() for name in page.names]
    assert len(found) == len(set(found))
    assert all(name in reference.page_text(page) for page in reference.pages() for name in page.names)
    values = [getattr(module, name) for module, name in found]
    for module, name in PUBLIC:
        value = getattr(module, name)
        if not inspect.ismodule(value):
            assert any(value == other for other in values), f"{module.__name__}.{name} is nowhere in the reference"
    assert {v for v in vars(errors).values() if inspect.isclass(v) and issubclass(v, lw.UserError)} <= set(values)


@pytest.mark.parametrize("case", PUBLIC, ids=name_of)
def test_every_public_name_says_what_it_is(case):
    assert reference.description(*case)


@pytest.mark.parametrize("shown", sorted(CLASSES, key=repr), ids=lambda c: f"{c.__module__}.{c.__qualname__}")
def test_every_public_method_says_what_it_does(shown):
    own = [base for base in shown.__mro__ if base.__module__.startswith("latticework")]
    for name, value in ((n, v) for base in own for n, v in vars(base).items() if not n.startswith("_")):
        if inspect.isroutine(value) or isinstance(value, (property, classmethod, staticmethod)):
            assert inspect.getdoc(getattr(shown, name)), f"{shown.__qualname__}.{name} has no docstring"


def test_a_new_name_lands_among_its_kind(monkeypatch):
    def shift(x):
        """x, moved."""

    monkeypatch.setattr(lw, "shift", shift, raising=False)
    monkeypatch.setattr(lw, "__all__", [*lw.__all__, "shift"])
    (page,) = [page for page in reference.pages() if page.name == "functions"]
    assert "shift" in page.names
    assert "autofunction:: latticework.shift" in reference.page_text(page)
    assert "latticework.shift>`\n  - x, moved." in reference.index_text([page])


def rst(text):
    return "\n".join(docstrings.rst_lines(inspect.cleandoc(text).split("\n")))


def test_rows_become_definitions():
    shown = rst("""Down to a level.

        level   the highest if not given;  slots  of the ciphertexts,
                N/2 if not given
        scale_x its factor
        raises  RangeError for 2**3
        Otherwise as `encode`.
        """)
    assert shown.split("\n\n")[0] == "Down to a level."
    assert shown.split("\n\n")[1].split("\n") == [
        ":code:`level`",
        "   the highest if not given",
        ":code:`slots`",
        "   of the ciphertexts, N/2 if not given",
        ":code:`scale_x`",
        "   its factor",
        "Raises",
        "   :py:obj:`RangeError <latticework.errors.RangeError>`\\  for 2\\*\\*3",
    ]
    assert shown.split("\n\n")[2].strip() == "Otherwise as \\ :py:obj:`encode <encode>`\\ ."


def test_only_what_is_marked_is_markup():
    assert rst("N.") == "\\ N.\n"
    assert rst("a_b * |x|, `x * y` and `Keys.save()`").strip() == (
        "a\\_b \\* \\|x\\|, \\ :code:`x * y`\\  and \\ :py:obj:`Keys.save() <Keys.save>`"
    )
    assert rst("Usable alone:\n\n    >>> 2 * 3\n    6\n\nAnd so on.").split("\n") == [
        "Usable alone:", "", ".. code-block:: python", "", "   >>> 2 * 3", "   6", "", "And so on.", "",
    ]  # fmt: skip
    assert rst("- one `a`\n  two\n- three").split("\n\n")[1].strip() == "- three"


def test_broken_links_are_found(tmp_path):
    (tmp_path / "index.html").write_text('<a href="sub/b.html#there">b</a><a href="https://example.org/">e</a>')
    (tmp_path / "sub").mkdir()
    there = tmp_path / "sub" / "b.html"
    there.write_text('<p id="there"><a href="../index.html">up</a>')
    found = links.read_links(tmp_path)
    assert (found.num_inside, found.outside, found.broken) == (2, {"https://example.org/"}, [])
    there.write_text('<a href="c.html">c</a><a href="#x">x</a><script src="https://example.org/a.js"></script>')
    assert links.read_links(tmp_path).broken == [
        ("index.html", "sub/b.html#there", "there is no such place in the file"),
        ("sub/b.html", "c.html", "there is no such file"),
        ("sub/b.html", "#x", "there is no such place in the file"),
        ("sub/b.html", "https://example.org/a.js", "is loaded from the network"),
    ]


@pytest.mark.slow
def test_the_documentation_builds(tmp_path):
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    command = [sys.executable, TOOLS / "build.py", "--out", tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "html" / "reference" / "compiling.html").read_text()
    assert 'id="latticework.compile"' in page and 'id="latticework.Model.save"' in page
