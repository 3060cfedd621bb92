"""The commands and their options, as data: parser, help, documentation and names in messages are made of these tables.

Options of `compile` and `accuracy` that are keywords of `lw.compile` come from the records of those. Nothing here is
slow to load: the parser reads it before it knows which command is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from latticework.compiler.options.option import CommandForm
from latticework.compiler.options.option_records import FIELDS, OPTIONS
from latticework.lazy_dataclass import dataclass

TYPES = {"str": str, "int": int, "float": float, "bool": bool}  # of values on the command line, by those in Python


@dataclass(frozen=True)
class CommandOption:
    """One option or argument of a command.

    name         of the parameter of the command's function that gets it
    help         what it is, as --help and the documentation say
    type         of its value; bool for a flag, which has no value
    default      None: nothing is given
    flags        on the command line; "--" and the name, if none are said
    is_flag_only  a flag without a word for False
    is_argument  it stands by itself, without a flag; it has to be given, and if `is_several` once or more
    is_several   it may be given more than once;  is_required  it has to be given
    choices      the only values;  least  the smallest one
    read         makes a value of the text, or raises ValueError;  metavar  how help shows the text
    python       what functions of Python call it in their messages; "" for what only commands have
    group        parameter of the function that gets it with others, as a dictionary by `keyword`; "": its own
    keyword      in that dictionary; `python`, or else the name, if it is not said
    """

    name: str
    help: str
    type: type = str
    default: Any = None
    flags: tuple[str, ...] = ()
    is_flag_only: bool = False
    is_argument: bool = False
    is_several: bool = False
    is_required: bool = False
    choices: tuple[str, ...] = ()
    least: int | None = None
    read: Callable[[str], Any] | None = None
    metavar: str = ""
    python: str = ""
    group: str = ""
    keyword: str = ""

    @property
    def flag(self) -> str:
        """The option's flag, as messages name it."""
        return self.flags[0] if self.flags else "--" + self.name.replace("_", "-")

    @property
    def key(self) -> str:
        """Its name in the dictionary of its group."""
        return self.keyword or self.python or self.name


@dataclass(frozen=True)
class Command:
    """One command: the function of its name, in the module of its name.

    help         what it does, as --help and the documentation say
    options      without those that all commands have
    passes_on    all words go to the function as they are
    """

    help: str
    options: tuple[CommandOption, ...] = ()
    passes_on: bool = False

    @property
    def all_options(self) -> tuple[CommandOption, ...]:
        """Its own options and those of every command."""
        return () if self.passes_on else (*self.options, *EVERYWHERE)

    def group_options(self, words: Mapping[str, Any]) -> dict[str, Any]:
        """Keyword arguments of the command's function, from option values by name."""
        if self.passes_on:
            return dict(words)
        found: dict[str, Any] = {}
        for option in self.options:
            if option.group:
                found.setdefault(option.group, {})[option.key] = words[option.name]
            else:
                found[option.name] = words[option.name]
        return found


def read_degrees(text: str) -> int | list[int]:
    """One degree, or several between commas; ValueError for anything else."""
    numbers = text.split(",")
    if not all(number.strip().isdecimal() for number in numbers):
        raise ValueError(f"{text!r} is no whole number, nor several between commas")
    found = [int(number) for number in numbers]
    return found[0] if len(found) == 1 else found


def _flag(name: str, help: str, **facts: Any) -> CommandOption:
    return CommandOption(name, help, bool, False, is_flag_only=True, **facts)


def _file(name: str, help: str, **facts: Any) -> CommandOption:
    return CommandOption(name, help, Path, **facts)


def _output(help: str, default: str | None, **facts: Any) -> CommandOption:
    default_file = None if default is None else Path(default)
    return _file("output", help, default=default_file, flags=("--output", "-o"), **facts)


def list_compile_keywords(command: str) -> tuple[CommandOption, ...]:
    """The keywords of `lw.compile` that a command takes."""
    return tuple(
        _make_compile_option(name) for name, option in OPTIONS.items() if option.help and command in option.commands
    )


def _make_compile_option(name: str) -> CommandOption:
    """The option of commands for a keyword of `lw.compile`."""
    option, field = OPTIONS[name], FIELDS[name]
    kind = TYPES.get(str(field.type).partition(" | ")[0], str)
    facts: dict[str, Any] = {}
    if option.form in (CommandForm.PATH, CommandForm.ARRAYS, CommandForm.VALUES):
        kind = Path
    elif option.form in (CommandForm.NUMBER_OR_NAME, CommandForm.WHOLE_OR_NAME):
        kind = str
    elif option.form is CommandForm.WHOLES:
        facts = {"read": read_degrees, "metavar": "N[,N...]"}
    default = None if kind is Path else field.default
    return CommandOption(
        name,
        option.help,
        kind,
        default,
        is_flag_only=option.flag_only,
        python=name,
        group="keywords",
        **facts,
    )


# fmt: off
EVERYWHERE = (
    _flag("json", "Say everything as one JSON object."),
    _flag("verbose", "Say which steps there were and how long they took.", flags=("--verbose", "-v")),
)
RUN_OUTPUT = "outputs.lwct"  # where nothing else is said
FORCE = _flag("force", "Replace output files that exist; never a secret key.")
FORCE_WRITING = replace(FORCE, group="writing")
REPORT = _file("report", "Report to write: .html, .txt or .json.")
PROGRAM = CommandOption(
    "program",
    "FILE.py, or FILE.py:NAME if it holds several programs; FILE.mlir of HEIR; FILE.onnx, FILE.pt2 of PyTorch or "
    "FILE.skops of scikit-learn.",
    is_argument=True,
)
LOADING = (
    _flag("trust_file", "Read a .pt2 file, which can execute code.", group="loading", keyword="trust"),
    CommandOption(
        "shape", "Of an ONNX model: x=1,4 for an input, N=1 for a free dimension.", is_several=True, group="loading",
        python="shapes",
    ),
    CommandOption(
        "limit",
        "Of what a file of a model or of arrays may take: work=N, memory_bytes=N, depth=N or file_bytes=N, in the "
        "place of what is allowed of files that are not trusted.",
        is_several=True, group="loading", keyword="limits",
    ),
    CommandOption(
        "pools", "Of ONNX and PyTorch models: keep, or average for means in max-pools' place.", default="keep",
        python="pools", group="loading",
    ),
)
CLIENT = _file("client", "Client file.", is_argument=True)
CLIENT_KEYS = _file("keys", "Key folder or file; the folder `keys` if not given.", flags=("--keys", "-k"))
THREADS = CommandOption("threads", "Threads; 0: one per core.", int, 0, python="threads", group="opening")
OPENING = (
    THREADS,
    _flag("insecure", "Accept a client file whose parameters are insecure.", python="allow_insecure", group="opening"),
)

COMMANDS: dict[str, Command] = {
    "compile": Command(
        "Compile a program or a circuit to the server's plan and, beside it, the client file (no weights).",
        (
            PROGRAM,
            _output("Plan to write; the client file beside it ends in .lwclient.", "model.lwplan"),
            FORCE,
            *list_compile_keywords("compile"),
            *LOADING,
            REPORT,
            _file("dump", "Folder for the program at every stage as text, a file each.", group="stages"),
            _file(
                "ir", "Go on from a text of --dump, edited or not, of the same program and options.", group="stages",
            ),
            _flag("changes_results", "Other results are meant by the edit, of stage traced.", group="stages"),
        ),
    ),
    "accuracy": Command(
        "Say how accurate a program is on data, with polynomials, noise and encryption, and where it loses.",
        (
            PROGRAM,
            _file(
                "data", ".npy, .npz, .csv or .parquet with the rows to look at, apart from those of calibrate.",
                is_required=True, group="rows",
            ),
            _file(
                "labels", ".npy with a label for each row of the data, or a table of one column.", python="labels",
                group="rows",
            ),
            *list_compile_keywords("accuracy"),
            CommandOption(
                "encrypted", "Rows that a client and a server compute.", int, 8, python="encrypted", group="measuring",
            ),
            CommandOption(
                "simulated", "Rows with modelled noise, at most.", int, 1024, python="simulated", group="measuring",
            ),
            CommandOption("seed", "Of the modelled noise.", int, 0, python="seed", group="measuring"),
            *LOADING,
            REPORT,
            FORCE,
        ),
    ),
    "quote": Command(
        "Say in five seconds about what compiling would find: levels, time, memory, keys, and the dearest layers.",
        (PROGRAM, *list_compile_keywords("compile"), *LOADING),
    ),
    "inspect": Command(
        "Say what a model consists of, where each operator runs, and what cannot be computed; without data.",
        (PROGRAM, *LOADING),
    ),
    "keygen": Command(
        "Make a secret key and exactly the evaluation keys that the program needs.",
        (
            CLIENT,
            _output("Folder for the keys.", "keys"),
            _flag("add", "Make only what a folder's keys lack, for its secret key: added.lwkeys, to send."),
            FORCE,
            *OPENING,
        ),
    ),
    "addkeys": Command(
        "Add evaluation keys that a client made by `keygen --add` to those of the server.",
        (
            _file("plan", "Plan or client file that they are for.", is_argument=True),
            _file("added", "What the client sent: added.lwkeys.", is_argument=True),
            _file("keys", "evaluation.lwkeys, or its folder; else `keys`.", flags=("--keys", "-k")),
        ),
    ),
    "prepare": Command(
        "Encode a plan's constants ahead of runs, to a file that servers of one machine share; never needed.",
        (
            _file("plan", "Plan file.", is_argument=True),
            _output("File to write.", "model.lwprepared"),
            FORCE,
            replace(THREADS, group=""),
        ),
    ),
    "encrypt": Command(
        "Encrypt the inputs of one run, with the secret key or, as anybody can, with the public key.",
        (
            CLIENT,
            CommandOption(
                "inputs",
                "INPUT.npy, .csv or .parquet, or NAME=INPUT.npy, or NAME=3 for an integer; - for standard input.",
                is_argument=True, is_several=True,
            ),
            _flag("part", "Only some of the inputs, by name; `run` takes files with the others too."),
            _flag(
                "clip", "Bring what is outside a range to its end; results of such rows are marked.", group="outside",
            ),
            _flag("keep", "Leave out rows in which something is outside its range.", group="outside"),
            _file("record", "Where to write which rows --clip changed, too; for whoever decrypts.", group="outside"),
            CLIENT_KEYS,
            _output("File to write; - for standard output.", "inputs.lwct", group="writing"),
            FORCE_WRITING,
            *OPENING,
        ),
    ),
    "run": Command(
        "Evaluate a program on encrypted inputs. Needs no secret key, and refuses one.",
        (
            _file("plan", "Plan file.", is_argument=True),
            CommandOption(
                "inputs",
                "Encrypted inputs: one file, or several that hold parts, - for standard input; NAME=60 for an integer.",
                is_argument=True, is_several=True,
            ),
            _file(
                "keys", "evaluation.lwkeys, or its folder without a secret key; else `keys`.", flags=("--keys", "-k"),
            ),
            _output("File to write; - for standard output.", RUN_OUTPUT, group="writing"),
            FORCE_WRITING,
            CommandOption(
                "memory", "Budget for all that the server holds; keys that do not fit stay in their file.",
                python="memory", group="serving",
            ),
            CommandOption(
                "key_memory",
                "Bound for keys, which are then read from their file when needed (a single run has a small one); all: "
                "they are read first.",
                python="key_memory", group="serving",
            ),
            CommandOption(
                "key_readers", "Threads that read keys of a budget ahead; 0: they are read when needed.", int, 1,
                python="key_readers", group="serving",
            ),
            CommandOption(
                "runs", "That the budget has room for at the same time, with --each.", int, 1, python="runs",
                group="serving",
            ),
            _file(
                "checkpoint", "File for what was computed so far; the same command goes on from it.",
                python="checkpoint", group="saving",
            ),
            _file(
                "each", "Folder for outputs: every file is all inputs of a run, and its result gets its name there.",
                group="writing",
            ),
            CommandOption(
                "every", "Turns of a loop from one checkpoint to the next.", int, 1, python="every", group="saving",
            ),
            CommandOption(
                "device", "cpu; or GPUs: cuda, cuda:1, cuda:0,1, sycl:gpu, sim.", default="cpu", python="device",
                group="serving",
            ),
            _file(
                "prepared", "File of `prepare`: encoded constants, in memory once for all servers of a user.",
                python="prepared", group="serving",
            ),
            _file("profile", "File for what each kernel took: .json for a trace, .csv for a table; printed as well."),
            replace(THREADS, group="serving"),
        ),
    ),
    "decrypt": Command(
        "Decrypt the outputs of a run, for the key owner: the low bits of a result reveal the key if published.",
        (
            CLIENT,
            _file("outputs", "Encrypted outputs; - for standard input.", is_argument=True),
            _file("record", "Which rows were clipped, where `encrypt --record` wrote it."),
            CLIENT_KEYS,
            _output(
                ".npy (or .npz for several outputs), - for standard output; else printed.", None, group="writing",
            ),
            CommandOption(
                "allow_refusals",
                "BFV: results of this key that may be refused before it decrypts no more; 4 if not given.", int,
                python="allow_refusals", group="refusals",
            ),
            _file(
                "ledger", "BFV: where refused results are counted; beside the secret key if not given.",
                python="ledger", group="refusals",
            ),
            FORCE_WRITING,
            *OPENING,
        ),
    ),
    "explain": Command(
        "Say what a file is and what is in it; for a plan, the whole report.",
        (
            _file("file", "Any file of latticework; - for standard input.", is_argument=True),
            _file("report", "Write a plan's report: .html, .txt or .json.", flags=("--report", "--html")),
            CommandOption(
                "memory", "Of a plan: what a server holds with so much memory, and what a run takes.", python="memory",
            ),
            CommandOption("runs", "With --memory: runs at the same time.", int, 1, python="runs"),
            FORCE,
        ),
    ),
    "doctor": Command(
        "Say what is installed, whether it computes rightly, and whether the files in a folder belong together.",
        (_file("folder", "Folder with plans, keys, ciphertexts; in it and in folders of it.", default=None),),
    ),
    "new": Command(
        "Write a small project that runs: a model, its client and its server, to begin your own with.",
        (
            CommandOption("kind", "What it computes.", is_argument=True, choices=("sklearn", "torch", "circuit")),
            _file("folder", "Folder to make.", is_argument=True),
        ),
    ),
    "export": Command(
        "Write a plan's program for another library: Python for OpenFHE, or text for HEIR.",
        (
            _file("plan", "Plan, as `compile` wrote it.", is_argument=True),
            CommandOption(
                "to", "Which library.", default="openfhe", choices=("openfhe", "heir"), python="target",
            ),
            _file("folder", "Folder to write to, made if it is not there.", is_argument=True),
            FORCE,
        ),
    ),
    "keys": Command(
        "Place loads of rotation keys in a program of HEIR, for a budget of memory.",
        (
            CommandOption(
                "program", "FILE.mlir of HEIR, or FILE.mlir:NAME if it holds several programs.", is_argument=True,
            ),
            _output("Text to write.", "keyed.mlir"),
            FORCE,
            CommandOption(
                "budget", "Rotation keys in memory at most: how many, or 4GB with --key-size; all if left out.",
                python="budget", group="keys",
            ),
            CommandOption("key_size", "Of one rotation key, such as 130MB.", python="key_size", group="keys"),
            CommandOption(
                "ahead", "Uses of keys before its own at which a key is asked for; 0: only when it is needed.", int, 2,
                python="ahead", group="keys",
            ),
            CommandOption(
                "ring_degree", "N, for bootstraps; what the text says if not given.", int, python="ring_degree",
            ),
            CommandOption(
                "boot_levels", "Level budgets of bootstraps, such as 3,3; what the text says if not given.",
                python="boot_levels",
            ),
        ),
    ),
    "measure": Command(
        "Measure what operations cost on this machine, for times in reports and `compile --cost-table`.",
        (
            _output("File to write; in the user's cache folder if not given.", None),
            FORCE,
            _flag("quick", "Seconds instead of minutes: fewer sizes, rougher."),
            CommandOption("backend", "Which kernels; the fastest if not given.", python="backend"),
            CommandOption("sets", "Bootstrapping sets to measure, by comma; small ones if not given. A14 takes 12 GB."),
            CommandOption(
                "threads", "On how many threads; on one and on all cores if not given.", int, least=1, python="threads",
            ),
        ),
    ),
    "bench": Command(
        "Run a benchmark of the source tree: `bench SUITE`, `bench SUITE --help`; `bench` alone lists suites.",
        passes_on=True,
    ),
    "version": Command("Print the version."),
    "completion": Command(
        "Print what lets a shell complete commands and options; its first line says where to put it.",
        (
            CommandOption("shell", "bash, zsh or fish.", is_argument=True, choices=("bash", "zsh", "fish")),
        ),
    ),
}


def list_spoken_options() -> Mapping[str, CommandOption]:
    """The options that functions of Python have a name for, by that name."""
    return {o.python: o for command in COMMANDS.values() for o in command.options if o.python}
