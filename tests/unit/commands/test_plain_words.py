"""Command lines that are read without the parser of the package: the same values as it reads, and no line of its own."""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latticework import cli
from latticework.commands import command_parser, plain_words
from latticework.commands.command_table import COMMANDS
from latticework.commands.plain_words import read_plain_words, run_plain_words

READ_HERE = [name for name, command in COMMANDS.items() if not command.passes_on]
TEXTS = [
    "a.npy", "x=1,4", "x=b.npy", "-", "--", "", " ", "3", "-3", "+3", "03", "1_0", " 5", "5.0", "0", "1e3", "1.5", "-.5",
    "1.", ".", "inf", "nan", "0x10", "٣", "1" * 30, "3,4", "ckks", "bfv", "fast", "openfhe", "zsh", "ZSH", "true", "-o",
    "-oy", "-o=y", "-vo", "-vok", "-v", "-k", "-x", "-5", "--output", "--output=", "--output=a=b", "--out", "--no-json",
    "--json=1", "--json", "--help", "-h", "--threads=-1", "--threads", "--degree=3,4", "--shape=x=1", "--", "é", "a b",
]  # fmt: skip
PARSERS = {name: cli.load_command(name) for name in READ_HERE}


def read_by_typer(name, words, monkeypatch):
    """What typer gives the command of a line; None where it refuses, or says something else."""
    found = []
    with monkeypatch.context() as patch:
        patch.setattr(command_parser, "run_command", lambda name, given: found.append(given) or 0)
        try:
            PARSERS[name].main(list(words), prog_name=name, standalone_mode=False)
        except command_parser.UsageError:
            return None
    return found[0] if found else None


def flags_of(name):
    flags = [flag for option in COMMANDS[name].all_options for flag in (*option.flags, option.flag)]
    return [*flags, *("--no-" + flag.removeprefix("--") for flag in flags)]


@st.composite
def lines(draw, name):
    """Words by chance, among them flags of a command; often with the arguments and options that it needs."""
    words = draw(st.lists(st.sampled_from([*flags_of(name), *TEXTS]), max_size=7))
    for option in COMMANDS[name].all_options:
        if draw(st.integers(0, 5)):
            place = draw(st.integers(0, len(words)))
            text = draw(st.sampled_from([*option.choices, "a.npy", "b"]))
            words[place:place] = [text] if option.is_argument else [option.flag, text] if option.is_required else []
    return words


def check_line(name, words, monkeypatch):
    """Whether a line is read; the same by both."""
    want = read_by_typer(name, words, monkeypatch)
    found = read_plain_words(COMMANDS[name], words)
    if found is not None:
        assert want is not None and list(map(repr, found.items())) == list(map(repr, want.items())), (name, words)
    elif want is not None:  # typer takes a few ways to write numbers that are not read here, and no other line
        odd = [word for word in words if any(text in word for text in ODD)]
        assert odd, (name, words, want)
    return found is not None


ODD = ("1_0", " 5", "5.0", "inf", "nan", "٣", "1" * 30, "1.", ".5", "1e3")


def test_both_parsers_read_the_same_values_from_the_same_lines(monkeypatch):
    seen = Counter()

    @settings(max_examples=400, deadline=None, database=None)
    @given(st.sampled_from(READ_HERE).flatmap(lambda name: st.tuples(st.just(name), lines(name))))
    def check(case):
        seen[check_line(*case, monkeypatch)] += 1

    check()
    assert min(seen[True], seen[False]) > 40


@pytest.mark.parametrize(
    "line",
    [
        "keygen m.lwclient", "keygen --insecure -o keys m.lwclient", "keygen -vokeys m.lwclient --json",
        "encrypt m.lwclient -", "encrypt m.lwclient x=x.npy n=-3 -k keys -o in.lwct --clip", "encrypt -- m.lwclient -x",
        "encrypt --record=r m.lwclient a b c --output=i=n", "run -k keys/e m.lwplan in.lwct n=60 --threads 2",
        "run m.lwplan a b --threads=2 --memory 2GB --output - --runs -1", "run a b --threads 1 --threads 2 --no-json",
        "decrypt m.lwclient out.lwct", "decrypt --allow-refusals +4 m.lwclient out.lwct -o y.npy", "decrypt m", "run a",
        "explain m.lwplan --html r.html", "explain a b", "version", "version --json", "version now", "keys f --ahead -1",
        "compile f.py --degree 3,4 --scale-columns --precision-bits 20 --batch fill --key-price .5",
        "compile f.py --no-scale-columns --wraps --network 1e6 --seed -1", "compile f.py --degree x", "compile --seed",
        "compile f.py --no-wraps", "compile f.onnx --shape x=1,4 --shape N=1 --limit work=3 --trust-file",
        "accuracy f.py --data d.npy --seed 3", "accuracy f.py", "measure --threads 0", "measure --threads 1 --quick",
        "completion zsh", "completion ZSH", "completion tcsh", "export p f --to heir", "export p f --to seal",
    ],
)  # fmt: skip
def test_lines_as_users_write_them(line, monkeypatch):
    name, *words = line.split()
    assert check_line(name, words, monkeypatch) == (read_by_typer(name, words, monkeypatch) is not None)


def test_a_file_that_cannot_be_read_is_said_by_the_other_parser(tmp_path, monkeypatch):
    (tmp_path / "m.lwclient").touch()
    words = ["m.lwclient"]
    monkeypatch.chdir(tmp_path)
    assert check_line("keygen", words, monkeypatch)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert not check_line("keygen", words, monkeypatch)


@pytest.mark.parametrize(
    "words", [[], ["--version"], ["--help"], ["keygen"], ["run", "--help"], ["ru", "a"], ["bench"]]
)
def test_other_lines_are_left_to_the_other_parser(words):
    assert run_plain_words(words) is None


def test_completion_is_left_to_the_other_parser(monkeypatch):
    monkeypatch.setenv(plain_words.COMPLETION, "complete_bash")
    assert run_plain_words(["version"]) is None


def test_plain_lines_never_reach_the_other_parser(monkeypatch, capsys):
    monkeypatch.setattr(command_parser, "load_command", None)
    for run in (cli.main, lambda: cli.app(["version"])):
        monkeypatch.setattr(sys, "argv", ["latticework", "version"])
        with pytest.raises(SystemExit) as ended:
            run()
        assert ended.value.code == 0 and capsys.readouterr().out == f"{cli.import_module('latticework').__version__}\n"


def test_paths_stay_paths():
    found = read_plain_words(COMMANDS["keygen"], ["m.lwclient"])
    assert found["client"] == Path("m.lwclient") and found["output"] == Path("keys")
