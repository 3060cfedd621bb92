"""One class of a name: in the package, and in the core, where schemes and backends have their own of some."""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CPP = ROOT / "cpp"
# The same thing for another scheme or backend; the namespace says which.
OF_SCHEMES = {"Decryptor", "Encoder", "Evaluator"}
OF_BACKENDS = {"NttTable"}
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
