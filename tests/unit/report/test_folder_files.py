"""Which files of a folder belong together, and what is said of those that do not."""

import shutil

import numpy as np
import pytest

import latticework as lw
from latticework.errors import UserError
from latticework.report import folder_files
from latticework.report.folder_files import find_mismatches, read_folder


@lw.program
def scaled(x: lw.Secret[4], w):
    return x @ w


def deploy(folder, factor):
    """Everything of one compilation, keys of its own included."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = np.random.default_rng(0).uniform(-factor, factor, (50, 4))
    model = lw.compile(scaled, weights=(np.ones((4, 2)) * factor,), calibrate=rows, ring_degree=2048, insecure=True)
    client = model.client()
    model.save(folder / "m.lwplan")
    client.save(folder / "m.lwclient")
    keys = client.keygen()
    keys.save(folder / "keys")
    request = client.encrypt(rows[0])
    request.save(folder / "in.lwct")
    model.server(keys.public())(request).save(folder / "out.lwct")


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    deploy(folder / "one", 1.0)
    deploy(folder / "other", 2.0)
    return folder


@pytest.fixture
def folder(originals, tmp_path):
    return shutil.copytree(originals / "one", tmp_path / "here")


def said(folder):
    return [each.text for each in find_mismatches(read_folder(folder))]


def test_files_of_one_compilation_fit(folder):
    found = {str(file.path): file for file in read_folder(folder)}
    assert {name: file.role or file.kind for name, file in found.items()} == {
        "in.lwct": "inputs", "out.lwct": "outputs", "m.lwplan": "plan", "m.lwclient": "client file",
        "keys/secret.lwkey": "secret key", "keys/public.lwkey": "public key",
        "keys/evaluation.lwkeys": "evaluation keys",
    }  # fmt: skip
    assert len({file.parameters for file in found.values()}) == 1
    assert len({file.key_set for file in found.values() if file.key_set}) == 1
    assert said(folder) == []


def test_two_compilations_in_one_folder_fit_where_each_is_whole(originals):
    assert said(originals) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("in.lwct", "in.lwct holds inputs of another compilation of scaled"),
        ("out.lwct", "out.lwct holds outputs of another compilation of scaled"),
        ("m.lwclient", "m.lwclient is of another compilation of scaled than every plan here"),
        ("keys/secret.lwkey", "the keys in keys are of several secret keys"),
        ("keys/evaluation.lwkeys", "the keys in keys are of several secret keys"),
    ],
)
def test_a_file_of_another_compilation_is_named(originals, folder, name, words):
    shutil.copyfile(originals / "other" / name, folder / name)
    found = find_mismatches(read_folder(folder))
    assert any(words in each.text for each in found), found
    assert all(each.remedy and each.files for each in found)


def test_ciphertexts_of_another_key_of_the_same_parameters_are_named(folder):
    shutil.rmtree(folder / "keys")
    lw.Client.load(folder / "m.lwclient", allow_insecure=True).keygen(folder / "keys")
    assert said(folder) == [
        f"{name} was encrypted for a secret key that none of the keys here belongs to"
        for name in ("in.lwct", "out.lwct")
    ]


def test_damaged_files_are_named_and_others_still_judged(originals, folder):
    (folder / "cut.lwct").write_bytes((folder / "in.lwct").read_bytes()[:100])
    (folder / "no.lwplan").write_text("not ours")
    shutil.copyfile(originals / "other" / "in.lwct", folder / "strange.lwct")
    texts = said(folder)
    assert len(texts) == 3
    assert "strange.lwct holds inputs of another compilation" in texts[-1]


def test_files_of_others_links_and_deep_folders_are_left_alone(folder, originals):
    (folder / "notes.txt").write_text("mine")
    (folder / "link.lwct").symlink_to(originals / "other" / "in.lwct")
    deep = folder / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    shutil.copyfile(originals / "other" / "in.lwct", deep / "in.lwct")
    assert len(read_folder(folder)) == 7


def test_a_secret_key_at_a_server_is_named(folder):
    server = folder / "server"
    server.mkdir()
    for name in ("m.lwplan", "keys"):
        (folder / name).rename(server / name)
    (folder / "client").mkdir()
    (folder / "m.lwclient").rename(folder / "client" / "m.lwclient")
    (text,) = said(folder)
    assert text.startswith("server/keys/secret.lwkey lies where a plan is and no client file")


def test_folders_of_very_many_files_are_refused(folder, monkeypatch):
    monkeypatch.setattr(folder_files, "MOST_FILES", 3)
    with pytest.raises(UserError, match="more than 3 files"):
        read_folder(folder)
