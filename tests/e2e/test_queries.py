"""Private look-ups and intersections of sets, encrypted, against Python's lists, dictionaries and sets."""

import numpy as np
import pytest
from e2e_cases import example
from typer.testing import CliRunner

import latticework as lw
from latticework.cli import app
from latticework.errors import DtypeError, LayoutError, ParameterMismatchError, RangeError, ShapeError, UserError
from latticework.values.packing import cuckoo_tables

SMALL = {"scheme": "bfv", "ring_degree": 1024, "insecure": True}  # vectors of 512 slots
LARGE = (1 << 62) - 1


class Session:
    """A model with a client that has keys, and a server."""

    def __init__(self, program, **options):
        self.model = lw.compile(program, **options or SMALL)
        self.client, self.server = self.model.client(), self.model.server()
        self.client.keygen()

    def ask(self, given):
        answer = self.client.decrypt(self.server(self.client.encrypt(given)))
        values = answer.values() if isinstance(answer, dict) else [answer]
        assert all(value.is_certain.all() and value.error_bound == 0 for value in values)
        if isinstance(answer, dict):
            return {name: value.reveal() for name, value in answer.items()}
        return answer.reveal()


def same(found, wanted):
    """Whether answers are equal, dictionaries too."""
    if isinstance(wanted, dict):
        return list(found) == list(wanted) and all(same(found[name], wanted[name]) for name in wanted)
    return found.dtype == wanted.dtype and np.array_equal(found, wanted)


@pytest.mark.parametrize(
    "table",
    [
        [5],
        [0, 0, 0],
        [True, False],
        [[1 << 18, (1 << 18) - 1], [LARGE, 0]],
        np.random.default_rng(0).integers(0, 256, (1030, 3), dtype=np.uint8),
        np.random.default_rng(1).integers(0, LARGE, (513, 2, 2)),
    ],
    ids=lambda table: str(np.shape(table)),
)
def test_rows_are_those_of_the_table(table):
    program = lw.private_lookup(table)
    session, rows = Session(program), np.asarray(table).astype(np.int64)
    numbers = [0, len(rows) - 1, len(rows) // 2]
    for number in numbers:
        assert same(session.ask(number), np.asarray(rows[number]))
        assert same(session.model.simulate(number)[0], np.asarray(rows[number]))
        assert same(np.asarray(program(number)), np.asarray(rows[number]))
    assert same(session.ask(numbers), rows[numbers]) and same(program(numbers), rows[numbers])
    assert same(session.ask(np.float64(len(rows) - 1)), np.asarray(rows[-1]))  # a whole number all the same
    assert not session.model.plan.client.manifest.uses


def test_keys_that_the_table_lacks_are_told_from_rows_of_zeros():
    rng = np.random.default_rng(2)
    keys = np.unique(np.concatenate([[0, 1, (1 << 40) - 1], rng.integers(0, 1 << 40, 600)]))
    rows = rng.integers(0, 1000, (len(keys), 2))
    rows[:2] = 0
    program = lw.private_lookup(dict(zip(keys.tolist(), rows.tolist(), strict=True)))
    session = Session(program)
    by_key = dict(zip(keys.tolist(), rows, strict=True))
    asked = [
        0,
        1,
        2,
        3,
        (1 << 40) - 1,
        (1 << 54) // 1024,
        *rng.choice(keys, 5).tolist(),
        *rng.integers(0, 1 << 40, 9).tolist(),
    ]
    answer = session.ask(asked)
    for number, key in enumerate(asked):
        assert answer["found"][number] == (key in by_key)
        assert answer["row"][number].tolist() == (by_key[key].tolist() if key in by_key else [-1, -1])
    assert same(answer, program(asked)) and same(session.ask(3), program(3)) and same(session.ask(1), program(1))
    both = Session(lw.private_lookup([9, 8], keys=np.array([7, 0])))
    assert same(both.ask(0), {"found": np.array(True), "row": np.array(8)})
    assert same(both.ask(6), {"found": np.array(False), "row": np.array(-1)})


@pytest.mark.parametrize("bits", [1, 17, 32, 46])
def test_common_elements_are_those_of_pythons_sets(bits):
    rng, most = np.random.default_rng(bits), min((1 << bits) - 1, 1 << 20)
    spread = (1 << bits) // (most + 1)
    for count, size, asked in ((1, 1, 1), (3, 4, 2), (900, 200, 150)):
        served = {int(n) * spread for n in rng.integers(0, most + 1, count)} | {(1 << bits) - 1}
        program = lw.set_intersection(served, size, bits=bits)
        session = Session(program)
        ids = [0, (1 << bits) - 1, *(int(n) * spread for n in rng.integers(0, most + 1, asked)), *list(served)[:9]]
        ids = list(dict.fromkeys(ids))[:size]
        for given in (ids, ids[:1], [*ids, *ids], [(1 << bits) - 1]):
            wanted = np.array(sorted(served & set(given)), dtype=np.int64)
            assert same(session.ask(given), wanted) and same(program(given), wanted)
            assert same(session.model.simulate(given)[0], wanted)


def test_all_or_none_may_be_common_and_only_their_number_told():
    served = list(range(100, 400))
    for asked in (served, [*range(100), 500]):
        wanted = len(set(served) & set(asked))
        assert Session(lw.set_intersection(served, 300)).ask(asked).tolist() == sorted(set(served) & set(asked))
        program = lw.set_intersection(served, 300, only_size=True)
        session = Session(program)
        assert session.ask(asked) == wanted == program(asked) and session.model.simulate(asked)[0] == wanted


def test_the_secure_ring_is_the_smallest_and_its_plan_the_same_each_time():
    rows, ids = np.arange(5000).reshape(2500, 2), np.arange(0, 30_000, 7)
    for program, degree in ((lw.private_lookup(rows), 4096), (lw.set_intersection(ids, 1000), 8192)):
        one, other = (lw.compile(program, scheme="bfv") for _ in range(2))
        assert one.plan.chain.ring_degree == degree and not one.plan.chain.insecure
        assert {n: a.tobytes() for n, a in one.plan.sources.items()} == {
            n: a.tobytes() for n, a in other.plan.sources.items()
        }
    session = Session(lw.set_intersection(ids, 1000), scheme="bfv")
    assert session.ask(range(1, 1001)).tolist() == list(range(7, 1001, 7))
    assert Session(lw.private_lookup(rows), scheme="bfv").ask(2499).tolist() == [4998, 4999]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: lw.private_lookup([]), ShapeError, r"table of shape \(0,\); give one row"),
        (lambda: lw.private_lookup(np.zeros((2, 0), int)), ShapeError, r"shape \(2, 0\)"),
        (lambda: lw.private_lookup(3), ShapeError, r"shape \(\)"),
        (lambda: lw.private_lookup({}), ShapeError, r"shape \(0,\)"),
        (lambda: lw.private_lookup([1, -1]), RangeError, r"table: -1 at 1; give integers from 0 to 2\^62 - 1"),
        (lambda: lw.private_lookup([[0], [LARGE + 1]]), RangeError, r"4611686018427387904 at \(1, 0\)"),
        (lambda: lw.private_lookup(np.array([1 << 63], np.uint64)), RangeError, "9223372036854775808 at 0"),
        (lambda: lw.private_lookup([10**400]), RangeError, r"about 2\^1329 at 0"),
        (lambda: lw.private_lookup([1.0]), DtypeError, "a float among them; give integers"),
        (lambda: lw.private_lookup(np.ones(3)), DtypeError, "dtype float64; give integers"),
        (lambda: lw.private_lookup(["a"]), DtypeError, "a str among them"),
        (lambda: lw.private_lookup(None), DtypeError, "a NoneType among them"),
        (lambda: lw.private_lookup({4, 5}), DtypeError, "a set, which has no order; give a list"),
        (lambda: lw.private_lookup(np.ma.array([1, 2], mask=[0, 1])), DtypeError, "1 of 2 elements masked"),
        (lambda: lw.private_lookup([[1, 2], [3]]), ShapeError, "rows of different lengths"),
        (lambda: lw.private_lookup({1: [1, 2], 2: 3}), ShapeError, "rows of different lengths"),
        (lambda: lw.private_lookup({"a": 1}), DtypeError, "keys: a str among them"),
        (lambda: lw.private_lookup({1.0: 1}), DtypeError, "keys: a float among them"),
        (lambda: lw.private_lookup({-1: 1}), RangeError, "keys: -1 at 0"),
        (lambda: lw.private_lookup({1 << 52: 1}), RangeError, r"from 0 to 2\^52 - 1"),
        (lambda: lw.private_lookup([1, 2], keys=[3, 3]), RangeError, "key 3 has 2 rows; give every key once"),
        (lambda: lw.private_lookup([1, 2], keys=[3]), ShapeError, r"keys of shape \(1,\) for 2 rows"),
        (lambda: lw.private_lookup({1: 2}, keys=[1]), ShapeError, "the table is a dictionary, which has keys"),
        (lambda: lw.set_intersection([], 5), ShapeError, r"elements of shape \(0,\); give one or more"),
        (lambda: lw.set_intersection([[1]], 5), ShapeError, r"elements of shape \(1, 1\)"),
        (lambda: lw.set_intersection({"ann"}, 5), DtypeError, "a str among them; give integers"),
        (lambda: lw.set_intersection({1.5}, 5), DtypeError, "a float among them"),
        (lambda: lw.set_intersection([1 << 32], 5), RangeError, r"4294967296 at 0; give integers from 0 to 2\^32 - 1"),
        (lambda: lw.set_intersection([1], 0), RangeError, "size=0; give a whole number from 1 to 65536"),
        (lambda: lw.set_intersection([1], True), RangeError, "size=True"),
        (lambda: lw.set_intersection([1], 5, bits=47), RangeError, "bits=47; give a whole number from 1 to 46"),
        (lambda: lw.set_intersection([1], 5, only_size=1), UserError, "only_size=1; give True or False"),
        (lambda: lw.compile(lw.private_lookup([1])), UserError, "exact under BFV alone; give scheme='bfv'"),
        (lambda: lw.compile(lw.private_lookup([1]), scheme="bfv", plain_bits=9), UserError, "plain_bits= is for circuits"),
        (lambda: lw.compile(lw.private_lookup([1]), scheme="bfv", batch=9), UserError, "its slots are full"),
        (lambda: lw.compile(lw.private_lookup([1]), scheme="bfv", keep_ir=True), UserError, "is a query under BFV"),
        (lambda: lw.compile(lw.set_intersection(range(1 << 17), 5), **SMALL), LayoutError, "fill a bin with .* of at most 256"),
        (lambda: lw.compile(lw.private_lookup(np.zeros((1, 40_000), int)), **SMALL), LayoutError, "split the table"),
    ],
)  # fmt: skip
def test_tables_and_sets_that_are_none_are_refused(make, error, message):
    with pytest.raises(error, match=message) as told:
        make()
    assert type(told.value) is error


NO_WHOLE = [0.5, np.nan, np.inf, "1", None, 1j, 10**400]


def refuses(session, given, message, error=RangeError):
    with pytest.raises(error, match=message) as told:
        session.client.encrypt(given)
    assert isinstance(told.value, UserError)


def test_what_is_no_index_is_refused_before_encryption():
    session = Session(lw.private_lookup([[1, 2], [3, 4], [5, 6]]))
    for given in (3, -1, 1 << 70):
        refuses(session, given, "input index is no row: the table has rows 0 to 2")
    for given in NO_WHOLE:
        refuses(session, given, "input index is (no|a whole number of more than 1000 bits)")
    refuses(session, [0, 1, 7], "run 2 is no row")
    for given in ([], [[1]]):
        refuses(session, given, "has shape", ShapeError)
    assert session.ask(-0.0).tolist() == [1, 2]
    with pytest.raises(RangeError, match="row 3 of a table of 3"):
        lw.private_lookup([[1, 2], [3, 4], [5, 6]])([0, 3])


def test_what_is_no_key_is_refused_before_encryption():
    session = Session(lw.private_lookup({3: 1, 1 << 20: 5}))
    for given in (-1, 1 << 36, (1 << 53) + 1):
        refuses(session, given, r"input key is no key of the table, whose keys are 0 to 2\^36 - 1")
    for given in NO_WHOLE:
        refuses(session, given, "input key is")


def test_what_is_no_set_is_refused_before_encryption(monkeypatch):
    session = Session(lw.set_intersection(range(100), 5, bits=8))
    refuses(session, [1, 2, 3, 4, 5, 6], "is one of 6 elements: at most 5")
    for given in ([-1], [256]):
        refuses(session, given, r"column 0 is no element: they are 0 to 2\^8 - 1")
    for given in NO_WHOLE:
        refuses(session, [given], "column 0 is")
    refuses(session, [[1, 2, 3, 4, 5]], "encrypt one after the other")
    refuses(session, {1, 2}, r"is a set, which has no order; give sorted\(value\)", DtypeError)
    for given in ([], 3):
        refuses(session, given, "has shape", ShapeError)
    monkeypatch.setattr("latticework.plan.client_steps.set_queries.fill_bins", lambda *_: None)
    refuses(session, [1, 2], "finds no bins for all: encrypt it in two halves")


def test_the_bins_are_as_many_as_make_failures_rare():
    for size in (1, 200, 600):
        program = lw.set_intersection(range(50), size)
        (prepared,) = lw.compile(program, **SMALL).plan.client.owner.before
        (step,) = prepared.pieces[0].steps
        assert cuckoo_tables.log2_of_failure(size, step.width) <= -40
        assert step.blocks == {1: 1, 200: 1, 600: 2}[size]


def test_answers_of_another_table_are_refused():
    one, other = Session(lw.private_lookup([1, 2])), Session(lw.private_lookup(range(600)))
    with pytest.raises(ParameterMismatchError, match="inputs of another compilation of program private_lookup"):
        other.server(one.client.encrypt(0))
    with pytest.raises(ParameterMismatchError):
        other.client.decrypt(one.server(one.client.encrypt(0)))


def run(*arguments, status=0):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == status, done.output
    return done.output


PROGRAMS = """
import latticework as lw

prices = lw.private_lookup({17: [3, 4], 99: [0, 0], 2**40: [7, 2**40]})
common = lw.set_intersection({3, 4, 2**32 - 1}, 10)
"""


def test_sessions_with_files_at_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.py").write_text(PROGRAMS)
    np.save(tmp_path / "ids.npy", [4, 5, 2**32 - 1])
    np.save(tmp_path / "keys.npy", [99, 98])
    wanted = {
        "prices": ("keys.npy", {"found": [True, False], "row": [[0, 0], [-1, -1]]}),
        "common": ("ids.npy", {"result": [4, 2**32 - 1]}),
    }
    for name, (asked, answer) in wanted.items():
        plan, client, keys = (tmp_path / f"{name}{end}" for end in (".lwplan", ".lwclient", "-keys"))
        question, answered, out = (tmp_path / f"{name}{end}" for end in ("-in.lwct", "-out.lwct", ".npz"))
        run("compile", f"{tmp_path / 'queries.py'}:{name}", "--scheme", "bfv", "-o", plan)
        run("keygen", client, "-o", keys)
        run("encrypt", client, tmp_path / asked, "-k", keys, "-o", question)
        run("run", plan, question, "-o", answered)
        run("decrypt", client, answered, "-k", keys, "-o", out)
        with np.load(out) as file:
            assert {n: file[n].tolist() for n in file} == answer
        assert "At the owner" in run("explain", plan)
    key, keys = tmp_path / "prices.lwclient", tmp_path / "prices-keys"
    told = run("encrypt", key, "-k", keys, "-o", tmp_path / "no.lwct", "--", "-1", status=1)
    assert "is no key of the table" in told and not (tmp_path / "no.lwct").exists()
    assert lw.Client.load(key).spec.owner == lw.load(tmp_path / "prices.lwplan").plan.client.owner


def test_the_example_compares_with_python(capsys):
    example("queries").main(rows=700, served=300, asked=50)
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == [
        "one of 700 rows, found",
        "one of 700 rows, not found",
        "50 against 300 identifiers, 5 in common",
    ]
