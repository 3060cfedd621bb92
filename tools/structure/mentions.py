"""Files that name a kernel or a plan instruction: what it costs to add one.

A file names it where its code has the name as a word, strings included and comments and docstrings not. Only names with
an underscore are looked for: `add` and `for` stand everywhere. Files that call a kernel through the seam (cpp/rlwe,
cpp/exec) do not count. An instruction is its enumerator in C++, where its name is that of a kernel or of a function of
evaluators, which is there without plans; in Python it is its name, also in capital letters.
"""

import ast
import re
from pathlib import Path

from check_sizes import CPP_NOISE

from structure.offenders import Offender, Rule
from structure.sources import PACKAGE, Sources

KERNELS = ("cpp/backend/kernels.def", "cpp/backend/kernels.hpp")  # where their names stand: the first that is there
# A line LW_<KIND>(name, ...) or LW_<KIND>(result, name, ...) of the first, a pointer of the second.
KERNEL = re.compile(r"^LW_\w+\((?:[^,()]+,\s*(?=\w))?(?P<line>\w+)\s*[,)]|\(\*(?P<pointer>\w+)\)\s*\(", re.MULTILINE)
KERNEL_FILES = ("cpp/backend/", "cpp/bindings/", "cuda/", "sycl/", f"src/{PACKAGE}/_core.pyi")
KERNEL_TARGET = 7
OPCODES = "cpp/exec/opcodes.def"
OPCODE = re.compile(r'^LW_OPCODE\((?P<enumerator>\w+), "(?P<name>\w+)"', re.MULTILINE)
OPCODE_TARGET = 8
CPP = (".hpp", ".cpp", ".cu", ".def", ".inc", ".h")
WORD = re.compile(r"\w+")


def words_of_files(root: Path, sources: Sources) -> dict[str, set[str]]:
    """Path -> words in the code, of C++ and Python sources."""
    words = {source.path: _python_words(source.tree) for source in sources}
    for path in (p for folder in ("src", "cpp", "cuda", "sycl") for p in sorted((root / folder).rglob("*"))):
        name = path.relative_to(root).as_posix()
        if path.suffix in CPP and "/build/" not in name:
            code = CPP_NOISE.sub(lambda m: m[0] if m[0][0] in "\"R'" else " ", path.read_text())
            words[name] = set(WORD.findall(code))
        elif path.suffix == ".pyi":
            words[name] = _python_words(ast.parse(path.read_text()))
    return words


def _python_words(tree: ast.AST) -> set[str]:
    """Identifiers, and words in strings that are no docstrings."""
    words: set[str] = set()
    alone = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        for field in ("id", "attr", "name", "arg", "asname"):
            if isinstance(text := getattr(node, field, None), str):
                words.update(text.split("."))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            words.update(WORD.findall(node.value))
    return words


def kernels(root: Path, words: dict[str, set[str]]) -> dict[str, list[str]]:
    """Kernel -> the files that name it."""
    path = next((path for path in KERNELS if (root / path).exists()), None)
    names = [m["line"] or m["pointer"] for m in KERNEL.finditer((root / path).read_text())] if path else []
    places = {p: found for p, found in words.items() if p.startswith(KERNEL_FILES)}
    return {name: [p for p, found in places.items() if name in found] for name in names if "_" in name}


def instructions(root: Path, words: dict[str, set[str]]) -> dict[str, list[str]]:
    """Plan instruction -> the files that name it."""
    table = (root / OPCODES).read_text() if (root / OPCODES).exists() else ""
    return {
        m["name"]: [path for path, found in words.items() if _spellings(path, m["name"], m["enumerator"]) & found]
        for m in OPCODE.finditer(table)
        if "_" in m["name"]
    }


def _spellings(path: str, name: str, enumerator: str) -> set[str]:
    """Return the words that stand for an instruction in a file of this path; `_core.pyi` names functions alone."""
    if path.endswith((*CPP, ".pyi")):
        return {enumerator}
    return {name, name.upper()}


def widely_named(name: str, kind: str, files: dict[str, list[str]], target: int) -> Rule:
    """Those that more files name than the target allows."""
    return Rule(
        name,
        "make the rest follow from the table, or raise the number in the list and say why",
        tuple(
            Offender(
                key,
                f"{min(paths)}:1",
                f"{len(paths)} files name the {kind} {key}: {', '.join(sorted(paths))}",
                len(paths),
            )
            for key, paths in sorted(files.items())
            if len(paths) > target
        ),
    )
