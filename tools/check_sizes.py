"""Measure files, functions, duplication and documentation against the gates of the tree.

    python tools/check_sizes.py [--root DIR] [--list] [--update]

A size or duplication figure fails when it is worse than its gate and worse than tools/sizes.json, the figures of
the last accepted state (`--update` writes them). A public Python name without docstring or annotations always fails.
`--list` shows the long functions and the duplicated places.

Duplication is the share of the tokens of src and cpp that lie in a run of WINDOW or more equal tokens which occurs
twice. Tokens are compared as written, names and numbers included; comments, docstrings, imports and includes do
not count, and neither does a run that overlaps its own repetition, as in a table of equal entries.
"""

import argparse
import ast
import bisect
import io
import json
import re
import statistics
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = ("src", "cpp", "tools", "examples", "bench")
TESTS = ("tests",)
DUPLICATION = ("src", "cpp")
DOCUMENTED = ("src",)
GATES = {  # figure -> (gate, unit)
    "file_median": (150, "lines"),
    "file_p90": (400, "lines"),
    "file_max": (800, "lines"),
    "long_functions": (2.0, "% of functions"),
    "duplication": (5.0, "% of tokens"),
}
FUNCTION_LINES = 60
WINDOW = 50
TABLE = re.compile(r"(\.def|\.inc|_table\.(py|[ch]pp)|_tables\.(py|[ch]pp))$")  # no file gate
KERNELS = re.compile(r"^cpp/backend/[^/]+/")  # no function gate

PYTHON = (".py",)
CPP = (".cpp", ".hpp", ".cu")
CPP_NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
CPP_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
CPP_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|\"(?:\\.|[^\"\\])*\"|\S")
SCOPE = re.compile(r"(inline\s+)?(namespace|class|struct|union|enum)\b|extern\s+\"\"$")


@dataclass(frozen=True)
class Place:
    """Something at a line of a file."""

    path: str
    line: int
    what: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


@dataclass(frozen=True)
class Function:
    """A function body, `lines` long from its first line to its last."""

    place: Place
    lines: int


@dataclass(frozen=True)
class Token:
    """A token as written."""

    text: str
    line: int


def files_in(root: Path, folders: tuple[str, ...]) -> dict[str, str]:
    """Path below root -> text of every Python and C++ file in some folders."""
    paths = (p for folder in folders for p in sorted((root / folder).rglob("*")))
    return {p.relative_to(root).as_posix(): p.read_text() for p in paths if p.suffix in PYTHON + CPP}


def num_lines(text: str) -> int:
    """Lines of a file."""
    return len(text.splitlines())


def python_functions(path: str, text: str) -> Iterator[Function]:
    """Every function and method, nested ones too."""
    for node in ast.walk(ast.parse(text, path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(Place(path, node.lineno, node.name), (node.end_lineno or node.lineno) - node.lineno + 1)


def without_noise(text: str) -> str:
    """C++ text of the same lines without comments, contents of literals, and directives."""

    def blank(match: re.Match[str]) -> str:
        return ('""' if match[0][0] in "\"R'" else " ") + "\n" * match[0].count("\n")

    code = CPP_NOISE.sub(blank, text)
    return CPP_DIRECTIVE.sub(lambda match: "\n" * match[0].count("\n"), code)


def cpp_functions(path: str, text: str) -> Iterator[Function]:
    """Functions by their braces: a `{` outside functions whose head has parentheses and no `=` before them."""
    code = without_noise(text)
    line, head, head_line = 1, "", 1
    scopes: list[Function | None] = []  # open braces; a Function where one begins
    depth_in_function = 0
    for i, char in enumerate(code):
        line += char == "\n"
        if depth_in_function:
            depth_in_function += (char == "{") - (char == "}")
            if depth_in_function == 0 and (begun := scopes.pop()):
                if code[i + 1 :].lstrip()[:1] in ("{", ","):  # a brace in a constructor's initialiser list
                    head, head_line = begun.place.what + "()", begun.place.line
                    continue
                yield Function(Place(path, begun.place.line, function_name(begun.place.what)), line - begun.lines + 1)
                head = ""
        elif char == "{":
            kind = re.sub(r"^template\s*<.*?>\s*(?=[a-z:])", "", " ".join(head.split()))
            if SCOPE.match(kind):
                scopes.append(None)
            else:
                is_function = "(" in kind and not re.search(r"(?<!operator)(?<![=!<>])=(?!=)", kind.split("(")[0])
                scopes.append(Function(Place(path, head_line, head), head_line) if is_function else None)
                depth_in_function = 1
            head = ""
        elif char in "};":
            if char == "}" and scopes:
                scopes.pop()
            head = ""
        else:
            if not head.strip():
                head_line = line
            head += char


def function_name(head: str) -> str:
    """The name in a C++ function's head."""
    names = re.findall(r"([~\w:]+(?:\s*operator\S+)?)\s*\(", head)
    return names[0] if names else head.strip()


def python_tokens(text: str) -> Iterator[Token]:
    """Tokens that count for duplication."""
    layout = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    starts_statement, in_import = True, False
    for token in tokenize.tokenize(io.BytesIO(text.encode()).readline):
        if token.type in layout:
            starts_statement, in_import = True, False
        elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER):
            if starts_statement:
                in_import = token.string in ("import", "from")
            if not in_import and not (starts_statement and token.type == tokenize.STRING):
                yield Token(token.string, token.start[0])
            starts_statement = False


def cpp_tokens(text: str) -> Iterator[Token]:
    """Tokens that count for duplication."""
    code = CPP_NOISE.sub(lambda m: m[0] if m[0][0] in "\"R'" else "\n" * m[0].count("\n"), text)
    code = CPP_DIRECTIVE.sub(lambda match: "\n" * match[0].count("\n"), code)
    ends = [match.start() for match in re.finditer("\n", code)]
    for match in CPP_TOKEN.finditer(code):
        yield Token(match[0], bisect.bisect_left(ends, match.start()) + 1)


def duplication(files: dict[str, str]) -> tuple[float, list[str]]:
    """Percent of the tokens that are duplicated, and the pairs of places."""
    tokens = {path: list((python_tokens if path.endswith(PYTHON) else cpp_tokens)(t)) for path, t in files.items()}
    first: dict[tuple[str, ...], tuple[str, int]] = {}
    covered: dict[str, set[int]] = {path: set() for path in files}
    pairs: list[str] = []
    previous = ("", -1, "", -1)
    for path, sequence in tokens.items():
        texts = [token.text for token in sequence]
        for i in range(len(texts) - WINDOW + 1):
            seen, at = first.setdefault(tuple(texts[i : i + WINDOW]), (path, i))
            if seen == path and i - at < WINDOW:
                continue
            covered[seen].update(range(at, at + WINDOW))
            covered[path].update(range(i, i + WINDOW))
            if previous != (path, i - 1, seen, at - 1):
                pairs.append(f"{path}:{sequence[i].line}: as {seen}:{tokens[seen][at].line}")
            previous = (path, i, seen, at)
    total = sum(len(sequence) for sequence in tokens.values())
    return 100 * sum(len(c) for c in covered.values()) / max(total, 1), pairs


def is_public(name: str) -> bool:
    """Whether a name is part of what others may use."""
    return not name.startswith("_")


def undocumented(path: str, text: str) -> Iterator[Place]:
    """Public names of a module without a docstring, and functions without all annotations."""
    tree = ast.parse(text, path)
    if text.strip() and not ast.get_docstring(tree) and is_public(Path(path).stem):
        yield Place(path, 1, "the module has no docstring")

    def visit(body: list[ast.stmt], prefix: str) -> Iterator[Place]:
        for node in body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not is_public(node.name):
                continue
            name = prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from visit(node.body, f"{name}.")
            elif missing := missing_annotations(node, bool(prefix)):
                yield Place(path, node.lineno, f"{name} has no annotation of {', '.join(missing)}")
            if not ast.get_docstring(node) and not is_variant(node):
                yield Place(path, node.lineno, f"{name} has no docstring")

    yield from visit(tree.body, "")


def is_variant(node: ast.stmt) -> bool:
    """Whether a definition is documented elsewhere: an overload, or the setter of a property."""
    decorators = getattr(node, "decorator_list", [])
    return any(ast.unparse(d).split(".")[-1] in ("overload", "setter", "deleter", "override") for d in decorators)


def missing_annotations(node: ast.FunctionDef | ast.AsyncFunctionDef, in_class: bool) -> list[str]:
    """The parameters without annotation, and `return`."""
    args = node.args
    static = any(ast.unparse(d) == "staticmethod" for d in node.decorator_list)
    positional = [*args.posonlyargs, *args.args][1 if in_class and not static else 0 :]
    others = [*args.kwonlyargs, *filter(None, [args.vararg, args.kwarg])]
    return [a.arg for a in [*positional, *others] if a.annotation is None] + ([] if node.returns else ["return"])


def functions_of(files: dict[str, str]) -> list[Function]:
    """All functions that the gate of lengths is for."""
    gated = {path: text for path, text in files.items() if not KERNELS.match(path)}
    return [
        function
        for path, text in gated.items()
        for function in (python_functions if path.endswith(PYTHON) else cpp_functions)(path, text)
    ]


def report(figures: dict[str, float], baseline: dict[str, float]) -> list[str]:
    """Print the figures beside gate and baseline; returns the failures."""
    failures = []
    for name, (gate, unit) in GATES.items():
        accepted = baseline.get(name, 0)
        verdict = "ok" if figures[name] <= gate else "over" if figures[name] <= accepted else "FAILS"
        print(f"{name:15} {figures[name]:7g} {unit:15} gate {gate:g}, accepted {accepted:g}: {verdict}")
        if verdict == "FAILS":
            failures.append(f"{name} is {figures[name]:g} {unit}: over the gate {gate:g} and over the last state")
    return failures


def main() -> int:
    """Measure, print and judge; 1 if a gate fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--list", action="store_true", help="show long functions and duplicated places")
    parser.add_argument("--update", action="store_true", help="accept today's figures: write tools/sizes.json")
    arguments = parser.parse_args()
    root = arguments.root.resolve()

    sources, tests = files_in(root, SOURCES), files_in(root, TESTS)
    lines = sorted(num_lines(text) for path, text in sources.items() if not TABLE.search(path)) or [0]
    functions = functions_of(sources)
    long = [f for f in functions if f.lines > FUNCTION_LINES]
    percent, pairs = duplication({p: t for p, t in sources.items() if p.startswith(DUPLICATION)})
    figures = {
        "file_median": statistics.median(lines),
        "file_p90": lines[int(0.9 * (len(lines) - 1))],
        "file_max": max([*lines, *map(num_lines, tests.values())]),
        "long_functions": round(100 * len(long) / max(len(functions), 1), 2),
        "duplication": round(percent, 2),
    }
    stored = root / "tools" / "sizes.json"
    if arguments.update:
        stored.write_text(json.dumps(figures, indent=2) + "\n")
    failures = report(figures, json.loads(stored.read_text()) if stored.exists() else {})
    bare = [p for path, text in sources.items() if path.startswith(DOCUMENTED) for p in undocumented(path, text)]

    num_test_lines = sum(map(num_lines, tests.values()))
    print(f"{len(sources)} files, {sum(lines)} lines, {len(functions)} functions; test/source lines", end=" ")
    print(f"{num_test_lines / max(sum(lines), 1):.2f} (wanted: 0.8); {len(bare)} undocumented names")
    if arguments.list or any("long_functions" in f for f in failures):
        print(*(f"{f.place} is {f.lines} lines long" for f in long), sep="\n")
    if arguments.list or any("duplication" in f for f in failures):
        print(*pairs, sep="\n")
    print(*bare, *failures, sep="\n")
    return 1 if failures or bare else 0


if __name__ == "__main__":
    sys.exit(main())
