"""Messages at the command line: options for keywords, from the table of commands, and phrases for what is no keyword."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import latticework as lw
from latticework import cli
from latticework.commands.command_table import COMMANDS, list_spoken_options
from latticework.commands.option_names import PHRASES, in_words
from latticework.compiler.options.option_records import OPTIONS as RECORDS

SOURCE = Path(lw.__file__).parent
COMPILE = {option.name: option for option in COMMANDS["compile"].options if option.group == "keywords"}
SPOKEN = list_spoken_options()
VALUES = [name for name, option in SPOKEN.items() if option.type not in (bool, Path)]
FILES = [name for name, option in SPOKEN.items() if option.type is Path]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_parser_has_the_options_of_the_table(name):
    """By name, with their words on the command line, and each with what it is."""
    parsed = {each.name: each for each in cli.load_command(name).params}
    assert set(parsed) == {option.name for option in COMMANDS[name].all_options}
    for option in COMMANDS[name].all_options:
        own = {option.name} if option.is_argument else set(option.flags or (option.flag,))
        assert set(parsed[option.name].opts) == own and parsed[option.name].help == option.help
        is_required = option.is_argument or option.is_required
        assert parsed[option.name].required == is_required and parsed[option.name].default == option.default


def test_one_name_of_python_is_one_option():
    """However many commands take it: a message does not know which of them is running."""
    flags = {}
    for command in COMMANDS.values():
        for option in command.options:
            if option.python:
                flags.setdefault(option.python, set()).add((option.flag, option.type is bool))
    assert all(len(found) == 1 for found in flags.values()), flags


def test_every_keyword_of_compile_is_an_option_or_has_a_reason_not_to_be():
    for keyword in list(inspect.signature(lw.compile).parameters)[1:]:
        assert (keyword in COMPILE) != bool(RECORDS[keyword].in_python), keyword


def test_accuracy_shares_the_options_of_compile():
    shared = {option.name: option for option in COMMANDS["accuracy"].options if option.group == "keywords"}
    assert shared == {name: COMPILE[name] for name in shared} and "degree" in shared and "batch" not in shared


@pytest.mark.parametrize("keyword", COMPILE)
def test_every_keyword_of_compile_is_said_as_its_option(keyword):
    option = COMPILE[keyword].flag
    assert option == "--" + keyword.replace("_", "-")
    assert in_words(f"compile: give {keyword}= or more") == f"compile: give {option} or more"
    if COMPILE[keyword].type is bool:
        assert in_words(f"{keyword}=True is for tests") == f"{option} is for tests"
    elif COMPILE[keyword].type is Path:
        assert in_words(f"pass {keyword}=data to compile") == f"pass {option} data.npy to compile"
        assert in_words(f"{keyword}={{..., 'n': 5}}") == f"{option} FILE.npz that holds n=5"
    else:
        assert in_words(f"{keyword}=20.5; or {keyword}='max'.") == f"{option} 20.5; or {option} max."


@pytest.mark.parametrize("phrase", PHRASES)
def test_every_phrase_is_one_of_a_message(phrase):
    """As Python code writes it: braces of f-strings doubled, a string that goes on in the next line."""
    text = "".join(path.read_text() for path in SOURCE.rglob("*.py") if path.parent.name != "commands")
    joined = "".join(line.strip().strip('"') for line in text.replace('f"', '"').splitlines())
    assert phrase in joined or phrase.replace("{", "{{").replace("}", "}}") in joined


@pytest.mark.parametrize(
    "text",
    ["x = 3", "ring=63 restores both", "at_most=5 of its loop", "my.seed=3", "--seed=3", "range=(-8, 8)", "seed==3"],
)
def test_what_belongs_to_programs_stays(text):
    assert in_words(text) == text


def told(arguments, folder, monkeypatch, text="def f(x: lw.Secret[4]):\n    return x * 2\n", kind="program"):
    from typer.testing import CliRunner

    monkeypatch.chdir(folder)
    (folder / "f.py").write_text(f"import latticework as lw\n@lw.{kind}\n{text}")
    done = CliRunner().invoke(cli.app, ["compile", "f.py", *arguments])
    assert done.exit_code == 1, done.output
    return done.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["--precision-bits", "99"], "PrecisionError: compile: --precision-bits 99.0; give 1 to 40"),
        (["--ring-degree", "1000"], "compile: --ring-degree 1000 is not a power of two from 1024 to 131072"),
        (["--ring-degree", "1024"], "--ring-degree"),
        (["--ring-degree", "1024", "--security-bits", "256"], "--ring-degree 1024 cannot give 256-bit security"),
        (["--security-bits", "100"], "compile: --security-bits 100; choose one of"),
        (["--network", "internet"], "compile: --network internet; give 'lan', 'wan', or a number of bits per second"),
        (["--scheme", "tfhe"], "compile: --scheme tfhe; give one of 'ckks', 'bfv'"),
        (
            ["--algorithm", "best"],
            "compile: --algorithm is for circuits under CKKS and circuits under BFV; f is a program",
        ),
        (["--effort", "all"], "compile: --effort is for circuits"),
        (["--seed", "-1"], "compile: --seed is for circuits"),
    ],
)
def test_messages_of_compile(tmp_path, monkeypatch, arguments, want):
    printed = told(arguments, tmp_path, monkeypatch)
    assert want in printed and not [name for name in (*VALUES, *FILES) if f"{name}=" in printed]
    assert not [name for name in VALUES if "_" in name and name in printed]


def test_messages_about_programs(tmp_path, monkeypatch):
    text = told([], tmp_path, monkeypatch, "def f(x: lw.Secret[4], w):\n    return x * w\n")
    assert "Give --weights FILE.npz with an array per weight, by name, or annotate" in text
    text = told([], tmp_path, monkeypatch, "def f(x: lw.Secret):\n    return x * 2\n")
    assert "give --example to compile" in text


UNSPOKEN = {
    name
    for function in (lw.compile, lw.from_onnx, lw.from_sklearn, lw.from_torch, lw.quote)
    for name in list(inspect.signature(function).parameters)[1:]
    if name not in SPOKEN and name not in ("gap", "method", "options")  # which others have too
}


def messages_with(names):
    """Texts of errors and warnings below the command line that name one of these keywords, values as X."""
    wanted = re.compile(rf"(?<![\w.\-])({'|'.join(names)})=(?!=)")
    for path in SOURCE.rglob("*.py"):
        if "commands" in path.parts or not wanted.search(text := path.read_text()):
            continue
        for node in ast.walk(ast.parse(text)):
            says = isinstance(node, ast.Call) and node.args and re.search(r"Error$|warn$", ast.unparse(node.func))
            if not says:
                continue
            parts = node.args[0].values if isinstance(node.args[0], ast.JoinedStr) else [node.args[0]]
            said = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
            is_of_its_value = re.search(rf"^([\w.]+: )?({'|'.join(names)})=", said)
            if wanted.search(said) and not is_of_its_value:
                yield path.name, said


def test_options_that_no_command_takes_are_said_to_be_of_python():
    """But for messages on the value that was given: it was given in Python."""
    found = dict.fromkeys(messages_with(UNSPOKEN))
    assert len(found) > 5 and "feed" in UNSPOKEN and "spare_levels" in SPOKEN
    for file, said in found:
        told = in_words(said)
        assert re.search(r"in Python|lw\.\w+\(|from_\w+\(|\(path, ", told), (file, told)
