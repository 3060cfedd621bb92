"""docs/operating.md: what it says can be made again is, and its container's command line is one."""

import re
import shlex
from pathlib import Path

import latticework as lw
from latticework.commands.command_table import COMMANDS
from latticework.commands.plain_words import read_plain_words

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()


def test_a_plan_gives_its_client_file_again(files, tmp_path):
    lw.load(files["plan"], allow_insecure=True).client().save(tmp_path / "again.lwclient")
    assert (tmp_path / "again.lwclient").read_bytes() == files["client"].read_bytes()


def test_a_secret_key_gives_other_keys_for_the_same_requests(files, tmp_path):
    """With nothing left in its folder but the secret key; keys of others would be refused."""
    shown = tmp_path / files["secret key"].name
    shown.write_bytes(files["secret key"].read_bytes())
    shown.chmod(0o600)
    client = lw.Client.load(files["client"], allow_insecure=True)
    client.load_keys(tmp_path)
    client.public_keys().save(tmp_path / "for-server")
    server = lw.Server.load(files["plan"], tmp_path / "for-server")
    result = client.decrypt(server(server.load_encrypted(files["inputs"])))
    before = client.decrypt(client.load_encrypted(files["outputs"]))
    assert abs(result.reveal() - before.reveal()).max() <= result.error_bound + before.error_bound


def test_the_container_runs_a_command_that_there_is():
    (line,) = re.findall(r"^docker run (?:.*\\\n)?(.*)$", PAGE, re.MULTILINE)
    command, *words = shlex.split(line)
    assert read_plain_words(COMMANDS[command], words) is not None
