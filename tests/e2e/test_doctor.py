"""`latticework doctor`: the installation, its kernels, and a folder of files."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
from typer.testing import CliRunner

from latticework.cli import app
from latticework.commands.machine import health
from latticework.schemes import ckks
from latticework.values.extension import _core


def run(*arguments):
    return CliRunner().invoke(app, ["doctor", *map(str, arguments)])


def copied(files, folder):
    for path in files.values():
        target = folder / path.relative_to(files["plan"].parent)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, target)
    return folder


def test_an_installation_that_computes_rightly_has_status_0(files, tmp_path):
    done = run("--folder", copied(files, tmp_path))
    assert done.exit_code == 0, done.output
    assert "rightly, the same bytes with all of them" in done.output
    assert "All of them fit together." in done.output
    assert "numpy" in done.output


def test_files_that_do_not_fit_have_status_1_and_a_remedy(files, tmp_path):
    folder = copied(files, tmp_path)
    (folder / "inputs.lwct").write_bytes(b"LATTICE\n")
    done = run("--folder", folder, "--json")
    facts = json.loads(done.output)
    assert (done.exit_code, facts["ok"], facts["problems"]) == (1, False, 1)
    assert facts["mismatches"][0]["files"] == ["inputs.lwct"]
    assert facts["mismatches"][0]["remedy"]


def test_kernels_that_compute_wrongly_are_named(monkeypatch):
    right = ckks.Decryptor.decrypt
    monkeypatch.setattr(ckks.Decryptor, "decrypt", lambda self, x: right(self, x) + 0.25)
    done = run()
    assert done.exit_code == 1
    assert "ref: off by 2.5e-01" in done.output
    assert "WRONGLY" in done.output


def test_kernels_with_other_bytes_are_named(monkeypatch):
    right, calls = ckks.Ciphertext.to_bytes, iter(range(9))
    monkeypatch.setattr(ckks.Ciphertext, "to_bytes", lambda self: right(self) + bytes([next(calls)]))
    found = health.check_kernels(["ref", "ref"])
    assert found == {"ref": health.OTHER_BYTES}


def test_all_kernels_of_this_processor_are_checked():
    here = [name for name, is_here in health.list_kernels().items() if is_here]
    assert health.check_kernels(here) == dict.fromkeys(here, "")
    assert here[-1] == "ref"


def test_a_processor_with_none_of_the_instructions_is_told_which_they_are(monkeypatch):
    names = [name for name, _ in _core.backend_variants("cpu")]
    monkeypatch.setattr(health, "_core", SimpleNamespace(
        backend_names=lambda: ["ref"],
        backend_variants=lambda of: [(name, False) for name in names if of == "cpu"],
        driver_devices=_core.driver_devices,
    ))  # fmt: skip
    monkeypatch.setattr(health, "list_devices", dict)
    lines = run().output.splitlines()
    (first,) = (n for n, line in enumerate(lines) if line.endswith("kernels      ref (the fastest here)"))
    shown = [line.split()[0] for line in lines[first + 1 :] if line.endswith("does not run on this processor")]
    assert shown == [*names, "cpu"]
    assert "portable integers alone" in lines[first + 1 + len(shown)]


def test_requirements_are_read_with_and_without_extras(monkeypatch):
    lines = ["numpy>=2.1", 'onnx>=1.16; extra == "onnx"', 'made-up[x]>=1; sys_platform == "linux" and extra == "torch"']
    monkeypatch.setattr(health, "requires", lambda _: [*lines, 'ruff; extra == "dev"'])
    found = health.list_packages()
    assert found == {
        "numpy": (np.__version__, ""), "onnx": (found["onnx"][0], "onnx"), "made-up": (None, "torch"),
    }  # fmt: skip


def test_what_is_no_folder_is_refused(tmp_path):
    done = run("--folder", tmp_path / "none")
    assert done.exit_code == 3
    assert "is no folder" in done.output
