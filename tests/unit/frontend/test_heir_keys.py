"""Rotation keys placed in programs of HEIR: what is loaded, against an optimum and KeyMemRT's rule; what is proved."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner

import latticework as lw
from latticework import cli
from latticework.errors import BudgetError, UserError
from latticework.frontend.heir.keys import check_keys, place_keys
from latticework.frontend.heir.keys.bootstrap_rotations import bootstrap_indices, fft_layers, steps_of
from latticework.frontend.heir.keys.key_live_ranges import ask_ahead, find_lives, neighbours
from latticework.frontend.heir.keys.trace import KeyTracer, RotationUse, run_without_slots
from latticework.frontend.heir.parse import parse

DATA = Path(__file__).parents[2] / "data" / "heir"
NAMES = ("dot", "matvec16", "mlp", "mlp_generic", "conv", "boot")
BOOT_LEVELS = {"boot": (3, 3)}

HEAD = """
!cc = !openfhe.crypto_context
!ct = !openfhe.ciphertext
module attributes {backend.openfhe, scheme.ckks, scheme.actual_slot_count = 64 : i64} {
"""


def text_of(name: str) -> str:
    return gzip.decompress((DATA / f"{name}.mlir.gz").read_bytes()).decode()


def write(folder: Path, text: str) -> Path:
    path = folder / "program.mlir"
    path.write_text(text)
    return path


def written(folder: Path, *lines: str, more: str = "") -> Path:
    """A program of these lines, from %x to %y."""
    constants = "\n".join(f"    %c{i} = arith.constant {i} : index" for i in range(8))
    body = "\n".join(f"    {line}" for line in lines)
    main = f"  func.func @main(%cc: !cc, %x: !ct) -> !ct {{\n{constants}\n{body}\n    return %y : !ct\n  }}\n}}\n"
    return write(folder, HEAD + more + main)


def rot(result: str, value: str, index: str, kind: str = "index") -> str:
    return f"%{result} = openfhe.rot %cc, %{value}, %{index} : (!cc, !ct, {kind}) -> !ct"


def merge_distance(uses: Sequence[RotationUse], budget: int, *, anywhere: bool, distance: int = 10) -> int:
    """Loads by KeyMemRT's rule: a clear and a load of one key are merged where at most so many operations lie between,
    in the order of the program, as long as no more than `budget` keys are in memory.

    anywhere  across turns, branches and functions too, and whatever names an index; KeyMemRT looks at one block, and
              there at constants and at indices of one name
    """
    _, nexts = neighbours([use.keys for use in uses])
    held = [len(use.keys) for use in uses]
    taken: dict[int, set[tuple[int, ...]]] = defaultdict(set)
    for use in uses:
        taken[id(use.site.operation)].add(use.keys)
    merged = 0
    for first, last in sorted({(first, last) for first, dues in enumerate(nexts) for last in dues.values()}):
        a, b = uses[first], uses[last]
        if b.done - a.done > distance:
            continue
        sites = a.site.operation, b.site.operation
        in_block = (a.call, a.turns, a.site.path[-1][0]) == (b.call, b.turns, b.site.path[-1][0])
        same = all(len(taken[id(op)]) == 1 for op in sites) or sites[0].operands[-1] == sites[1].operands[-1]
        if anywhere or (in_block and same and a.site.function is b.site.function):
            for due in nexts[first].values():
                if due == last and max(held[first + 1 : last], default=0) < budget:
                    merged += 1
                    held[first + 1 : last] = [n + 1 for n in held[first + 1 : last]]
    return sum(len(use.keys) for use in uses) - merged


def uses_of(path: Path, boot_levels: tuple[int, int] | None = None) -> list[RotationUse]:
    text = parse(path.read_text(), str(path))
    inner = bootstrap_indices(8192, 8192, *boot_levels) if boot_levels else ()
    tracer = KeyTracer(text, inner)
    run_without_slots(tracer, next(f for name, f in text.functions.items() if "__" not in name))
    return tracer.uses


@pytest.mark.parametrize("name", NAMES)
def test_loads_are_no_more_than_by_merging_at_a_distance(name: str, tmp_path: Path) -> None:
    path, levels = write(tmp_path, text_of(name)), BOOT_LEVELS.get(name)
    uses = uses_of(path, levels)
    keys = [use.keys for use in uses]
    least = max(map(len, keys))
    for budget in sorted({least, least + 1, least + 3, len({k for ks in keys for k in ks})}):
        made = place_keys(path, budget=budget, boot_levels=levels)
        assert made.counts.loads <= merge_distance(uses, budget, anywhere=True)
        assert made.counts.most <= budget
        assert made.counts.uses == sum(map(len, keys))
    assert made.counts.loads == made.keys


@pytest.mark.parametrize("name", ["mlp", "mlp_generic"])
def test_a_text_with_keys_is_the_same_program(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, text_of(name))
    program = lw.from_heir(path)
    x = np.random.default_rng(3).uniform(-1, 1, 16)
    expected = program(x)
    keyed = lw.from_heir(write(tmp_path, place_keys(path, budget=3).text))
    np.testing.assert_array_equal(keyed(x), expected)
    assert [op.name for op in keyed.code.module.walk()] == [op.name for op in program.code.module.walk()]


def draw(rng: np.random.Generator) -> tuple[list[tuple[int, ...]], int]:
    count = int(rng.integers(2, 7))
    lengths = rng.choice([0, 1, 1, 1, 2, 3], int(rng.integers(1, 25))).clip(max=count)
    uses = [tuple(rng.choice(count, n, replace=False).tolist()) for n in lengths]
    return uses, int(rng.integers(max(1, *lengths), count + 2))


def test_loads_equal_a_linear_program() -> None:
    rng = np.random.default_rng(16)
    for _ in range(60):
        uses, capacity = draw(rng)
        lives = [(a, b) for a, dues in enumerate(neighbours(uses)[1]) for b in dues.values()]
        saved = 0
        if lives:
            covers = [[float(a < at < b) for a, b in lives] for at in range(len(uses))]
            room = [capacity - len(keys) for keys in uses]
            saved = round(-linprog([-1.0] * len(lives), covers, room, bounds=(0, 1)).fun)
        assert find_lives(uses, capacity).loads == sum(map(len, uses)) - saved


@pytest.mark.parametrize("ahead", [0, 1, 2, 9])
def test_what_is_asked_for_ahead_is_within_the_capacity(ahead: int) -> None:
    rng = np.random.default_rng(ahead)
    for _ in range(60):
        uses, capacity = draw(rng)
        lives = find_lives(uses, capacity)
        ask_ahead(lives, capacity, ahead)
        held: set[int] = set()
        asked = list(lives.requests.get(-1, []))
        for number, keys in enumerate(uses):
            for key in keys:
                assert lives.is_loaded(number, key) == (key not in held)
                if lives.is_loaded(number, key) and ahead:
                    asked.remove(key)
                held.add(key)
                assert len(held) + len(asked) <= capacity
            held -= {key for key in keys if lives.is_cleared(number, key)}
            asked += lives.requests.get(number, [])
            assert len(held) + len(asked) <= capacity
            assert not held & set(asked)
        assert not held
        assert not asked


LOOP = [
    "%y = scf.for %i = %c1 to %c5 step %c1 iter_args(%v = %x) -> (!ct) {",
    rot("a", "v", "c3"),
    "scf.yield %a : !ct",
    "}",
]


def test_a_key_stays_over_the_back_edge(tmp_path: Path) -> None:
    made = place_keys(written(tmp_path, *LOOP), budget=1)
    assert (made.counts.uses, made.counts.loads) == (4, 1)
    assert made.text.count("scf.if") == 2  # the first turn loads, the last clears
    assert "rotation_index = 3" in made.text


def test_a_key_in_scope_is_used_as_a_value(tmp_path: Path) -> None:
    made = place_keys(written(tmp_path, rot("a", "x", "c3"), rot("b", "a", "c4"), rot("y", "b", "c3")), budget=2)
    assert made.counts.loads == 2
    assert re.search(r"key_mgmt.use_key %\w+ : !key_mgmt.rot_key<rotation_index = 3>", made.text)
    assert "assume_loaded" not in made.text
    assert "scf.if" not in made.text


@pytest.mark.parametrize(("taken", "key"), [("true", 3), ("false", 4)])
def test_only_keys_of_the_branch_that_is_taken_are_loaded(taken: str, key: int, tmp_path: Path) -> None:
    branch = [f"%t = arith.constant {taken}", "%y = scf.if %t -> (!ct) {", rot("a", "x", "c3"), "scf.yield %a : !ct",
              "} else {", rot("b", "x", "c4"), "scf.yield %b : !ct", "}"]  # fmt: skip
    made = place_keys(written(tmp_path, *branch))
    assert (made.counts.loads, made.keys, made.counts.requests) == (1, 1, 1)
    assert re.findall(r"rotation_index = (\d)", made.text)[0] == str(key)


def test_nested_loops_of_other_counters(tmp_path: Path) -> None:
    lines = [
        "%b = arith.constant 1 : i32", "%e = arith.constant 4 : i32",
        "%y = scf.for %i = %b to %e step %b iter_args(%v = %x) -> (!ct)  : i32 {",
        "%n = arith.index_cast %i : i32 to index",
        "%w = scf.for %j = %c0 to %n step %c1 iter_args(%u = %v) -> (!ct) {", rot("a", "u", "j"),
        "scf.yield %a : !ct", "}", rot("k", "w", "i", "i32"), "scf.yield %k : !ct", "}",
    ]  # fmt: skip
    path = written(tmp_path, *lines)
    assert [use.keys for use in uses_of(path)] == [(), (1,), (), (1,), (2,), (), (1,), (2,), (3,)]
    assert place_keys(path, budget=2).counts.loads == 3
    assert place_keys(path, budget=1).counts.loads == 5
    assert place_keys(path, budget=2, ahead=0).counts.requests == 0


@pytest.mark.parametrize("lines", [("-5", "-1", "1"), ("0", "400000", "100000")])
def test_counters_that_are_no_index_of_a_table_are_loaded_each_time(lines: tuple[str, ...], tmp_path: Path) -> None:
    bounds = [f"%{name} = arith.constant {n} : index" for name, n in zip("lhs", lines, strict=True)]
    loop = [LOOP[0].replace("%c1 to %c5 step %c1", "%l to %h step %s"), *LOOP[1:]]
    made = place_keys(written(tmp_path, *bounds, *loop), budget=1)
    assert made.counts.loads == 4
    assert "scf.if" not in made.text


def test_a_function_called_twice_does_the_same_each_time(tmp_path: Path) -> None:
    turn = f"  func.func @turn(%cc: !cc, %x: !ct, %n: index) -> !ct {{\n    {rot('a', 'x', 'n')}\n"
    turn += "    %c1 = arith.constant 1 : index\n    " + rot("b", "a", "c1")
    turn += "\n    " + rot("c", "b", "n") + "\n    return %c : !ct\n  }\n"
    call = "%{} = func.call @turn(%cc, %{}, %c{}) : (!cc, !ct, index) -> !ct"
    lines = [call.format("a", "x", 3), call.format("b", "a", 3), call.format("y", "b", 4)]
    path = written(tmp_path, *lines, more=turn)
    assert place_keys(path, budget=2).counts.loads == 6
    assert place_keys(path, budget=1).counts.loads == 9
    lines[1:2] = [rot("r", "a", "c3"), call.format("b", "r", 3)]
    assert place_keys(written(tmp_path, *lines, more=turn), budget=3).counts.loads == 3  # brought by the caller


def test_bootstraps_take_their_inner_keys(tmp_path: Path) -> None:
    boot = "%b = openfhe.bootstrap %cc, %a : (!cc, !ct) -> !ct"
    path = written(tmp_path, rot("a", "x", "c3"), boot, rot("y", "b", "c3"))
    with pytest.raises(UserError, match=r"program.mlir:\d+: openfhe.bootstrap.*boot_levels"):
        place_keys(path)
    inner = bootstrap_indices(64, 64, 2, 2)
    with pytest.raises(BudgetError, match=rf"takes {len(inner)} keys at once.*at least {len(inner)}"):
        place_keys(path, budget=len(inner) - 1, boot_levels=(2, 2))
    made = place_keys(path, boot_levels=(2, 2))
    assert made.keys == len({*inner, 3}) == made.counts.loads
    wider = place_keys(path, boot_levels=(2, 2), ring_degree=1024)
    assert wider.keys == len({*bootstrap_indices(512, 512, 2, 2), 3})
    setup = "  func.func @set(%cc: !cc) {\n    openfhe.setup_bootstrap %cc <levelBudgetEncode = 2 : i64, "
    setup += "levelBudgetDecode = 2 : i64> : (!cc) -> ()\n    return\n  }\n"
    assert (
        place_keys(written(tmp_path, rot("a", "x", "c3"), boot, rot("y", "b", "c3"), more=setup)).counts == made.counts
    )


@pytest.mark.parametrize("log", [3, 8, 15])
def test_inner_keys_reach_every_diagonal_of_the_fft(log: int) -> None:
    """A product of neighbouring layers of the FFT has as diagonals all multiples of its distance up to 2^layers - 1."""
    slots = 1 << log
    for levels in range(2, log + 1):
        full, rest = fft_layers(slots, levels)
        assert full * (levels - (rest > 0)) + rest == log
        keys = {0, *bootstrap_indices(slots, slots, levels, levels)}
        distance = 1
        for layers in [full] * (levels - (rest > 0)) + [rest] * (rest > 0):  # as decoding goes
            sums = [a + b for a in steps_of(layers)[0] for b in steps_of(layers)[1]]
            assert sorted(sums) == list(range(-(1 << layers) + 1, (1 << layers) + 1))
            assert {step * distance % slots for steps in steps_of(layers) for step in steps} <= keys
            distance <<= layers
    full_keys = {0, *bootstrap_indices(slots, slots, 1, 1)}
    assert log > 8 or {(a + b) % slots for a in full_keys for b in full_keys} == set(range(slots))
    assert {slots, 2 * slots} <= set(bootstrap_indices(4 * slots, slots, 2, 2))


def test_whatever_is_left_out_of_the_keys_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, text_of("mlp"))
    text = place_keys(path, budget=3).text
    lines = text.split("\n")
    counts = check_keys(parse(text, "t"), parse(text, "t").functions["mlp"], most=3)
    assert counts.loads == 9
    for number, line in enumerate(lines):
        if "key_mgmt.load_key" not in line and "key_mgmt.clear_key" not in line:
            continue
        broken = parse("\n".join([*lines[:number], *lines[number + 1 :]]), "t")
        with pytest.raises(UserError):
            check_keys(broken, broken.functions["mlp"], most=3)
    with pytest.raises(UserError, match="3 keys in memory at once, 2 are allowed"):
        check_keys(parse(text, "t"), parse(text, "t").functions["mlp"], most=2)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("key_mgmt.prefetch_key %rk0_1", "key_mgmt.prefetch_key %rk0_1\n    key_mgmt.prefetch_key %rk0_1", "asks for"),
        ("rotation_index = 3>", "rotation_index = 4>", "the type of 4"),
        ("openfhe.rot %cc, %b, %c3", "openfhe.rot %cc, %b, %c5", "key of 5, which is not in memory"),
        (
            "    return %y",
            "    %again = key_mgmt.load_key %c6 : index -> !key_mgmt.rot_key<>\n    return %y",
            "leaves keys",
        ),
    ],
)
def test_faults_in_keys_are_named(old: str, new: str, match: str, tmp_path: Path) -> None:
    path = written(tmp_path, rot("a", "x", "c3"), rot("b", "a", "c4"), rot("y", "b", "c3"))
    text = place_keys(path, budget=2).text
    assert old in text
    broken = parse(text.replace(old, new), "program.mlir")
    with pytest.raises(UserError, match=rf"program.mlir:\d+: .*{match}"):
        check_keys(broken, broken.functions["main"])


def test_what_is_not_read_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "%y = openfhe.automorph %cc, %x : (!cc, !ct) -> !ct")
    with pytest.raises(UserError, match="openfhe.automorph in line"):
        place_keys(path)
    made = place_keys(written(tmp_path, *LOOP))
    with pytest.raises(UserError, match="placed already"):
        place_keys(write(tmp_path, made.text))
    path = written(tmp_path, "%y = openfhe.automorph %cc, %x : (!cc, !ct) -> !ct")
    with pytest.raises(UserError, match="takes public arguments"):
        place_keys(write(tmp_path, path.read_text().replace("openfhe.automorph", "openfhe.negate").replace(
            "%cc: !cc,", "%cc: !cc, %n: index,")))  # fmt: skip
    with pytest.raises(BudgetError, match="takes 1 keys at once, the budget is 0"):
        place_keys(written(tmp_path, *LOOP), budget=0)
    with pytest.raises(UserError, match=r"several programs \(other, main\); say which by function="):
        place_keys(written(tmp_path, *LOOP, more="func.func @other(%cc: !cc, %x: !ct) -> !ct {\nreturn %x : !ct\n}\n"))
    none = place_keys(written(tmp_path, "%y = openfhe.negate %cc, %x : (!cc, !ct) -> !ct"))
    assert (none.keys, none.text) == (0, (tmp_path / "program.mlir").read_text())


def command(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli.app, [str(word) for word in words])
    return done.exit_code, done.output


def test_the_command(tmp_path: Path) -> None:
    path, output = write(tmp_path, text_of("mlp")), tmp_path / "keyed.mlir"
    status, said = command("keys", path, "-o", output, "--budget", 3, "--ahead", 1, "--json")
    facts = json.loads(said)
    assert (status, facts["loads"], facts["keys"], facts["budget"]) == (0, 9, 7, 3)
    assert output.read_text() == place_keys(path, budget=3, ahead=1).text
    assert command("keys", path, "-o", output)[0] != 0  # it is there
    _, said = command("keys", f"{path}:mlp", "-o", output, "--force", "--budget", "1GB", "--key-size", "200MB")
    assert "7 loads with at most 5 in memory (budget 5)" in said
    status, said = command("keys", tmp_path / "none.mlir", "-o", output, "--force")
    assert (status, "no such file" in said) == (3, True)
    for wrong, named in (
        (["--budget", "1GB"], "--key-size"),
        (["--budget", "x", "--key-size", "1"], "--budget 'x'"),
        (["--budget", "1GB", "--key-size", "0"], "--key-size"),
        (["--budget", "0"], "the budget is 0"),
        (["--ahead", "-1"], "--ahead -1"),
        (["--boot-levels", "3"], "--boot-levels"),
    ):
        status, said = command("keys", path, "-o", output, "--force", *wrong)
        assert status != 0
        assert named.replace("'", "") in said.replace("'", "")


@pytest.mark.parametrize("name", ["mlp", "mlp_generic", "boot"])
def test_heir_opt_takes_texts_with_keys(name: str, tmp_path: Path) -> None:
    installed = importlib.util.find_spec("heir")
    found = shutil.which("heir-opt")
    if installed is not None and installed.origin is not None:
        found = str(Path(installed.origin).parent / "heir-opt")
    if found is None or not Path(found).is_file():
        pytest.skip("heir-py is not installed: pip install 'latticework[heir]'")
    path, levels = write(tmp_path, text_of(name)), BOOT_LEVELS.get(name)
    made = place_keys(path, budget=82 if levels else 3, boot_levels=levels)
    run = subprocess.run([found], input=made.text, capture_output=True, text=True, timeout=100, check=True)
    again = parse(run.stdout, "printed")
    inner = bootstrap_indices(8192, 8192, *levels) if levels else ()
    assert (
        check_keys(again, again.functions[name.removesuffix("_generic").replace("boot", "mlp")], inner) == made.counts
    )


class Draw:
    """A program by chance: rotations, loops that hang on outer ones, branches on counters, calls, bootstraps."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.number = 0

    def block(self, value: str, counters: tuple[str, ...], depth: int, calls: bool) -> tuple[list[str], str]:
        """Lines, and the name of what they make of a value."""
        lines: list[str] = []
        for _ in range(self.rng.integers(1, 4)):
            self.number += 1
            name, kind = f"v{self.number}", self.rng.random()
            index = (
                str(self.rng.choice(counters)) if counters and self.rng.random() < 0.6 else f"c{self.rng.integers(8)}"
            )
            if kind < 0.25 and depth < 3:
                inside, end = self.block(f"a{name}", (*counters, f"i{name}"), depth + 1, calls)
                low, high = f"c{self.rng.integers(3)}", index if self.rng.random() < 0.5 else f"c{self.rng.integers(5)}"
                lines += [f"%{name} = scf.for %i{name} = %{low} to %{high} step %c{self.rng.integers(1, 3)} "
                          f"iter_args(%a{name} = %{value}) -> (!ct) {{", *inside, f"scf.yield %{end} : !ct", "}"]  # fmt: skip
            elif kind < 0.4 and counters and depth < 4:
                lines.append(f"%f{name} = arith.cmpi slt, %{counters[-1]}, %c{self.rng.integers(1, 4)} : index")
                lines.append(f"%{name} = scf.if %f{name} -> (!ct) {{")
                for other in (False, True):
                    inside, end = self.block(value, counters, depth + 2, calls)
                    lines += [*(["} else {"] if other else []), *inside, f"scf.yield %{end} : !ct"]
                lines.append("}")
            elif kind < 0.5 and calls:
                lines.append(f"%{name} = func.call @part(%cc, %{value}, %{index}) : (!cc, !ct, index) -> !ct")
            elif kind < 0.52:
                lines.append(f"%{name} = openfhe.bootstrap %cc, %{value} : (!cc, !ct) -> !ct")
            else:
                lines.append(rot(name, value, index))
            value = name
        return lines, value

    def path(self, folder: Path) -> Path:
        """The file."""
        inside, end = self.block("x", ("n",), 2, calls=False)
        constants = [f"%c{i} = arith.constant {i} : index" for i in range(8)]
        more = "\n".join(["func.func @part(%cc: !cc, %x: !ct, %n: index) -> !ct {", *constants, *inside])
        lines, y = self.block("x", (), 0, calls=True)
        lines.append(f"%y = openfhe.negate %cc, %{y} : (!cc, !ct) -> !ct")
        return written(folder, *lines, more=f"{more}\nreturn %{end} : !ct\n}}\n")


@pytest.mark.parametrize("seed", [*range(20), 100, 134, 140, 215, 441, 491])
def test_keys_of_programs_by_chance_are_proved(seed: int, tmp_path: Path) -> None:
    """`place_keys` carries out what it has written; here, loads are the fewest unless functions are called."""
    path = Draw(seed).path(tmp_path)
    text = parse(path.read_text(), str(path))
    tracer = KeyTracer(text, bootstrap_indices(64, 64, 2, 3))
    run_without_slots(tracer, text.functions["main"])
    uses = [use.keys for use in tracer.uses]
    keys, least = len({key for ks in uses for key in ks}), max(map(len, uses), default=0)
    is_called = any(use.site.function.name == "part" for use in tracer.uses)
    for budget in {least, least + 1, least + 2, keys}:
        made = place_keys(path, budget=budget, boot_levels=(2, 3), ahead=seed % 4, function="main")
        assert made.counts.most <= budget
        best = find_lives(uses, budget).loads
        assert made.counts.loads == best or (is_called and best < made.counts.loads)
        assert made.counts.loads <= merge_distance(tracer.uses, budget, anywhere=False)
