"""Options that a command's function gets together, in a dictionary: each is read there, or handed on by its name."""

import ast
import inspect
from importlib import import_module

import pytest

from latticework.commands.command_table import COMMANDS

FOR_COMPILE = "keywords"  # `compiling.compile_with` hands all of them to lw.compile
GROUPS = [
    (name, group) for name, command in COMMANDS.items() for group in sorted({o.group for o in command.options} - {""})
]


def keys_read(function, group):
    """The keys that a function reads of a dictionary by name; None where it hands all on as keywords."""
    found = set()
    for node in ast.walk(ast.parse(inspect.getsource(function).lstrip())):
        if isinstance(node, ast.keyword) and node.arg is None and ast.unparse(node.value) == group:
            return None
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == group:
            found.add(ast.literal_eval(node.slice))
    return found


@pytest.mark.parametrize(("name", "group"), [pair for pair in GROUPS if pair[1] != FOR_COMPILE])
def test_every_option_of_a_group_is_read(name, group):
    function = inspect.unwrap(getattr(import_module(f"latticework.commands.{name}"), name))
    keys = {option.key for option in COMMANDS[name].options if option.group == group}
    read = keys_read(function, group)
    assert read is None or read == keys


def test_a_key_that_nothing_reads_is_found():
    def work(outside):
        return outside["clip"]

    def hand_on(outside):
        return dict(**outside)

    assert keys_read(work, "outside") == {"clip"} and keys_read(hand_on, "outside") is None
