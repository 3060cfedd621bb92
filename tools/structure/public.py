"""Which functions are the public interface: users have their names and parameters, so no rule asks to change them."""

import ast
from collections.abc import Iterator
from pathlib import Path

from structure.sources import PACKAGE, Definition, Function, Source, Sources, decorators

MODULES = (
    "",
    ".schemes.bfv",
    ".schemes.ckks",
    ".errors",
    ".plan.client_steps",
    ".progress",
    ".models.finetuning",
    ".torch",
)  # of the package, with public names
HELD = "tests/public/held.py"  # imports the classes of objects that public ones give
COMMAND = "report_outcome"  # what decorates the function of a command: its parameters are the options


class Public:
    """The public names of a package, by the modules that define them, and the classes that public ones inherit from."""

    def __init__(self, sources: Sources) -> None:
        self._names: set[tuple[str, str]] = set()
        self._sources = sources
        modules = [PACKAGE + part for part in MODULES if PACKAGE + part in sources.files]
        left = [_home(sources, module, name) for module in modules for name in _names_of(sources.files[module])]
        left += (_home(sources, module, name) for module, name in _held(sources.root / HELD))
        while left:
            module, name = left.pop()
            if (module, name) not in self._names:
                self._names.add((module, name))
                left += (_home(sources, module, base) for base in _bases(sources.files[module], name))

    def has(self, definition: Definition) -> bool:
        """Whether a definition is public: by its name or its class's, as a command, or as it overrides what is."""
        node, names = definition.node, definition.name.split(".")
        if isinstance(node, Function) and COMMAND in decorators(node):
            return True
        is_hidden = any(name.startswith("_") and not name.startswith("__") for name in names)
        if is_hidden or isinstance(definition.around, Function):
            return False
        return (definition.source.module, names[0]) in self._names or self._overrides(definition.source, names)

    def _overrides(self, source: Source, names: list[str]) -> bool:
        """Whether a method has the name of one in a public class that its own inherits from, which says it."""
        bases = [_home(self._sources, source.module, base) for base in _bases(source, names[0])] if names[1:] else []
        methods = {
            node.name
            for module, base in bases
            if (module, base) in self._names
            for each in self._sources.files[module].tree.body
            if isinstance(each, ast.ClassDef) and each.name == base
            for node in each.body
            if isinstance(node, Function)
        }
        return names[-1] in methods

    def home_of(self, name: str) -> str | None:
        """The module in which a public name is defined."""
        return next((module for module, known in sorted(self._names) if known == name), None)


def _held(path: Path) -> Iterator[tuple[str, str]]:
    """Modules and names of what users hold without importing it from a public module."""
    for node in ast.walk(ast.parse(path.read_text() if path.exists() else "")):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def _names_of(source: Source) -> list[str]:
    """The names in `__all__` of a module, or all that it defines for others."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return [n.name for n in source.tree.body if isinstance(n, ast.ClassDef | Function) and n.name[0] != "_"]


def _bases(source: Source, name: str) -> list[str]:
    """The classes that a class inherits from, as they are called there, without parameters of types."""
    classes = (n for n in source.tree.body if isinstance(n, ast.ClassDef) and n.name == name)
    return [ast.unparse(base).partition("[")[0] for node in classes for base in node.bases]


def _home(sources: Sources, module: str, name: str) -> tuple[str, str]:
    """The module that defines a name, by the imports of those that hand it on, and the name."""
    source = sources.files[module]
    if not any(isinstance(n, ast.ClassDef | Function) and n.name == name for n in source.tree.body):
        for found in sources.imports(source):
            if found.name == name:
                return _home(sources, found.module, found.name)
    return module, name
