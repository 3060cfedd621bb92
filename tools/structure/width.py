"""How wide functions are: their parameters, and the lines of `compile`."""

import ast

from structure.offenders import Offender, Rule
from structure.public import Public
from structure.sources import Function, Sources, decorators

PARAMETERS = 8


def number_of_parameters(node: Function, in_class: bool) -> int:
    """Those that a caller may give; `*args` is one, and so is `**kwargs`. The first of a method is not."""
    args = node.args
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, [args.vararg, args.kwarg])]
    return len(named) - (in_class and "staticmethod" not in decorators(node))


def wide_functions(sources: Sources, public: Public) -> Rule:
    """Functions of more than PARAMETERS parameters outside the public interface."""
    wide = []
    for d in sources.definitions:
        if isinstance(d.node, Function) and not public.has(d) and "overload" not in decorators(d.node):
            number = number_of_parameters(d.node, isinstance(d.around, ast.ClassDef))
            if number > PARAMETERS:
                wide.append(Offender(d.key, d.place, f"{d.name} has {number} parameters", number))
    return Rule("parameters", f"give it at most {PARAMETERS}: what belongs together makes a record", tuple(wide))


def lines_of_compile(sources: Sources, public: Public) -> int:
    """Lines of the public function `compile` without those of its docstring."""
    home = public.home_of("compile")
    found = (d.node for d in sources.definitions if d.source.module == home and d.name == "compile")
    return next((_lines(node) for node in found if isinstance(node, Function)), 0)


def _lines(node: Function) -> int:
    docstring = node.body[0] if ast.get_docstring(node) is not None else None
    rest = 0 if docstring is None else (docstring.end_lineno or 0) - docstring.lineno + 1
    return (node.end_lineno or node.lineno) - node.lineno + 1 - rest
