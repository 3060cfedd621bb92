"""Fields of JSON that the documentation lists: those that commands really say, each of them and no other."""

import json_keys
import pytest

from latticework.commands.command_table import COMMANDS
from latticework.commands.json_fields import EVERY, FAULT, FIELDS

EVERYWHERE = {path for path in EVERY if not path.startswith("steps[]")}  # some commands have no step


def fields_of(name):
    """Paths of all that a command said in a session."""
    start = f"{name} --json "
    return {entry.removeprefix(start) for entry in json_keys.collect() if entry.startswith(start)}


@pytest.mark.parametrize("command", FIELDS)
def test_a_command_says_what_is_documented(command):
    found = fields_of(command)
    assert found >= EVERYWHERE
    assert found - set(EVERY) == set(FIELDS[command])


def test_a_fault_says_what_is_documented():
    assert fields_of("a fault") == EVERYWHERE | set(FAULT)


def test_every_command_that_says_json_has_fields():
    assert set(FIELDS) == {name for name, command in COMMANDS.items() if not command.passes_on}


def test_no_field_has_two_meanings():
    """Fields of every command are in no table of one, and objects come before what they hold."""
    for fields in (*FIELDS.values(), FAULT):
        assert not set(fields) & set(EVERY)
        for path in fields:
            above = path.rpartition(".")[0].removesuffix("[]").removesuffix("{}")
            assert not above or list(fields).index(above) < list(fields).index(path)
