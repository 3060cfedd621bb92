"""Write the methods of `Ring` that are kernels into src/latticework/_core.pyi.

    python tools/write_kernel_stub.py [--check]

The kernels are those of cpp/backend/kernels.def, in its order, and their signatures those of the extension that is
built. They stand between `# kernels` and `# end of kernels`. With --check nothing is written; exit status 1 if the stub
says something else.
"""

import re
import sys
from pathlib import Path

from latticework import _core

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "cpp" / "backend" / "kernels.def"
STUB = ROOT / "src" / "latticework" / "_core.pyi"
PART = re.compile(r"(    # kernels\n)(.*?)(    # end of kernels\n)", re.DOTALL)
LINE = re.compile(r"^LW_(?!SCRATCH)[A-Z_]+\((?:\w+, )?(\w+)[,)]", re.MULTILINE)
WIDTH = 120
TYPES = (
    (r"(?:numpy\.)?ndarray\[dtype=uint64[^]]*\]", "_Words"),
    (r"(?:numpy\.)?ndarray\[dtype=(\w+)[^]]*\]", r"npt.NDArray[np.\1]"),
    (r"collections\.abc\.", ""),
)


def kernels() -> list[str]:
    """The names of all kernels of the seam."""
    return LINE.findall(LIST.read_text())


def signature(name: str) -> str:
    """The definition of a kernel's method, as ruff formats it."""
    ((text, _, defaults),) = getattr(_core.Ring, name).__nb_signature__
    for number, value in enumerate(defaults or ()):
        text = text.replace(f"\\{number}", repr(value))
    for pattern, short in TYPES:
        text = re.sub(pattern, short, text)
    return wrapped(f"    {text}: ...\n")


def wrapped(line: str) -> str:
    """A definition in one line, its parameters in a second one, or a line for each."""
    if len(line.rstrip()) <= WIDTH:
        return line
    begin, end = line.index("(") + 1, line.rindex(")")
    head, inside, tail = line[:begin], line[begin:end], line[end:]
    if len(inside) + 8 <= WIDTH:
        return f"{head}\n        {inside}\n    {tail}"
    parameters = re.split(r", (?=\w+: )", inside)
    return head + "\n" + "".join(f"        {parameter},\n" for parameter in parameters) + f"    {tail}"


def written(stub: str) -> str:
    """The stub with the methods as they should be."""
    return PART.sub(lambda found: found[1] + "".join(map(signature, kernels())) + found[3], stub)


if __name__ == "__main__":
    from generated_files import write_or_check

    sys.exit(write_or_check(__doc__, {STUB: written}))
