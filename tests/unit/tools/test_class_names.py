"""One class of a name: in the package, and in the core, where schemes and backends have their own of some."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CPP, PACKAGE = ROOT / "cpp", ROOT / "src" / "latticework"
# The same thing for another scheme or backend; the namespace says which.
OF_SCHEMES = {"Decryptor", "Encoder", "Evaluator"}
OF_BACKENDS = {"ExtendedDigits", "GiantSums", "NttRanges", "NttTable"}
FAMILIES = {"bfv", "ckks", "rlwe"}  # what both schemes have: public names, and in rlwe what they share
DEFINED = re.compile(r"^(?:class|struct|enum class) (\w+)(?: final)?(?: : [^;{]*)? \{", re.MULTILINE)


def repeated(found):
    """Names that stand for several classes, with their files."""
    return {name: files for name, files in found.items() if len(files) > 1}


def test_classes_of_the_core():
    found = defaultdict(list)
    for path in sorted(CPP.rglob("*.[hc]pp")):
        for name in DEFINED.findall(path.read_text()):
            found[name].append(str(path.relative_to(CPP)))
    assert found["MappedKeys"] == ["exec/mapped_keys.hpp"] and len(found) > 100
    for name, folders in [*((n, ("rlwe", "schemes")) for n in OF_SCHEMES), *((n, ("backend",)) for n in OF_BACKENDS)]:
        assert all(file.startswith(folders) for file in found.pop(name)), name
    assert repeated(found) == {}


def test_classes_of_the_package():
    """The extension is apart: its classes are named with `_core` before them, everywhere."""
    found = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.relative_to(PACKAGE))
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("_core"):
                assert not any(alias.name[0].isupper() for alias in node.names), path
    assert len(found) > 300
    twice = repeated(found)
    apart = {
        name
        for name, files in twice.items()
        if not all(len(file.parts) > 2 and file.parts[1] in FAMILIES for file in files)
    }
    assert apart == set()
    assert "Ciphertext" in twice
