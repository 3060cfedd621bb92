"""What Python code of users names: functions and their arguments, classes and their members, errors and their bases.

Homes of names, annotations and values of constants are left out: what moves inside the package changes nothing here.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from held import CLOSED, HELD, INNER, TOLD
from lists import Entries

# Modules that the documentation lets users import from, beside the package itself; of some, single names.
MODULES: Mapping[str, tuple[str, ...] | None] = {
    "latticework": None,
    "latticework.errors": None,
    "latticework.owner": None,
    "latticework.ckks": None,
    "latticework.bfv": None,
    "latticework.torch": None,
    "latticework.ir": (
        "Builder",
        "Module",
        "Op",
        "Pass",
        "Value",
        "interpret",
        "parse_module",
        "print_module",
        "rebuild",
        "source_hash",
        "verify",
    ),
    "latticework.progress": ("ProgressBar",),
    "latticework.debug": ("DebugReport", "DebugRow"),
    "latticework.params": ("BOOTSTRAP_SETS", "BootstrapSet", "plan_bootstrap_set"),
}
KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "by position",
    inspect.Parameter.VAR_POSITIONAL: "any number",
    inspect.Parameter.VAR_KEYWORD: "any keywords",
}
_ARRAYS = {"__array__", "__array_function__", "__array_ufunc__", "__matmul__", "__rmatmul__"}
_BLOCKS = {"__call__", "__enter__", "__exit__", "__class_getitem__"}
OPERATORS = ({*dir(int), *dir(list), *dir(dict)} | _ARRAYS | _BLOCKS) - {*dir(object), "__getattribute__"}


def collect() -> Entries:
    """`latticework.compile(degree=)  keyword, default None`; `Event.stage  attribute`."""
    entries: Entries = {"latticework.__version__": "attribute"}
    for module_name, chosen in MODULES.items():
        module = import_module(module_name)
        entries[module_name] = "module"
        for name in chosen or public_names(module):
            entries.update(_named(f"{module_name}.{name}", getattr(module, name)))
    for label, kind in HELD.items():
        entries[label] = _class_words(kind)
        entries.update(_members(label, kind))
    for label, function in TOLD.items():
        entries.update(_named(label, function))
    return entries


def public_names(module: ModuleType) -> list[str]:
    """What a module offers: `__all__`, or the classes of ours in it, wherever they are written."""
    ours = (name for name, value in vars(module).items() if inspect.isclass(value) and is_ours(value))
    return list(getattr(module, "__all__", None) or (name for name in ours if not name.startswith("_")))


def _named(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if inspect.ismodule(value):
        yield path, "module"
    elif inspect.isclass(value) and is_ours(value):
        yield path, _class_words(value)
        yield from _arguments(path, value)
        yield from _members(path, value)
    elif inspect.isclass(value):
        yield path, f"class {value.__name__} of others"
    elif inspect.isroutine(value):
        yield path, "function"
        yield from _arguments(path, value)
    else:
        yield path, "value"


def is_ours(value: Any) -> bool:
    """Whether a class or function is written in the package."""
    return str(getattr(value, "__module__", "")).partition(".")[0] == "latticework"


def _class_words(kind: type) -> str:
    """A class, and which exceptions catch it."""
    caught = [base.__name__ for base in kind.__mro__[1:] if issubclass(base, BaseException)]
    return f"class, caught as {', '.join(caught)}" if caught else "class"


def _arguments(path: str, function: Callable[..., Any], skipped: int = 0) -> Iterator[tuple[str, str]]:
    try:
        parameters = list(inspect.signature(function).parameters.values())[skipped:]
    except ValueError:  # built in
        return
    for number, parameter in enumerate(parameters, 1):
        default = "" if parameter.default is parameter.empty else f", default {_default(parameter.default)}"
        if parameter.kind is parameter.KEYWORD_ONLY:
            yield f"{path}({parameter.name}=)", f"keyword{default}"
        else:
            how = KINDS.get(parameter.kind)
            star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
            place = f"argument {number}" + (f" {how}" if how else "")
            yield f"{path}({star}{parameter.name})", (how if star else place) + default


def _default(value: Any) -> str:
    """The same text on every machine, with no addresses."""
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_default, value))})"
    if isinstance(value, Path):
        return repr(str(value))
    if inspect.isroutine(value) or inspect.isclass(value):
        return str(value.__name__)
    return "made anew" if "factory" in type(value).__name__.lower() else f"{type(value).__name__}()"


def _members(path: str, kind: type) -> Iterator[tuple[str, str]]:
    """Its own and inherited ones that the package writes."""
    for name in sorted(member_names(kind)):
        home = next((base for base in kind.__mro__ if name in vars(base)), None)
        value = None if home is None else vars(home)[name]
        if name.startswith("__"):
            yield f"{path}.{name}", "operator"
        elif isinstance(value, classmethod | staticmethod):
            yield f"{path}.{name}", "method of the class"
            yield from _arguments(f"{path}.{name}", getattr(kind, name))
        elif inspect.isfunction(value):
            yield f"{path}.{name}", "method"
            yield from _arguments(f"{path}.{name}", value, skipped=1)
        else:
            yield f"{path}.{name}", "attribute"  # a field, a property or a constant


def member_names(kind: type) -> set[str]:
    """Public attributes and methods, also those that only objects have, and operators."""
    found: set[str] = set()
    for base in kind.__mro__:
        if is_ours(base):
            found |= {*vars(base), *vars(base).get("__annotations__", ()), *_assigned(base)}
    if is_dataclass(kind):
        found |= {field.name for field in fields(kind)}
    return {name for name in found if name in OPERATORS or not name.startswith("_")}


def _assigned(kind: type) -> set[str]:
    """Names that methods give to their object: `self.name = ...`."""
    tree = _classes(kind.__module__).get(kind.__qualname__)
    targets = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute)) if tree is not None else ()
    stored = (t for t in targets if isinstance(t.ctx, ast.Store) and isinstance(t.value, ast.Name))
    return {target.attr for target in stored if target.value.id == "self"}


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The source of each class of a module."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(sys.modules[module])))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


# Which classes users hold without naming them: what annotations say that public ones give.


def forgotten() -> Iterator[str]:
    """Classes of ours that members of public ones are said to be, and that no list has."""
    named = {kind for name, chosen in MODULES.items() for kind in _public_classes(name, chosen)}
    known = named | set(HELD.values()) | INNER
    for kind in sorted((named | set(HELD.values())) - CLOSED, key=lambda kind: kind.__qualname__):
        for name in sorted(member_names(kind)):
            for found in _classes_of_member(kind, name):
                if found not in known:
                    yield f"{kind.__qualname__}.{name} is a {found.__qualname__}, of {found.__module__}"


def _public_classes(module_name: str, chosen: tuple[str, ...] | None) -> Iterator[type]:
    module = import_module(module_name)
    values = (getattr(module, name) for name in chosen or public_names(module))
    return (value for value in values if inspect.isclass(value) and is_ours(value))


def _classes_of_member(kind: type, name: str) -> Iterator[type]:
    for base in kind.__mro__:
        if not is_ours(base):
            continue
        value = vars(base).get(name)
        value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        value = value.fget if isinstance(value, property) else value
        value = value.func if isinstance(value, cached_property) else value
        said = vars(base).get("__annotations__", {}).get(name)
        if inspect.isfunction(value):
            said, base = inspect.unwrap(value).__annotations__.get("return"), inspect.unwrap(value)
        if said is not None:
            yield from _classes_in(said, base.__module__)
            return


def _classes_in(annotation: Any, module: str) -> Iterator[type]:
    """Classes of ours that an annotation names, found where its module finds them, or imports them for checkers only."""
    names = {n.id for n in ast.walk(ast.parse(str(annotation), mode="eval")) if isinstance(n, ast.Name)}
    for name in sorted(names):
        value = _names_in(module).get(name)
        if inspect.isclass(value) and is_ours(value):
            yield value


@cache
def _names_in(module: str) -> dict[str, Any]:
    scope = dict(vars(sys.modules[module]))
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module, "exec"), scope)
    return scope
