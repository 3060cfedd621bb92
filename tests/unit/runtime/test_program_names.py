"""Inputs of programs have any name: what is ours in a call never takes one from the user."""

import inspect
import linecache
from keyword import iskeyword

import numpy as np
import onnx_graphs
import pytest
from onnx import helper

import latticework as lw
from latticework.model import Model

METHODS = (Model.simulate, Model.debug, Model.accuracy, lw.Client.encrypt, lw.Server.__call__, lw.Server.inputs)
NAMES = sorted({name for method in METHODS for name in inspect.signature(method).parameters} | {"cls", "weights"})
INTEGERS = [name for name in NAMES if name != "weights"]
FEW = [tuple(INTEGERS[i::4]) for i in range(4)]  # a program of few loops is compiled in little time
RNG = np.random.default_rng(0)
DATA = {name: RNG.uniform(-1, 1, (20, 4)) for name in NAMES}
ROW = {name: array[0] for name, array in DATA.items()}


def written(text):
    """A function of a module that has this text."""
    file = f"<{len(linecache.cache)} names>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    found = {"lw": lw}
    exec(compile(text, file, "exec"), found)
    return found["f"]


def compiled(program, calibrate):
    return lw.compile(program, calibrate=calibrate, ring_degree=1024, insecure=True, precision_bits=6)


@pytest.fixture(scope="module")
def secrets():
    """A program whose secret inputs have all the names."""
    taken = ", ".join(f"{name}: lw.Secret[4]" for name in NAMES)
    terms = " + ".join(f"{number + 1} * {name}" for number, name in enumerate(NAMES))
    program = lw.program(written(f"def f({taken}):\n    return ({terms}) / {len(NAMES) ** 2}\n"))
    model = compiled(program, DATA)
    client = model.client()
    return program, model, client, model.server(client.keygen().public())


@pytest.fixture(scope="module", params=FEW, ids=" ".join)
def integers(request):
    """A program whose run-time integers have these names, and how often each adds its number."""
    taken = ", ".join(f"{name}: lw.Index" for name in request.param)
    loops = "".join(
        f"    a = lw.for_loop({name}, lambda j, a: a + {number + 1} / 50, a, at_most=2)\n"
        for number, name in enumerate(request.param)
    )
    program = lw.program(written(f"def f(x: lw.Secret[4], {taken}):\n    a = x\n{loops}    return a\n"))
    model = compiled(program, {"x": DATA["X"], **dict.fromkeys(request.param, 2)})
    client = model.client()
    times = {name: number % 3 for number, name in enumerate(request.param)}
    return program, model, client, model.server(client.keygen().public()), times


def test_secret_inputs_have_any_name(secrets):
    program, model, client, server = secrets
    wanted = sum((number + 1) * ROW[name] for number, name in enumerate(NAMES)) / len(NAMES) ** 2
    for found in (program(**ROW), model.plaintext(**ROW), model.simulate(**ROW)):
        np.testing.assert_allclose(np.ravel(found), wanted, atol=0.02)
    parts = [client.encrypt_part(**{name: value}) for name, value in ROW.items()]
    for given in (client.encrypt(**ROW), server.inputs(*parts)):
        np.testing.assert_allclose(client.decrypt(server(given)).reveal(), wanted, atol=0.02)
    assert model.debug(**ROW).rows
    assert model.accuracy(DATA, encrypted=1, progress=False)


def test_an_option_is_one_where_the_input_is_given_already(secrets):
    """An input by position leaves its name to the option."""
    _, model, client, _ = secrets
    noisy = model.simulate(*ROW.values(), noise=np.random.default_rng(1))
    again = model.simulate(*ROW.values(), noise=np.random.default_rng(1))
    assert np.array_equal(noisy, again)
    assert not np.array_equal(noisy, model.simulate(**ROW))
    assert model.debug(*ROW.values(), client=client).rows


def test_run_time_integers_have_any_name(integers):
    program, model, client, server, times = integers
    x = ROW["X"]
    wanted = x + sum((number + 1) / 50 * count for number, count in enumerate(times.values()))
    for found in (program(x, **times), model.plaintext(x=x, **times), model.simulate(x=x, **times)):
        np.testing.assert_allclose(np.ravel(found), wanted, atol=0.02)
    part = client.encrypt_part(x=x)
    results = [server(part, **times), server.run(part, integers=times), server(client.encrypt(x=x, **times))]
    results += server.run_many([part], integers=times)
    for result in results:
        np.testing.assert_allclose(client.decrypt(result).reveal(), wanted, atol=0.02)
    assert model.debug(x=x, **times).rows
    assert model.accuracy(DATA["X"], **times)
    assert model.accuracy({"x": DATA["X"], **times}, encrypted=1, progress=False, seed=3)


def test_the_server_tells_its_options_from_integers_that_parts_hold(integers, tmp_path):
    _, _, client, server, times = integers
    heard = []
    server(client.encrypt(x=ROW["X"], **times), on_event=heard.append, checkpoint=tmp_path / "turns")
    assert heard
    server.run(client.encrypt_part(x=ROW["X"]), integers=times, on_event=heard.append, checkpoint=tmp_path / "turns")
    for name in {"on_event", "checkpoint"} & set(times):
        with pytest.raises(lw.errors.DtypeError, match=rf"input {name} is a str; give a whole number"):
            server(client.encrypt_part(x=ROW["X"]), **{**times, name: "a file"})


def test_circuits_take_any_name():
    names = ["self", "args", "client", "noise", "circuit"]
    circuit = lw.circuit(
        written(f"def f({', '.join(f'{n}: lw.scalar()' for n in names)}):\n    return {' + '.join(names)}\n")
    )
    given = {name: float(number) / 8 for number, name in enumerate(names)}
    model = lw.compile(circuit, ring_degree=1024, insecure=True, precision_bits=6)
    assert circuit(**given) == 10 / 8
    for found in (model.plaintext(**given), model.simulate(**given)):
        assert abs(float(np.ravel(found)[0]) - 10 / 8) < 0.02


@pytest.mark.parametrize("name", ["self", "class", "lambda", "None", "noise", "input.1"])
def test_imported_models_have_names_that_python_takes(name):
    file = onnx_graphs.model([helper.make_node("Mul", [name, name], ["y"])], {name: [1, 3]}, ["y"])
    program = lw.from_onnx(file)
    (made,) = (parameter.name for parameter in program.parameters)
    assert made.isidentifier() and not iskeyword(made)
    np.testing.assert_allclose(program(**{made: np.full((1, 3), 0.5)}), 0.25)
