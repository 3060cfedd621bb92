"""Python files of the package with their syntax trees, what they define, and where an imported name is defined."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "latticework"
Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | ast.ClassDef | Function


@dataclass(frozen=True)
class Source:
    """A Python file: its path below the root of the tree, its dotted module, its syntax tree."""

    path: str
    module: str
    tree: ast.Module

    @property
    def file(self) -> str:
        """The name of the file alone: keys of exceptions have it, so that a file keeps them where it moves."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> tuple[str, ...]:
        """The folders below the package in which the file lies."""
        parts = self.module.split(".")[1:]
        return tuple(parts if self.file == "__init__.py" else parts[:-1])

    @property
    def is_facade(self) -> bool:
        """Whether it is an `__init__.py` that defines no function and no class: it only hands names on."""
        return self.file == "__init__.py" and not any(isinstance(n, Function | ast.ClassDef) for n in self.tree.body)


@dataclass(frozen=True)
class Definition:
    """A module, class or function; `name` is qualified by the classes and functions around it, "" for a module."""

    source: Source
    name: str
    node: Scope
    around: Scope | None  # what it is defined in

    @property
    def key(self) -> str:
        """What stands in a list of exceptions."""
        return f"{self.source.file} {self.name or '<module>'}"

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.source.path}:{getattr(self.node, 'lineno', 1)}"


@dataclass(frozen=True)
class Import:
    """An import of a module, or of a name from one ("" for the module itself), at a line."""

    line: int
    module: str
    name: str


class Sources:
    """All Python files of the package below the root of a tree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[str, Source] = {}  # by module
        for path in sorted((root / "src" / PACKAGE).rglob("*.py")):
            parts = path.relative_to(root / "src").with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.files[module] = Source(path.relative_to(root).as_posix(), module, ast.parse(path.read_text()))

    def __iter__(self) -> Iterator[Source]:
        return iter(self.files.values())

    @cached_property
    def definitions(self) -> list[Definition]:
        """Every module, class and function of all files, nested ones too."""
        return [definition for source in self for definition in _definitions(source, "", source.tree, None)]

    def imports(self, source: Source) -> Iterator[Import]:
        """The imports from the package in a file, relative ones resolved."""
        package = source.module if source.file == "__init__.py" else source.module.rpartition(".")[0]
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Import):
                yield from (Import(node.lineno, a.name, "") for a in node.names if a.name in self.files)
            elif isinstance(node, ast.ImportFrom):
                parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                module = ".".join([*parents, *filter(None, [node.module])])
                for alias in node.names:
                    if (inner := f"{module}.{alias.name}") in self.files:
                        yield Import(node.lineno, inner, "")
                    elif module in self.files:
                        yield Import(node.lineno, module, alias.name)

    def home(self, module: str, name: str) -> Source:
        """The file that a name imported from a module comes from: facades are looked through."""
        source = self.files[module]
        if name and source.is_facade:
            for found in self.imports(source):
                if found.name == name or (not found.name and found.module.rpartition(".")[2] == name):
                    return self.home(found.module, found.name)
        return source


def _definitions(source: Source, name: str, node: Scope, around: Scope | None) -> Iterator[Definition]:
    """A definition and those inside it."""
    yield Definition(source, name, node, around)
    for inner in _nearest(node):
        yield from _definitions(source, f"{name}.{inner.name}" if name else inner.name, inner, node)


def _nearest(node: ast.AST) -> Iterator[ast.ClassDef | Function]:
    """The definitions inside a node that lie in no other definition inside it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | Function):
            yield child
        else:
            yield from _nearest(child)


def decorators(node: ast.ClassDef | Function) -> set[str]:
    """The last words of a definition's decorators: `property`, `setter`, `overload`."""
    called = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
    return {ast.unparse(d).rpartition(".")[2] for d in called}
