"""What users rely on stays: names, arguments, options, exit statuses, keys of JSON, names in files, opcodes.

Nothing is added by accident either: `python tests/public --write` takes new names into the lists, for good.
"""

import json
import re
from pathlib import Path

import held
import lists
import options
import pytest
import python_names
import stored_names
import surface

import latticework as lw
from latticework import cli
from latticework.plan.cost import CostModel, parse_table

ROOT = Path(__file__).resolve().parents[2]
IMPORTS = re.compile(r"^(?:from (latticework[\w.]*) import (.+)|import (latticework[\w.]+).*)$", re.MULTILINE)


@pytest.mark.parametrize("part", surface.PARTS)
def test_what_is_public_stays(part):
    lists.check(part, surface.PARTS[part])


@pytest.mark.parametrize("part", surface.PARTS)
def test_lists_are_sorted(part):
    entries = lists.read(part)
    lines = lists.path_of(part).read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(entries) and [line.split("  ", 1)[0] for line in lines] == lists.order(part, entries)


def test_no_object_that_public_ones_give_is_forgotten():
    found = list(python_names.forgotten())
    assert not found, "list them in tests/public/held.py, among those that users hold or among inner ones"


def test_all_that_pages_import_is_public():
    public = lists.read("python")
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for module, names, whole in IMPORTS.findall(page.read_text(encoding="utf-8")):
            wanted = [f"{module}.{name.strip()}" for name in names.split(",")] if module else [whole]
            assert not [name for name in wanted if name.split(" ")[0] not in public], page.name


def test_every_name_of_stored_cost_tables_is_read():
    """A table as users have it: every price in it is the one that the model gives."""
    text = stored_names.TABLE.read_text(encoding="utf-8")
    table, model = json.loads(text), CostModel(parse_table(text))
    units = {(unit, n): seconds for unit, by_degree in model.table.units.items() for n, seconds in by_degree.items()}
    assert units == {(row["unit"], row["ring_degree"]): row["seconds"] for row in table["units"]}
    assert [(row.op, row.seconds) for row in model.table.ops] == [(row["op"], row["seconds"]) for row in table["ops"]]
    assert [model.seconds(row.op, row.shape) for row in model.table.ops] == [row["seconds"] for row in table["ops"]]
    assert model.table.overhead == table["overhead"]
    assert [row.seconds for row in model.table.bootstraps] == [row["seconds"] for row in table["bootstraps"]]
    assert model.on(2).table.units["ntt"] == {4096: table["parallel"]["units"][0]["seconds"]}


# That the lists can fail


def faults(part):
    with pytest.raises(AssertionError) as told:
        lists.check(part, surface.PARTS[part])
    return [line.strip() for line in str(told.value).splitlines()[1:-1]]


def test_a_name_that_is_gone_is_told(monkeypatch):
    monkeypatch.setattr(lw, "__all__", [name for name in lw.__all__ if name != "square"])
    assert faults("python") == [
        f"latticework.square{name} is gone or has another name: bring it back, as an alias where its home moved"
        for name in (" (function)", "(x) (argument 1)")
    ]


def test_members_and_keywords_are_told(monkeypatch):
    monkeypatch.delattr(lw.Checkpoint, "__init__")
    monkeypatch.delattr(lw.Keys, "save")
    monkeypatch.setattr(lw, "tanh", lambda x, degrees=3: x)
    said = "\n".join(faults("python"))
    for name in (
        "latticework.Checkpoint(path) (argument 1) is gone",
        "latticework.Keys.save (method) is gone",
        "latticework.tanh(degree=) (keyword, default None) is gone",
        "latticework.tanh(degrees) (argument 2, default 3) is new: make it private, or keep it for good",
    ):
        assert name in said


def test_a_field_and_an_error_of_another_kind_are_told(monkeypatch):
    class Event:
        """Of another form."""

    Event.__module__ = "latticework.runtime.events"
    monkeypatch.setitem(held.HELD, "(event)", Event)
    other = type("ShapeError", (lw.errors.UserError,), {"__module__": "latticework.errors"})
    monkeypatch.setattr(lw.errors, "ShapeError", other)
    said = "\n".join(faults("python"))
    assert "(event).bootstraps (attribute) is gone" in said
    caught = "latticework.errors.ShapeError was class, caught as UserError, ValueError, Exception, BaseException, is "
    assert f"{caught}class, caught as UserError, Exception, BaseException; users rely on what it was" in said


def test_an_object_that_no_list_has_is_told(monkeypatch):
    monkeypatch.delitem(held.HELD, "(costs)")
    assert list(python_names.forgotten()) == ["Model.costs is a Costs, of latticework.plan.cost.client_cost"]


def test_options_and_exit_statuses_are_told(monkeypatch):
    command = cli.load_command("keygen")
    (option,) = (p for p in command.params if p.name == "output")
    option.opts[option.opts.index("--output")] = "--folder"
    option.default = "other"
    monkeypatch.setattr(
        cli, "load_command", lambda name, load=cli.load_command: command if name == "keygen" else load(name)
    )
    monkeypatch.setattr(options, "attempt", lambda talk, work: 5)
    said = "\n".join(faults("commands"))
    assert "latticework keygen --output (a file, default keys) is gone" in said
    assert "latticework keygen --folder (a file, default other) is new" in said
    assert "latticework keygen -o was a file, default keys, is a file, default other; users rely" in said
    assert "exit status of MemoryError was 3, is 5" in said


def test_steps_in_client_files_are_told(monkeypatch):
    kinds = dict(lw.owner.OwnerStep.kinds())
    kinds["soft_max"] = kinds.pop("softmax")
    monkeypatch.setattr(lw.owner.OwnerStep, "kinds", staticmethod(lambda: kinds))
    said = faults("files")
    assert [line.partition(" (")[0] for line in said] == ["client file step soft_max", "client file step softmax"]


def test_keys_are_told_wherever_they_are():
    was = dict.fromkeys(
        surface.json_keys.key_paths({"a": [{"b": {"c": 1}}], "by_kind": {"x": {"d": 2}}}, ("by_kind",)), "key"
    )
    assert list(was) == ["a", "a[].b", "a[].b.c", "by_kind", "by_kind{}.d"]
    now = dict.fromkeys(
        surface.json_keys.key_paths({"a": [{"b": {"z": 1}}], "by_kind": {"y": {"d": 2}}}, ("by_kind",)), "key"
    )
    assert [line.split(" (")[0] for line in lists.differences("json", was, now)] == ["a[].b.c", "a[].b.z"]


def test_opcodes_are_appended_and_nothing_else(monkeypatch):
    numbers = lists.read("opcodes")
    after = str(max(map(int, numbers)) + 1)
    assert list(lists.faults_of_opcodes(numbers, {**numbers, after: "new"})) == []
    for now, told in (
        ({**numbers, "7": "other"}, "7 was imin, is other; users rely on what it was: change it back"),
        ({n: name for n, name in numbers.items() if n != "7"}, "7 (imin) is gone"),
    ):
        (fault,) = lists.faults_of_opcodes(numbers, now)
        assert fault.startswith(told)
    gap = {n: name for n, name in numbers.items() if n != "7"}
    (fault,) = lists.faults_of_opcodes(gap, numbers)
    assert fault.startswith("7 (imin) is new among numbers that are taken")
    swapped = {**stored_names._core.opcodes(), "add": 12, "sub": 11}
    monkeypatch.setattr(stored_names._core, "opcodes", lambda: swapped)
    assert [line.split(";")[0] for line in faults("opcodes")] == ["11 was add, is sub", "12 was sub, is add"]
