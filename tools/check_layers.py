"""Check that the dependency rules of the tree hold: Python imports, C++ includes, no cycles.

    python tools/check_layers.py [--root DIR]

The rules are the tables below; nothing else in this file knows a folder by name. Imports are read from the
syntax tree, those inside functions included. Importing a submodule also runs the `__init__` of its package; this
is not counted as a dependency. Modules loaded by name, which a syntax tree does not show, are loaded in BY_NAME only.
Exit status 1 if anything is wrong, one line each.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = "latticework"
# Plain values that compiler, plans and runtime share.
VALUES = "owner packing plan.arguments plan.batch plan.circuits plan.conditions plan.placing"
PLAN = f"plan instructions {VALUES}"
EVERYWHERE = ("errors", "sums", "words", "user.arrays", "user.columns")  # leaves that all modules may import
OPTION_RECORDS = "compiler.options.option compiler.options.option_records"

# Folder or module -> what it may import, apart from itself and those of EVERYWHERE. The longest name that fits a module
# decides for it, and a name on the right stands for just the modules that this name decides for.
MAY_IMPORT = {
    # leaves
    "errors": "",
    "sums": "",
    "words": "",
    "user": "",
    "user.arrays": "",
    "user.columns": "",
    "user.lines": "ir",
    "techniques": "",
    "ledger": "",
    "ir": "",
    "packing": "_core",
    "functions": "",
    "owner": "functions",
    "params": "_core",
    "devices": "_core params plan",
    "instructions": "_core packing params",
    # the plan
    "plan": f"_core params instructions {VALUES}",
    "analysis": f"cost params {PLAN}",
    "plan.arguments": "",
    "plan.batch": "",
    "plan.circuits": "",
    "plan.conditions": "",
    "plan.placing": "packing",
    # stages of the compiler
    "dialects": "ir instructions packing",
    "approx": "functions packing",
    "layout": "ir dialects packing plan.placing",
    "circuit": f"_core ir dialects approx {VALUES}",
    "ops": "ir dialects approx functions layout packing",
    "frontend": f"ir dialects approx functions ops user user.lines {VALUES}",
    "torch": "approx frontend importers ir ops packing user.lines",
    "accuracy": f"ir dialects approx ops expand params frontend {PLAN}",
    "levels": "_core techniques ir dialects params packing instructions",
    "layout_cost": f"techniques ir dialects cost layout levels ops params {VALUES}",
    "passes": "ir dialects approx levels packing",
    "expand": "techniques ir dialects params packing instructions",
    "keys": "ir dialects params packing instructions",
    "codegen": f"ir dialects params expand passes keys techniques analysis {PLAN}",
    # programs of other compilers
    "interop": "ir dialects packing frontend user",
    # models of other packages
    "importers": "ir approx frontend functions ops owner user user.lines",
    # what a compiled program is worth
    "assessment": f"accuracy analysis approx cost expand frontend ir model ops params progress report runtime {PLAN}",
    "compiler": f"{OPTION_RECORDS} _core accuracy analysis approx assessment circuit codegen cost dialects expand "
    f"frontend interop ir keys layout layout_cost levels model ops params passes progress techniques user.lines {PLAN}",
    # options of compilations as records, which load nothing of the compiler
    "compiler.options.option": "",
    "compiler.options.option_records": "compiler.options.option techniques ir model owner params",
    # what plans cost, and how that is told
    "cost": f"params {PLAN}",
    "machine": f"_core analysis codegen cost params {PLAN}",
    "report": f"_core analysis params cost ledger {PLAN}",
    # where plans run
    "runtime": f"_core analysis cost devices ledger params {PLAN}",
    "rlwe": f"_core devices params keys user.lines {PLAN}",
    "bfv": "_core devices ledger params packing rlwe user.lines",
    "ckks": f"_core analysis devices rlwe ir dialects params keys expand passes approx user.lines codegen {PLAN}",
    # for users
    "debug": f"analysis ir runtime {PLAN}",
    "progress": "ir runtime",
    "model": f"analysis ir cost debug devices user report runtime {PLAN}",
    "commands.command_table": OPTION_RECORDS,
    "commands": f"commands.command_table __init__ _core devices ledger runtime progress user {PLAN}",
    "commands.parser": "__init__ commands commands.command_table",
    "commands.completion": "commands commands.parser",
    "commands.compiling": f"commands compiler frontend model progress user {OPTION_RECORDS}",
    "commands.compile": "commands commands.compiling commands.programs report user",
    "commands.accuracy": "commands commands.compiling commands.programs frontend report user",
    "commands.programs": "commands frontend importers interop user",
    "commands.inspect": "commands commands.programs frontend importers user",
    "commands.explain": f"commands report {PLAN}",
    "commands.keys": "commands interop plan",
    "commands.measure": "commands machine params",
    "commands.bench": "commands commands.benchmarks",
    "commands.benchmarks": "",
    "cli": "commands commands.command_table commands.parser",
    "__main__": "cli",
    "__init__": "bfv ckks compiler devices frontend importers interop model runtime techniques torch user",
}
# Not needed by a plain installation, slow to import: only inside the functions that use them.
OPTIONAL = {"IPython", "jinja2", "torch", "onnx", "ray", "sklearn", "skops", "matplotlib", "ortools"}
# Units that are loaded by who uses such a package, by name, and import it at their top.
MADE_WITH = {"torch": {"torch"}}
# The only modules that load others by name: public names when they are first used, the command that is called, and
# the benchmarks, which are not installed. So the compiler is loaded by whoever compiles.
BY_NAME = {"__init__", "commands.benchmarks", "commands.parser", "owner"}

# C++ folder -> the folders it may include, apart from itself.
MAY_INCLUDE = {
    "math": "",
    "lanes": "math",
    "maps": "",
    "io": "math",
    "backend": "math",
    "ring": "math io backend",
    "rlwe": "math io backend ring",
    "schemes/*": "math io backend ring rlwe",
    "circuits": "math io backend ring rlwe schemes/*",
    "exec": "math io backend ring rlwe schemes/* circuits",
    "bindings": "math lanes maps io backend ring rlwe schemes/* circuits exec",
    "backend/*": "math",
}
SEAMS = {  # what backend/* may see besides
    f"backend/{name}.hpp"
    for name in (
        "accumulator",
        "device",
        "embedding",
        "host_device",
        "kernels",
        "limb_stream",
        "packing",
        "profile",
        "thread_pool",
        "timed_kernels",
    )
} | {"backend/kernels.def", *(f"backend/gpu/{name}" for name in ("driver.h", "phase.hpp", "host_kernel.hpp"))}
# what backend may see of backend/*
ENTRY = re.compile(r"backend/([^/]+/backend|gpu/host_kernels|gpu/plugin|sim/simulator)\.hpp")
TO_BINDINGS = {  # the same of them
    f"backend/{name}.hpp"
    for name in (
        "gpu/card",
        "gpu/device_memory",
        "gpu/host_kernel",
        "gpu/host_kernels",
        "gpu/phase",
        "gpu/plugin",
        "gpu/rates",
        "gpu/transform",
        "sim/simulator",
    )
}
BINDINGS_ONLY = re.compile(r"(nanobind/.*|Python\.h)")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(<(?P<system>[^>]+)>|"(?P<own>[^"]+)")', re.MULTILINE)


@dataclass(frozen=True)
class Import:
    """One imported name at its line."""

    line: int
    name: str
    in_function: bool


def imports_of(tree: ast.Module, package: str, modules: set[str]) -> Iterator[Import]:
    """Every import in a module; relative ones are resolved against `package`, its dotted package name."""
    in_function = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, id(node) in in_function)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield Import(node.lineno, inner if inner in modules else source, id(node) in in_function)


def loads_by_name(tree: ast.Module) -> Iterator[int]:
    """The lines where a module is loaded whose name is computed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__"):
            yield node.lineno


def unit_of(module: str) -> str | None:
    """The name in MAY_IMPORT that decides for a module, given without the package's name."""
    parts = module.split(".")
    prefixes = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in MAY_IMPORT), None)


def may_import(unit: str, target: str) -> bool:
    """Whether the modules of one unit may import those of another."""
    allowed = MAY_IMPORT[unit].split()
    return target == unit or target in EVERYWHERE or target in allowed


def in_package(name: str) -> str | None:
    """A module's name without the package's: `__init__` for the package itself, None for one outside it."""
    if name == PACKAGE:
        return "__init__"
    return name.removeprefix(f"{PACKAGE}.") if name.startswith(f"{PACKAGE}.") else None


def check_import(unit: str, found: Import) -> Iterator[str]:
    """What is wrong with one import, as text to put after `file:line: `."""
    target = in_package(found.name)
    optional = found.name.split(".")[0] in OPTIONAL
    if found.in_function and not optional:
        yield f"{found.name} is imported inside a function; only {', '.join(sorted(OPTIONAL))} may be"
    package = found.name.split(".")[0]
    if optional and not found.in_function and package not in MADE_WITH.get(unit, ()):
        yield f"{found.name} is optional; import it inside the function that needs it"
    if target is None:
        return
    to = "_core" if target == "_core" else unit_of(target)
    if not may_import(unit, to or target):
        yield f"{unit} imports {target}; allowed: {MAY_IMPORT[unit] or 'nothing'} {' '.join(EVERYWHERE)}"


def check_python(root: Path) -> Iterator[str]:
    """Violations in src/latticework."""
    source = root / "src" / PACKAGE
    files = {}
    for path in sorted(source.rglob("*.py")):
        dotted = ".".join((PACKAGE, *path.relative_to(source).with_suffix("").parts))
        files[dotted.removesuffix(".__init__")] = path
    modules = {*files, f"{PACKAGE}._core"}
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        where = path.relative_to(root)
        unit = unit_of(in_package(name) or "")
        if unit is None:
            yield f"{where}:1: {name} has no rule; give its folder a line in MAY_IMPORT (tools/check_layers.py)"
            continue
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        tree = ast.parse(path.read_text(), str(path))
        found = list(imports_of(tree, package, modules))
        graph[name] = {i.name for i in found if i.name in files and i.name != name}
        yield from (f"{where}:{i.line}: {message}" for i in found for message in check_import(unit, i))
        if unit not in BY_NAME:
            by_name = f"loads a module by name; only {', '.join(sorted(BY_NAME))} may"
            yield from (f"{where}:{line}: {unit} {by_name}" for line in loads_by_name(tree))
    yield from check_cycle(graph, "imports")
    yield from check_cycle(folder_graph(graph), "(folder) imports")


def folder_graph(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Which folders of the package import which; a module in its root is one by itself."""

    def folder(module: str) -> str:
        return ".".join(module.split(".")[:2])

    folders: dict[str, set[str]] = {}
    for module, imported in graph.items():
        folders.setdefault(folder(module), set()).update(map(folder, imported))
    return {name: imported - {name, PACKAGE} for name, imported in folders.items() if name != PACKAGE}


def folder_of(path: str) -> str:
    """The rule that a file under cpp/, or an include path, falls under: `backend/*` for backend/ref/ntt.cpp."""
    parts = path.split("/")[:-1]
    if len(parts) > 1 and f"{parts[0]}/*" in MAY_INCLUDE:
        return f"{parts[0]}/*"
    return parts[0] if parts else ""


def may_include(path: str, include: str) -> bool:
    """Whether a file may include another; both relative to cpp/."""
    here, there = folder_of(path), folder_of(include)
    if path.split("/")[: here.count("/") + 1] == include.split("/")[: there.count("/") + 1]:
        return True
    if here == "backend/*":
        return there == "math" or include in SEAMS
    if here == "backend":
        return there == "math" or ENTRY.fullmatch(include) is not None
    return there in MAY_INCLUDE[here].split() or (here == "bindings" and include in TO_BINDINGS)


def check_cpp(root: Path) -> Iterator[str]:
    """Violations in cpp."""
    source = root / "cpp"
    graph: dict[str, set[str]] = {}
    for path in sorted(p for p in source.rglob("*") if p.suffix in (".hpp", ".cpp", ".def", ".cu", ".inc")):
        name = path.relative_to(source).as_posix()
        here = folder_of(name)
        if here not in MAY_INCLUDE:
            yield f"cpp/{name}:1: folder {here or 'cpp'} has no rule; add one to MAY_INCLUDE (tools/check_layers.py)"
            continue
        graph[name] = set()
        text = path.read_text()
        for match in INCLUDE.finditer(text):
            include = match["own"] or match["system"]
            where = f"cpp/{name}:{text.count(chr(10), 0, match.start()) + 1}"
            if BINDINGS_ONLY.fullmatch(include):
                if here != "bindings":
                    yield f"{where}: {here} includes {include}; allowed: in bindings only"
            elif match["own"]:
                graph[name].add(include)
                if not may_include(name, include):
                    yield f"{where}: {here} includes {include}; allowed: {MAY_INCLUDE[here] or 'nothing'}"
    yield from check_cycle(graph, "includes")


def check_cycle(graph: dict[str, set[str]], verb: str) -> Iterator[str]:
    """One cycle of a graph, if it has any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"cycle: {f' {verb} '.join(reversed(error.args[1]))}"


def main() -> int:
    """Print the violations; 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    violations = [*check_python(root), *check_cpp(root)]
    for violation in violations:
        print(violation)
    print(f"layers: {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
