"""The checks of tools/ pass what is right and name what is wrong, in small trees made for the purpose."""

import ast
import inspect
import json
import re
import runpy
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

from latticework import _core

ROOT = Path(__file__).resolve().parents[3]
STUB = ROOT / "src" / "latticework" / "_core.pyi"
DOCUMENTED = '"""A module."""\n'


def run_tool(name, *arguments):
    command = [sys.executable, ROOT / "tools" / name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def plant(tmp_path):
    """A function that writes files into a new tree; returns the tree."""

    def write(files):
        for path, text in files.items():
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return tmp_path

    return write


def python(**modules):
    """Modules of the package by dotted name, `__` for the dot."""
    return {f"src/latticework/{name.replace('__', '/')}.py": text for name, text in modules.items()}


CLEAN = {
    **python(
        errors="",
        ir__core="from latticework.errors import IrError\n",
        ir__dialects__vec="from latticework.ir import core\nfrom latticework import errors\n",
        compiler__codegen__emit="import numpy\nfrom latticework.ir.core import Op\n",
        compiler__compile="def f() -> None:\n    import sklearn\n",
    ),
    "cpp/math/a.hpp": "#include <vector>\n",
    "cpp/backend/kernels.hpp": '#include "math/a.hpp"\n',
    "cpp/backend/ref/ntt.cpp": '#include "backend/kernels.hpp"\n#include "backend/ref/own.hpp"\n',
    "cpp/backend/ref/own.hpp": '#include "math/a.hpp"\n',
    "cpp/bindings/b.cpp": '#include <nanobind/nanobind.h>\n#include "backend/kernels.hpp"\n',
}


def test_layers_pass_a_clean_tree(plant):
    result = run_tool("check_layers.py", "--root", plant(CLEAN))
    assert (result.returncode, result.stdout, result.stderr) == (0, "layers: 0 violations\n", "")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            python(ir__core="import os\nfrom latticework.tensor.ops import sum\n", tensor__ops__sum=""),
            "src/latticework/ir/core.py:2: ir imports tensor.ops.sum; allowed: errors values plan.instructions\n",
        ),
        (
            python(compiler__levels__a="from latticework.compiler.lanes import b\n", compiler__lanes__b=""),
            "src/latticework/compiler/levels/a.py:1: compiler.levels imports compiler.lanes.b; allowed: ",
        ),
        (python(runtime__a="import latticework.ir.core\n"), "src/latticework/runtime/a.py:1: runtime imports ir.core"),
        (python(plan__a="from ..ir import core\n", ir__core=""), "src/latticework/plan/a.py:1: plan imports ir.core"),
        (
            python(runtime__a="from latticework.compiler.codegen.emit_code import emit\n"),
            "runtime imports compiler.codegen.emit_code; allowed: ",
        ),
        (python(ir__a="from latticework import Model\n"), "src/latticework/ir/a.py:1: ir imports __init__"),
        (
            python(compiler__compile="def f():\n    from latticework.ir import core\n"),
            "src/latticework/compiler/compile.py:2: latticework.ir.core is imported inside a function",
        ),
        (python(compiler__compile="import torch.nn\n"), "src/latticework/compiler/compile.py:1: torch.nn is optional"),
        (
            python(model="import importlib\n\nload = importlib.import_module('x')\n"),
            "src/latticework/model.py:3: model loads a module by name; only ",
        ),
        (python(misc="\n"), "src/latticework/misc.py:1: latticework.misc has no rule"),
        (
            python(
                ir__a="from latticework.ir import b\n",
                ir__b="from latticework.ir.c import x\n",
                ir__c="from latticework.ir.a import y\n",
            ),
            "cycle: latticework.ir.",
        ),
        (
            python(
                runtime__client__a="from latticework.runtime import options\n",
                runtime__client__b="",
                runtime__options="from latticework.runtime.client import b\n",
            ),
            "(folder) imports latticework.",
        ),
        (
            {"cpp/math/a.hpp": '\n#include "io/file.hpp"\n'},
            "cpp/math/a.hpp:2: math includes io/file.hpp; allowed: nothing",
        ),
        ({"cpp/io/a.cpp": '#include "ring/ring.hpp"\n'}, "cpp/io/a.cpp:1: io includes ring/ring.hpp; allowed: math"),
        ({"cpp/backend/ref/a.cpp": '#include "backend/cpu/own.hpp"\n'}, "backend/* includes backend/cpu/own.hpp"),
        ({"cpp/backend/ref/a.cpp": '#include "backend/registry.hpp"\n'}, "backend/* includes backend/registry.hpp"),
        ({"cpp/backend/a.cpp": '#include "backend/ref/ntt.hpp"\n'}, "backend includes backend/ref/ntt.hpp"),
        ({"cpp/ring/a.cpp": '#include "backend/ref/backend.hpp"\n'}, "ring includes backend/ref/backend.hpp"),
        ({"cpp/schemes/bfv/a.cpp": '#include "schemes/ckks/mul.hpp"\n'}, "schemes/* includes schemes/ckks/mul.hpp"),
        ({"cpp/exec/a.cpp": "# include <nanobind/stl/pair.h>\n"}, "exec includes nanobind/stl/pair.h"),
        ({"cpp/rlwe/a.hpp": "#include <Python.h>\n"}, "cpp/rlwe/a.hpp:1: rlwe includes Python.h"),
        ({"cpp/misc/a.hpp": "\n"}, "cpp/misc/a.hpp:1: folder misc has no rule"),
        (
            {"cpp/math/a.hpp": '#include "math/b.hpp"\n', "cpp/math/b.hpp": '#include "math/a.hpp"\n'},
            "cycle: math/",
        ),
    ],
)
def test_layers_name_each_violation(plant, files, message):
    result = run_tool("check_layers.py", "--root", plant({**CLEAN, **files}))
    assert result.returncode == 1
    assert message in result.stdout
    assert result.stdout.endswith("layers: 1 violations\n"), result.stdout


def test_layer_rules_stand_in_the_order_of_roots():
    rules = runpy.run_path(str(ROOT / "tools" / "check_layers.py"))["MAY_IMPORT"]
    lines = (ROOT / "tools" / "structure" / "roots.txt").read_text().splitlines()
    assert list(rules) == [line for line in lines if line[0] != "#"]
    for root, allowed in rules.items():  # what an import may reach stands before it
        below = list(rules)[: list(rules).index(root)]
        assert {name.split(".")[0] for name in allowed.split()} - {"_core"} <= {*below}, root


def test_layer_rules_allow_no_cycle_of_folders():
    text = (ROOT / "tools" / "check_layers.py").read_text()
    scope = {}
    exec(text.partition("@dataclass")[0], scope)
    for rules in (scope["MAY_IMPORT"], scope["MAY_INCLUDE"]):
        graph = {unit: set(allowed.split()) & set(rules) - {"__init__"} for unit, allowed in rules.items()}
        TopologicalSorter(graph).prepare()


def test_sizes_pass_a_small_tree(plant):
    tree = plant({"src/a.py": DOCUMENTED + "def _f(x):\n    return x\n", "cpp/a.cpp": "int f() { return 1; }\n"})
    result = run_tool("check_sizes.py", "--root", tree)
    assert result.returncode == 0, result.stdout
    assert "2 files, 4 lines, 2 functions" in result.stdout


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"src/a.py": DOCUMENTED + "_x = 0\n" * 800}, "file_max is 801 lines"),
        ({"src/a.py": DOCUMENTED + "def _f():\n" + "    print()\n" * 60}, "src/a.py:2: _f is 61 lines long"),
        (
            {"cpp/a.cpp": "namespace n {\nint\nf(int x = 3) {\n" + "  x = {x};\n" * 60 + "  return x;\n}\n}\n"},
            "cpp/a.cpp:2: f is 64 lines long",
        ),
        (
            {"src/a.py": "", "src/b.py": "", **{f"cpp/{c}.cpp": "int x = 1 + 2;\n" * 10 for c in "ab"}},
            "cpp/b.cpp:1: as cpp/a.cpp:1",
        ),
        ({"src/a.py": "def _f():\n    pass\n"}, "src/a.py:1: the module has no docstring"),
        ({"src/a.py": DOCUMENTED + "class A:\n    pass\n"}, "src/a.py:2: A has no docstring"),
        (
            {"src/a.py": DOCUMENTED + 'class A:\n    """A."""\n    def f(self) -> None: ...\n'},
            "src/a.py:4: A.f has no docstring",
        ),
        (
            {"src/a.py": DOCUMENTED + 'def f(x: int, *y, z=1):\n    """F."""\n'},
            "src/a.py:2: f has no annotation of z, y, return",
        ),
    ],
)
def test_sizes_name_each_violation(plant, files, message):
    result = run_tool("check_sizes.py", "--root", plant(files))
    assert result.returncode == 1
    assert message in result.stdout, result.stdout


def test_sizes_count_no_literal_comment_or_initialiser_as_a_function(plant):
    text = """
    template <class T = int>
    struct S : B<T> {
      S(int x) : a_{x}, b_{f(x)} { g("}{", '{'); }  // }
      bool operator==(const S& other) const { return true; }
      S& operator=(S&&) = default;
      std::vector<int> v{1, 2};
    };
    constexpr X kX{.a = f(1'000)};
    const int kTable[] = {f(1), 2}; /* { */
    auto h() -> int { if (true) { return 1; } return [] { return 2; }(); }
    """
    tree = plant({"cpp/a.cpp": text})
    assert " 3 functions;" in run_tool("check_sizes.py", "--root", tree).stdout


def test_sizes_fail_only_beyond_the_accepted_state(plant):
    tree = plant({"src/a.py": DOCUMENTED + "_x = 0\n" * 900, "tools/a.txt": ""})
    assert run_tool("check_sizes.py", "--root", tree).returncode == 1
    assert run_tool("check_sizes.py", "--root", tree, "--update").returncode == 0
    assert json.loads((tree / "tools/sizes.json").read_text())["file_max"] == 901
    assert run_tool("check_sizes.py", "--root", tree).returncode == 0
    plant({"src/a.py": DOCUMENTED + "_x = 0\n" * 901})
    assert run_tool("check_sizes.py", "--root", tree).returncode == 1


def test_committed_sizes_are_those_of_the_gates():
    accepted = json.loads((ROOT / "tools" / "sizes.json").read_text())
    printed = run_tool("check_sizes.py", "--root", ROOT).stdout
    assert re.findall(r"^(\w+) .* accepted ", printed, re.MULTILINE) == list(accepted)


@pytest.mark.skipif(not shutil.which("c++") or not shutil.which("nm"), reason="needs a compiler and nm")
@pytest.mark.parametrize(("linkage", "status"), [("static", 0), ("inline", 1)])
def test_symbols_name_a_weak_symbol_of_an_isa_file(plant, linkage, status):
    source = f"{linkage} int shared(int x) {{ return x + 1; }}\nint entry(int x) {{ return shared(x); }}\n"
    tree = plant({"cpp/backend/cpu/add_avx2.cpp": source})
    built_for = ("--root", tree, "--processor", "x86_64")
    assert "no object file" in run_tool("check_symbols.py", *built_for).stdout
    assert run_tool("check_symbols.py", "--root", tree, "--processor", "arm64").returncode == 0
    target = tree / "build/x/cpp/backend/cpu/add_avx2.cpp.o"
    target.parent.mkdir(parents=True)
    subprocess.run(["c++", "-O0", "-c", tree / "cpp/backend/cpu/add_avx2.cpp", "-o", target], check=True, timeout=120)
    result = run_tool("check_symbols.py", *built_for)
    assert result.returncode == status
    assert ("shared(int) is a weak symbol" in result.stdout) == bool(status)


def test_import_time_names_a_slow_or_greedy_module(plant, monkeypatch):
    busy = "import time\nend = time.process_time() + 0.04\nwhile time.process_time() < end:\n    pass\n"
    tree = plant({"matplotlib.py": "", "greedy.py": "import matplotlib\n", "slow.py": busy})
    monkeypatch.setenv("PYTHONPATH", str(tree))
    assert run_tool("check_import_time.py", "--module", "slow", "--limit-ms", "30").returncode == 1
    assert run_tool("check_import_time.py", "--module", "slow").returncode == 0
    greedy = run_tool("check_import_time.py", "--module", "greedy")
    assert (greedy.returncode, "loads matplotlib" in greedy.stdout) == (1, True)


def test_import_time_names_parts_that_are_not_needed():
    too_much = runpy.run_path(str(ROOT / "tools" / "check_import_time.py"))["too_much"]
    needed = {
        "sys",
        "numpy.linalg",
        "latticework",
        "latticework._core",
        "latticework.schemes.bfv.bfv_keys",
        "latticework.plan.parameters",
    }
    assert too_much("latticework.schemes.bfv", needed) == []
    assert too_much("latticework.schemes.bfv", {*needed, "latticework.frontend.circuits", "latticework.frontend"}) == [
        "frontend",
        "frontend.circuits",
    ]
    assert too_much("latticework.compiler.compile", {*needed, "latticework.frontend", "torch"}) == ["torch"]


def stub_signatures():
    """Name -> parameter names of all functions and methods in the stub; classes and properties too, with None."""

    def visit(body, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield prefix + node.name, None
                yield from visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                is_property = any(ast.unparse(d).split(".")[-1] in ("property", "setter") for d in node.decorator_list)
                yield (
                    prefix + node.name,
                    (None if is_property else [a.arg for a in node.args.args + node.args.kwonlyargs]),
                )

    return dict(visit(ast.parse(STUB.read_text()).body, ""))


def core_signatures(core):
    """The same of the extension, by the signatures that nanobind writes."""

    def parameters(function):
        text, innermost = function.__nb_signature__[0][0], re.compile(r"\[[^\[\]]*\]")
        while innermost.search(text):
            text = innermost.sub("", text)
        inside = re.sub(r"\([^()]*\)", "", text[text.index("(") + 1 : text.rindex(") ->")])
        return [p.split(":")[0].strip() for p in inside.split(",") if p.strip() not in ("/", "*", "*args", "")]

    def visit(owner, prefix):
        for name, value in vars(owner).items():
            if isinstance(value, type | ModuleType) and not name.startswith(
                "_"
            ):  # parts of the extension are classes in its stub
                yield prefix + name, None
                yield from visit(value, f"{prefix}{name}.")
            elif isinstance(value, property) and prefix:
                yield prefix + name, None
            elif hasattr(value, "__nb_signature__"):
                yield prefix + name, parameters(value)

    return visit(core, "")


def test_stub_has_the_names_and_parameters_of_the_extension():
    real = {name: value for name, value in core_signatures(_core) if not name.endswith(("__repr__", "__eq__"))}
    stub = {name: value for name, value in stub_signatures().items() if not name.endswith("__eq__")}
    assert stub == real
    assert inspect.getdoc(_core)


def test_stub_has_the_kernels_that_are_listed_as_the_extension_takes_them():
    tool = runpy.run_path(str(ROOT / "tools" / "write_kernel_stub.py"))
    assert {"ntt", "sub_scale", "key_switch", "unembed"} < set(tool["kernels"]()) < set(vars(_core.Ring))
    assert tool["written"](STUB.read_text()) == STUB.read_text()
