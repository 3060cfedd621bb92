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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = "latticework"
# Folders and modules at the root, from below to above -> what each may import besides itself: whole roots, or parts of
# them. A name covers all that is below it. Nothing imports a root that stands after it, so no two are in a circle. All
# may import FOR_ALL.
FOR_ALL = ("lazy_dataclass",)
STAGES = "compiler.codegen compiler.expand compiler.keys compiler.passes"
MAY_IMPORT = {
    "lazy_dataclass": "",
    "errors": "",
    "moved_modules": "",
    "values": "_core errors",
    "functions": "errors values",
    "plan": "errors values functions",
    "ir": "errors values plan.instructions",
    "tensor": "errors values plan.schema ir functions",
    "frontend": "errors values plan.schema plan.client_steps ir functions tensor.ops",
    "models": "errors values plan.client_steps ir functions tensor.ops frontend",
    "runtime": "errors values functions plan",
    "report": "errors values functions plan runtime.ledger",
    "debug": "errors values functions plan ir runtime",
    "progress": "errors ir runtime",
    "model": "errors values plan ir runtime report debug",
    "compiler": "errors values plan ir functions tensor frontend runtime report progress model",
    "quoting": "errors values frontend models report compiler",
    "schemes": f"errors values plan ir functions runtime.devices runtime.ledger {STAGES}",
    "bfv": "schemes.bfv",
    "ckks": "schemes.ckks",
    "owner": "plan.client_steps",
    "params": "plan.parameters",
    "torch": "errors plan ir functions models report compiler lazy_dataclass",
    "__init__": "errors moved_modules values ir frontend models runtime model compiler quoting bfv ckks torch",
    "commands": "__init__ errors values plan ir model frontend models runtime report progress compiler ckks",
    "cli": "__init__ commands",
    "__main__": "cli",
}
# Folder -> what it may import of the root that it stands in, besides itself; `*` is any file beside the folders, which
# may import every folder.
WITHIN = {
    "values.inputs": "",
    "values.packing": "*",
    "plan.parameters": "",
    "plan.instructions": "plan.parameters",
    "plan.client_steps": "",
    "plan.schema": "plan.client_steps plan.instructions plan.parameters",
    "plan.files": "plan.client_steps plan.instructions plan.parameters plan.schema",
    "plan.key_schedule": "plan.instructions plan.parameters plan.schema",
    "plan.cost": "plan.files plan.instructions plan.parameters plan.schema",
    "plan.machine": "plan.cost plan.instructions plan.parameters",
    "plan.analysis": "plan.cost plan.files plan.instructions plan.key_schedule plan.parameters plan.schema",
    "plan.export": "plan.instructions plan.parameters plan.schema",
    "ir.dialects": "*",
    "functions.approximation": "*",
    "tensor.layout": "",
    "tensor.ops": "tensor.layout",
    "frontend.recording": "",
    "frontend.functions": "frontend.recording",
    "frontend.programs": "frontend.functions frontend.recording",
    "frontend.calibration": "frontend.programs frontend.recording",
    "frontend.circuits": "frontend.programs frontend.recording",
    "frontend.heir": "frontend.programs frontend.recording",
    "frontend.queries": "frontend.programs frontend.recording",
    "models.semantics": "*",
    "models.client_rules": "*",
    "models.trees": "*",
    "models.onnx": "* models.client_rules models.semantics models.trees",
    "models.pytorch": "* models.client_rules models.semantics",
    "models.sklearn": "* models.semantics models.trees",
    "models.finetuning": "* models.pytorch",
    "runtime.devices": "",
    "runtime.ledger": "",
    "runtime.exchange": "* runtime.devices",
    "runtime.keys": "runtime.ledger",
    "runtime.client": "* runtime.devices runtime.exchange runtime.keys runtime.ledger",
    "runtime.server": "* runtime.devices runtime.exchange runtime.keys",
    "report.sections": "*",
    # stages do not import each other, but for what a later one asks of an earlier
    "compiler.options": "",
    "compiler.levels": "compiler.options",
    "compiler.passes": "compiler.levels",
    "compiler.lanes": "",
    "compiler.lifting": "compiler.lanes",
    "compiler.layout_choice": "compiler.options compiler.levels",
    "compiler.expand": "compiler.options",
    "compiler.keys": "",
    "compiler.codegen": "compiler.options compiler.expand compiler.keys compiler.passes",
    "compiler.accuracy": "compiler.expand",
    "compiler.assessment": "compiler.accuracy compiler.expand",
    "compiler.retraining": "",
    "compiler.circuits": "* compiler.lanes compiler.options compiler.layout_choice compiler.levels compiler.lifting "
    "compiler.passes compiler.retraining",
    "compiler.quoting": "* compiler.accuracy compiler.expand compiler.layout_choice compiler.levels compiler.options",
    "schemes.rlwe": "",
    "schemes.bfv": "schemes.rlwe",
    "schemes.ckks": "schemes.rlwe",
    "commands.machine": "",
}
# Not needed by a plain installation, slow to import: only inside the functions that use them.
OPTIONAL = {
    "IPython",
    "jinja2",
    "latticework_sycl",
    "matplotlib",
    "onnx",
    "ortools",
    "pyarrow",
    "rich",
    "ray",
    "skops",
    "sklearn",
    "torch",
}
# Units that are loaded by who uses such a package, by name, and import it at their top.
MADE_WITH = {"models.finetuning": {"torch"}}
# The only modules that load others by name: public names when they are first used, the command that is called, the
# parser for help, and the benchmarks, which are not installed. So the compiler is loaded by whoever compiles.
BY_NAME = ("__init__", "moved_modules", "cli", "commands.plain_words", "commands.benchmarks", "plan.client_steps")

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
        "client_kernels",
        "device",
        "embedding",
        "host_device",
        "kernels",
        "limb_stream",
        "matmul_way",
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
        "cpu/multiply_adds",
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


def covers(names: Iterable[str], module: str) -> bool:
    """Whether a module is one of some, or lies below one of them."""
    return any(module == name or module.startswith(f"{name}.") for name in names)


def refusal(module: str, target: str) -> str | None:
    """Why a module may not import another, both without the package's name; None where it may."""
    root, there = module.split(".", maxsplit=1)[0], target.split(".", maxsplit=1)[0]
    if root != there:
        allowed = MAY_IMPORT[root]
        is_allowed = covers([*FOR_ALL, *allowed.split()], target)
        return None if is_allowed else f"{root} imports {target}; allowed: {allowed or 'nothing'}"
    folder, other = (".".join(name.split(".")[:2]) for name in (module, target))
    if folder == other or folder not in WITHIN:
        return None
    allowed = WITHIN[folder]
    if covers(allowed.split(), target) or ("*" in allowed.split() and other not in WITHIN):
        return None
    return f"{folder} imports {target}; allowed: {allowed or 'nothing'}"


def in_package(name: str) -> str | None:
    """A module's name without the package's: `__init__` for the package itself, None for one outside it."""
    if name == PACKAGE:
        return "__init__"
    return name.removeprefix(f"{PACKAGE}.") if name.startswith(f"{PACKAGE}.") else None


def check_import(module: str, found: Import) -> Iterator[str]:
    """What is wrong with one import, as text to put after `file:line: `."""
    target = in_package(found.name)
    optional = found.name.split(".")[0] in OPTIONAL
    if found.in_function and not optional:
        yield f"{found.name} is imported inside a function; only {', '.join(sorted(OPTIONAL))} may be"
    package = found.name.split(".")[0]
    made_with = {name for unit, names in MADE_WITH.items() if covers([unit], module) for name in names}
    if optional and not found.in_function and package not in made_with:
        yield f"{found.name} is optional; import it inside the function that needs it"
    if target is None:
        return
    refused = refusal(module, target)
    if refused:
        yield refused


def missing_rule(module: str, folders: tuple[str, ...]) -> str | None:
    """The table that has no line for a module which lies in folders of the package."""
    if module.split(".", maxsplit=1)[0] not in MAY_IMPORT:
        return "MAY_IMPORT"
    return "WITHIN" if len(folders) > 1 and ".".join(folders[:2]) not in WITHIN else None


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
        own = in_package(name) or ""
        missing = missing_rule(own, path.parent.relative_to(source).parts)
        if missing:
            yield f"{where}:1: {name} has no rule; give its folder a line in {missing} (tools/check_layers.py)"
            continue
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        tree = ast.parse(path.read_text(), str(path))
        found = list(imports_of(tree, package, modules))
        graph[name] = {i.name for i in found if i.name in files and i.name != name}
        yield from (f"{where}:{i.line}: {message}" for i in found for message in check_import(own, i))
        if not covers(BY_NAME, own):
            by_name = f"loads a module by name; only {', '.join(BY_NAME)} may"
            yield from (f"{where}:{line}: {own} {by_name}" for line in loads_by_name(tree))
    yield from [*check_cycle(graph, "imports")] or check_cycle(folder_graph(graph), "(folder) imports")


def folder_graph(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Which folders of the package's folders import which; a module beside them is one by itself."""

    def folder(module: str) -> str:
        return ".".join(module.split(".")[:3])

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
