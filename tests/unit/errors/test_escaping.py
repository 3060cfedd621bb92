"""Whatever shows text of a file, a program or a user shows it harmlessly: every repr, report, explanation and error."""

import ast
import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hostile_text import HOSTILE, full_plan, hostile_plan, is_harmless_page, is_harmless_text
from rlwe_cases import shared_case
from typer.testing import CliRunner
from vec_cases import line

import latticework as lw
from latticework import _core, cli, errors
from latticework.compiler.accuracy.function_uses import uses_of
from latticework.compiler.outside_changes import OutsideChange
from latticework.debug import DebugReport, DebugRow
from latticework.errors import UserError
from latticework.errors.escaping import html_text, plain_text
from latticework.frontend import trace
from latticework.ir import Loc, Origin
from latticework.ir.scanner import TextPlace
from latticework.plan.files.serialise import read_client, read_plan, write_client, write_plan
from latticework.plan.schema.conditions import Condition
from latticework.plan.schema.kept_parts import KeptParts
from latticework.plan.schema.schema import Scores, SourceLocation
from latticework.report import AccuracyReport, build_report, explain_file
from latticework.report.accuracy_data import (
    AccuracyColumn,
    AccuracyLine,
    DegreeStep,
    FunctionAccuracy,
    LineOff,
    UnlikeData,
)
from latticework.report.quoted import SKETCHED, DearLayer, Quote, QuotedPrice
from latticework.report.tuning_curve import TuningCurve, TuningPoint

SOURCE = Path(lw.__file__).parent
SHOWING = {"__repr__", "__str__", "__format__", "_repr_html_"}
# Classes that show numbers and words of ours alone.
WITHOUT_TEXT = {
    "schemes.bfv.bfv_ciphertext.Plaintext", "schemes.rlwe.encryption.Decryptor", "schemes.rlwe.encryption.Encoder", "schemes.rlwe.encryption.Encryptor",
    "schemes.ckks.bootstrapper.Bootstrapper", "schemes.ckks.ckks_ciphertext.Plaintext",
    "schemes.ckks.linear_maps.LinearTransform",
    "schemes.ckks.ckks_polynomials.Polynomial", "values.inputs.reading_budget.ReadingLimits", "ir.dialects.rlwe_types.Level", "ir.types.Type",
    "tensor.layout.conversions.base.Conversion", "tensor.layout.layout.Layout", "compiler.levels.level_plan.CipherState", "compiler.levels.level_plan.Scale",
    "commands.machine.bootstrap_timing.MeasuredBootstrap",
    "values.packing.pack.PackDim", "values.packing.pack.PackMap",
    "runtime.devices.frames.frame", "schemes.rlwe.ciphertext.Ciphertext", "schemes.rlwe.evaluator.Evaluator", "schemes.rlwe.rlwe_keys.EvaluationKeys", "schemes.rlwe.rlwe_keys.KeyGenerator",
    "schemes.rlwe.rlwe_keys.PublicKey", "schemes.rlwe.rlwe_keys.SecretKey", "schemes.rlwe.parameters.ChainParameters", "runtime.exchange.row_batches.Extent",
    "runtime.exchange.clipped.ClippedRows",
    "runtime.keys.key_sets.Keys",
    "runtime.keys.key_sets.PublicKeys", "runtime.client.postprocess.FinishedValue", "runtime.exchange.decrypted.OwnerValue", "compiler.options.techniques.Techniques",
    "compiler.accuracy.agreement.Agreement",
}  # fmt: skip


@pytest.fixture(scope="module")
def plan():
    """Written and read again: hashes are valid."""
    return read_plan(write_plan(hostile_plan()))


@pytest.fixture(scope="module")
def owner(plan):
    client = lw.Model(plan).client(threads=1, allow_insecure=True)
    return client, client.keygen()


@pytest.fixture(scope="module")
def encrypted(plan, owner):
    client, _ = owner
    data = client.encrypt(*(np.zeros(a.shape) for a in plan.client.arguments)).to_bytes()
    return client.load_encrypted(data)


def test_the_plan_is_hostile_everywhere(plan):
    assert write_plan(plan) == write_plan(hostile_plan())
    texts = repr(dataclasses.asdict(plan)).count("<script>")
    assert texts > 40


def classes_that_show():
    """module.Class of every class that says itself how it is shown."""
    for file in sorted(SOURCE.rglob("*.py")):
        module = ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
                names = {t.id for n in node.body if isinstance(n, ast.Assign) for t in n.targets if hasattr(t, "id")}
                if SHOWING & (methods | names):
                    yield f"{module}.{node.name}"


def objects(plan, owner, encrypted):
    """An object of every class that shows text, full of hostile text."""
    client, keys = owner
    model = lw.Model(plan)
    place = SourceLocation(HOSTILE, 3, HOSTILE)
    row = DebugRow(HOSTILE, place, (5,), 1.0, 0.5, 1.0)
    loc = Loc(HOSTILE, 3, HOSTILE)
    check = client.check(*(np.full(a.shape, 1e9) for a in plan.client.arguments))
    assert not check.fits
    server = model.server(keys.public(), threads=1)
    with tempfile.NamedTemporaryFile() as file:
        encrypted.save(file.name)
        opened = server.open_encrypted(file.name)
    return {
        "runtime.client.input_check.InputCheck": check,
        "runtime.client.input_check.Inputs": check.clipped(),
        "runtime.client.input_inspection.Looked": check._looked,
        "runtime.exchange.input_errors.Finding": check.findings[0],
        "model.Model": model,
        "debug.DebugReport": DebugReport((row, dataclasses.replace(row, error=0.0))),
        "report.report.Forms": model.report(),
        "report.quoted.Quote": Quote(
            HOSTILE,
            (QuotedPrice(8, SKETCHED, problem=HOSTILE),),
            (DearLayer(HOSTILE, HOSTILE, 0.5, 3, (HOSTILE,)),),
            (HOSTILE,),
            HOSTILE,
            1.0,
        ),
        "report.report.Report": model.report(),
        "report.tuning_curve.TuningCurve": curve(),
        "torch.TunedModule": tuned(),
        "plan.schema.kept_parts.KeptParts": KeptParts(HOSTILE, b"", False, (HOSTILE,), 1, 2, (HOSTILE,)),
        "report.accuracy_report.AccuracyReport": accuracy_report(),
        "runtime.client.client.Client": client,
        "runtime.server.server.Server": server,
        "runtime.exchange.encrypted.Encrypted": encrypted,
        "runtime.exchange.encrypted.EncryptedFile": opened,
        "plan.schema.schema.SourceLocation": place,
        "plan.schema.conditions.Condition": Condition(HOSTILE, HOSTILE, 0.1),
        "plan.schema.schema.Plan": plan,
        "plan.schema.schema.Scores": Scores(HOSTILE, 3, 0.5, 0.25),
        "plan.schema.schema.ClientSpec": plan.client,
        "ir.location.Loc": loc,
        "ir.scanner.TextPlace": TextPlace(HOSTILE, 1, 2),
        "compiler.outside_changes.OutsideChange": OutsideChange(HOSTILE, "traced", ()),
        "frontend.functions.array_functions.Approximated": named(HOSTILE),
        "compiler.accuracy.function_uses.FunctionUse": use_of(named(HOSTILE)),
        "runtime.devices.profiles.profile": profile_of(HOSTILE),
        "errors.MissingKeyError": errors.MissingKeyError(HOSTILE, at=loc),
        **traced(loc),
    }


def tuned():
    return pytest.importorskip("latticework.torch").TunedModule(None, curve())


def curve():
    """Full of hostile text."""
    point = TuningPoint(HOSTILE, (3,), HOSTILE, 4, 0.1, 1000, 0.9, True, HOSTILE)
    other = TuningPoint(HOSTILE, (7,), HOSTILE, note=HOSTILE)
    return TuningCurve((point, other), point, 0.95, HOSTILE)


def accuracy_report():
    """Full of hostile text."""
    off = LineOff(HOSTILE, HOSTILE, HOSTILE, 1.0, 0.5, 0.1, 3)
    columns = tuple(AccuracyColumn(name, (0, 3), 0.5, 1.0, 0.5, (3,), 0.1, 0.2, off) for name in (HOSTILE, "encrypted"))
    unlike = (UnlikeData("refused", (4,), HOSTILE), UnlikeData("argument", (1, 2), HOSTILE))
    step = DegreeStep(7, 0.1, 1, 2, 0.5, larger_ring=True)
    function = FunctionAccuracy(HOSTILE, 0, 1, (-1, 1), (1, 2), 1, True, 0.1, (3,), True, 0.1, 0.1, 0.2, 0.9, step)
    lines = tuple(AccuracyLine(HOSTILE, HOSTILE, HOSTILE, 0, 1, 1, (0.1, None, 0.2), f) for f in (None, function))
    return AccuracyReport(HOSTILE, 12, 5, "row", HOSTILE, HOSTILE, 0.1, columns, lines, 0.1, 0.1, 3, unlike, 0)


def profile_of(name):
    """A profile of an operation with such a name."""
    ring, rows = _core.Ring(16, [97]), np.ones((1, 1, 16), np.uint64)
    with lw.profile("cpu") as found, found.operation(name):
        ring.add(rows, rows, [0])
    return found


def named(name):
    """A function of one number with such a name."""

    def function(x):
        return x

    function.__name__ = name
    return lw.approximate(function)


def use_of(function):
    """A use of a function in a program."""

    @lw.program
    def applied(x: lw.Secret[4]):
        return function(x, range=(-1, 1))

    (use,) = uses_of(trace(applied))
    return use


def traced(loc):
    """What a user meets while a program with such names is traced."""
    met = {}

    def function(x: lw.Secret[4], n: lw.Index):
        x._value.origin, n._value.origin = Origin(HOSTILE, loc), Origin(HOSTILE, loc)
        met["frontend.programs.traced_arrays.TracedArray"], met["frontend.recording.indices.TracedIndex"] = x, n
        met["ir.core.Value"], met["ir.core.Op"] = x._value, (x + 1)._value.owner
        return lw.for_loop(n, lambda i, h: h + x, x, at_most=2)

    def numbers(a: lw.scalar()):
        met["frontend.recording.circuit_values.Number"] = a
        return a * a

    numbers.__name__ = function.__name__ = HOSTILE
    program, circuit = lw.program(function), lw.circuit(numbers)
    lw.compile(program, calibrate={"x": np.ones((2, 4)), "n": 2}, ring_degree=1024, insecure=True)
    lw.compile(circuit, ring_degree=1024, insecure=True)
    return {"frontend.programs.array_program.Program": program, "frontend.circuits.circuit.Circuit": circuit, **met}


def test_every_class_that_shows_itself_is_tried(plan, owner, encrypted):
    tried = objects(plan, owner, encrypted)
    assert set(classes_that_show()) == WITHOUT_TEXT | set(tried)
    for name, value in tried.items():
        for show in (repr, str, format):
            assert is_harmless_text(show(value)), (name, show(value))
        if hasattr(value, "_repr_html_"):
            assert is_harmless_page(value._repr_html_()), name
    assert "&lt;script&gt;" in tried["runtime.exchange.encrypted.Encrypted"]._repr_html_()


def test_reports_and_schedules(plan):
    report = build_report(plan)
    assert is_harmless_text(report.text()) and is_harmless_page(report.html())
    assert is_harmless_text(lw.Model(plan).schedule())
    assert "[red]FORGED" in report.html() and "[red]FORGED" in lw.Model(plan).schedule()


def written(plan, folder):
    """A file of every kind, with hostile text in every place that holds text."""
    case = shared_case("plain")
    texts = {HOSTILE: HOSTILE, "a": [{HOSTILE: [HOSTILE]}], "b": {HOSTILE: HOSTILE}, "c": HOSTILE * 9}
    files = {kind: folder / f"{kind.name.lower()}.lw" for kind in _core.FileKind}
    write_plan(plan, files[_core.FileKind.PLAN])
    write_client(plan.client, files[_core.FileKind.CLIENT])
    for kind in list(_core.FileKind)[2:]:
        fingerprint = case.context.parameters.fingerprint
        _core.write_container(str(files[kind]), int(kind), fingerprint, texts, [(1, bytes(64))])
    return files


@pytest.mark.parametrize("kind", list(_core.FileKind), ids=lambda kind: kind.name.lower())
def test_explanations(plan, tmp_path, kind):
    file = written(plan, tmp_path)[kind].rename(tmp_path / "\x1b[31m\n[red]FORGED")
    assert is_harmless_text(explain_file(file))
    result = CliRunner().invoke(cli.app, ["explain", str(file)])
    assert result.exit_code == 0 and is_harmless_text(result.output) and "FORGED" in result.output


def refused(call):
    with pytest.raises((UserError, OSError)) as caught:
        call()
    return caught.value


def test_errors_of_readers(plan, tmp_path):
    case, folder = shared_case("plain"), tmp_path / "\x1b[31m\n[red]FORGED"
    folder.mkdir()
    files = written(plan, folder)
    readers = (
        lw.load, lw.Client.load, read_client, explain_file,
        lambda file: lw.Server.load(files[_core.FileKind.PLAN], file),
        lambda file: _core.load_secret_key(str(file), case.context),
        lambda file: _core.load_public_key(str(file), case.context),
        lambda file: _core.load_evaluation_keys(str(file), case.context),
        lambda file: _core.EvaluationKeyFile(str(file), case.context),
        lambda file: _core.MappedKeys(str(file), case.context, 1 << 20),
        lambda file: _core.load_ciphertexts(str(file), case.context),
        lambda file: _core.CiphertextReader(str(file), case.context),
        lambda file: _core.PlaintextReader(str(file), case.context),
    )  # fmt: skip
    met = 0
    for read in readers:
        for file in (*files.values(), folder / "nowhere", folder):
            try:
                read(file)
            except (UserError, OSError) as error:
                assert is_harmless_text(str(error), lines=False), error
                met += 1
    assert met > 80


def test_errors_about_names_in_plans(plan):
    client = plan.client
    (x,), (y,) = client.inputs, client.outputs
    for wrong in (
        dataclasses.replace(client, inputs=(x, x)),
        dataclasses.replace(client, outputs=(y, y)),
        dataclasses.replace(client, inputs=(dataclasses.replace(x, level=9),)),
        dataclasses.replace(client, inputs=(dataclasses.replace(x, low=9.0),)),
        dataclasses.replace(client, outputs=(dataclasses.replace(y, shape=(3,)),)),
        dataclasses.replace(client, arguments=(dataclasses.replace(client.arguments[0], input=7),)),
        dataclasses.replace(client, arguments=client.arguments * 2),
        dataclasses.replace(client, results=(dataclasses.replace(client.results[0], elements=(99,) * 16),)),
        dataclasses.replace(client, manifest=dataclasses.replace(client.manifest, uses=planted_keys(client))),
    ):
        assert is_harmless_text(str(refused(lambda wrong=wrong: read_client(write_client(wrong)))), lines=False)
    for wrong in (
        dataclasses.replace(plan, tensors=(dataclasses.replace(plan.tensors[0], location=99),)),
        dataclasses.replace(plan, tensors=(dataclasses.replace(plan.tensors[0], pack=line(1024)),)),
        dataclasses.replace(plan, sources={HOSTILE: np.full(16, np.inf)}),
    ):
        assert is_harmless_text(str(refused(lambda wrong=wrong: read_plan(write_plan(wrong)))), lines=False)


def planted_keys(client):
    use = client.manifest.uses[0]
    return (dataclasses.replace(use, spec=dataclasses.replace(use.spec, kind=HOSTILE)), *client.manifest.uses[1:])


def test_errors_about_ciphertexts_and_inputs(plan, owner, encrypted, tmp_path):
    client, keys = owner
    server, model = lw.Model(plan).server(keys.public(), threads=1), lw.Model(plan)
    name = plan.client.arguments[0].name
    outputs = dataclasses.replace(encrypted, role="outputs", tensors={plan.client.outputs[0].name: ()})
    other = lw.Model(full_plan()).client(threads=1, allow_insecure=True)
    other.keygen()
    altered = bytearray(_core.save_ciphertexts(None, list(*encrypted.tensors.values()), [HOSTILE], {}))
    altered[-1] ^= 1
    for call in (
        lambda: server(outputs), lambda: client.decrypt(encrypted), lambda: client.decrypt(outputs),
        lambda: other.decrypt(outputs), lambda: other.decrypt(dataclasses.replace(outputs, program="case")),
        lambda: server(dataclasses.replace(encrypted, tensors={})),
        lambda: server(dataclasses.replace(encrypted, interface=bytes(32))),
        lambda: server(dataclasses.replace(encrypted, program=HOSTILE)),
        lambda: server.inputs(encrypted, **{HOSTILE: outputs}), lambda: server.inputs(encrypted, **{name: outputs}),
        lambda: client.encrypt(np.zeros(4)), lambda: client.encrypt(np.full(16, 9.0)),
        lambda: client.encrypt(np.full(16, np.nan)), lambda: client.encrypt(**{HOSTILE: 1}), lambda: client.encrypt("x"),
        lambda: model.simulate(np.zeros(4)), lambda: model.simulate(**{HOSTILE: 1}), lambda: model.plaintext(),
        lambda: _core.load_ciphertexts(bytes(altered), client.context), lambda: model.lanes(HOSTILE),
        lambda: keys.save(keyfolder(tmp_path)),
    ):  # fmt: skip
        assert is_harmless_text(str(refused(call)), lines=False)
    for extras in ({"role": HOSTILE, "program": "", "interface": b""}, {"counts": {HOSTILE: 2}}):
        more = {"role": "inputs", "program": HOSTILE, "interface": b"", "integers": {}} | extras
        stored = _core.save_ciphertexts(None, list(*encrypted.tensors.values()) * 2, [f"{HOSTILE}[0]", "b"], more)
        assert is_harmless_text(str(refused(lambda stored=stored: client.load_encrypted(stored))), lines=False)


def keyfolder(folder):
    hostile = folder / "\x1b[31m\n[red]FORGED"
    hostile.mkdir()
    (hostile / "secret.lwkey").touch()
    return hostile


def test_the_command_line_shows_names_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(
        "import latticework as lw\n"
        "def f(x: lw.Secret[4]):\n    return x + x\n"
        f"f.__name__ = {HOSTILE!r}\n"
        "g = lw.program(f)\n"
    )
    Path("bad.py").write_text(f"raise ValueError({HOSTILE!r})\n")
    np.save("x.npy", np.ones((3, 4)))
    run = CliRunner()
    for arguments, code in (
        (["compile", "program.py", "--calibrate", "x.npy", "--ring-degree", "1024", "--insecure"], 0),
        (["encrypt", "model.lwclient", "x.npy", "[red]none", "--insecure"], 3),
        (["encrypt", "model.lwclient", f"{HOSTILE[:60]}=1", "--insecure"], 3),
        (["compile", "bad.py", "--force"], 1),
        (["compile", f"program.py:{HOSTILE}", "--force"], 1),
        (["explain", "\x1b[31m[red]FORGED"], 3),
    ):
        result = run.invoke(cli.app, arguments)
        assert result.exit_code == code, (arguments, result.output)
        assert is_harmless_text(result.output), (arguments, result.output)
        assert "[red]" in result.output or "program.py has these" in result.output


def test_what_the_two_functions_do():
    assert plain_text("ünïcode 中 ok") == "ünïcode 中 ok"
    assert plain_text("a\tb\n\x1b\u202e\ud800") == r"a\tb\n\x1b\u202e\ud800"
    assert plain_text(plain_text(HOSTILE)) == plain_text(HOSTILE)
    assert html_text("<a b=\"c\" d='e'>&\n") == "&lt;a b=&quot;c&quot; d=&#x27;e&#x27;&gt;&amp;\\n"
    assert str(errors.RangeWarning(HOSTILE)).isprintable()
    assert UserError(HOSTILE).message == plain_text(HOSTILE)
