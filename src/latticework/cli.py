"""The command line: compile, keygen, encrypt, run, decrypt, explain, calibrate, bench; `main` is its entry point."""

from __future__ import annotations

import importlib.util
import io
import sys
import time
import traceback
import zlib
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec
from zipfile import BadZipFile

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from latticework import Circuit, Program, __version__, _core
from latticework.bench import suites
from latticework.calibrate import FULL, QUICK, default_place, write_table
from latticework.calibrate import calibrate as measure_costs
from latticework.compile import compile as compile_program
from latticework.errors import DtypeError, FormatError, TraceError, UserError
from latticework.escaping import plain_text
from latticework.model import Model
from latticework.progress import ProgressBar
from latticework.report import explain_file
from latticework.runtime import Client, OwnerValue, Server
from latticework.runtime.keys import PUBLIC_FILE, refuse_existing_key
from latticework.runtime.server import DEFAULT_MEMORY

app = typer.Typer(
    help="Compile NumPy-like programs to run on encrypted data, and run them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
out, err = Console(), Console(stderr=True)
P = ParamSpec("P")

Target = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]
Threads = Annotated[int, typer.Option(help="Threads; 0: one per core.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Accept a client file whose parameters are insecure.")]


def say(text: str, console: Console = out) -> None:
    """One line as it stands: no markup, no colours, nothing that a terminal obeys."""
    console.print(plain_text(text), markup=False, emoji=False, highlight=False, soft_wrap=True)


def reported(command: Callable[P, None]) -> Callable[P, None]:
    """Users' faults end a command with one message and status 1, Ctrl-C with status 130; no traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (UserError, OSError) as error:
            err.print(f"[bold red]{type(error).__name__}[/]: ", end="")
            say(str(error), err)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            err.print("interrupted; nothing was written")
            raise typer.Exit(130) from None

    return run


@app.command()
@reported
def compile(
    program: Annotated[str, typer.Argument(help="FILE.py, or FILE.py:NAME if it holds several programs.")],
    output: Target = Path("model.lwplan"),
    weights: Annotated[Path | None, typer.Option(help=".npz with one array per weight, by parameter name.")] = None,
    calibrate: Annotated[Path | None, typer.Option(help=".npy or .npz with data like the inputs.")] = None,
    precision_bits: Annotated[float, typer.Option(help="Bits of every output, relative to the largest.")] = 12,
    ring_degree: Annotated[int | None, typer.Option(help="N; the smallest that fits if not given.")] = None,
    security_bits: Annotated[int, typer.Option(help="128, 192 or 256.")] = 128,
    insecure: Annotated[bool, typer.Option(help="Allow a ring degree below the security asked for.")] = False,
    cost_table: Annotated[
        Path | None, typer.Option(help="Table of `calibrate`; the one that comes with the package if not given.")
    ] = None,
    network: Annotated[str, typer.Option(help="lan, wan or bits per second: what sending costs.")] = "lan",
    scheme: Annotated[str, typer.Option(help="ckks, or bfv for circuits on exact integers.")] = "ckks",
    plain_bits: Annotated[int, typer.Option(help="Of the plaintext modulus of BFV.")] = 20,
    algorithm: Annotated[str, typer.Option(help="Of circuits: search, annealing, scalar or tensors.")] = "search",
    effort: Annotated[str, typer.Option(help="Of the search for lanes: fast, normal or max.")] = "normal",
    seed: Annotated[int, typer.Option(help="Of the search for lanes.")] = 0,
    report: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None,
) -> None:
    """Compile a program or a circuit: writes the server's plan, and beside it the client file (no weights in it)."""
    found = load_program(program)
    with ProgressBar("compiling") as bar:
        model = compile_program(
            found,
            weights=read_arrays(weights) if weights else {},
            calibrate=read_values(calibrate) if calibrate else None,
            precision_bits=precision_bits,
            ring_degree=ring_degree,
            security_bits=security_bits,
            insecure=insecure,
            cost_table=cost_table,
            network=read_network(network),
            on_event=bar,
            scheme=scheme,
            plain_bits=plain_bits,
            algorithm=algorithm,
            effort=effort,
            seed=seed,
        )
    client_file = output.with_suffix(".lwclient")
    model.save(output)
    model.client().save(client_file)
    say(str(model))
    say(f"wrote {output} (for the server) and {client_file} (for the client)")
    if report is not None:
        model.report().save(report)
        say(f"wrote {report}")


@app.command()
@reported
def keygen(
    client: Annotated[Path, typer.Argument(help="Client file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the keys.")] = Path("keys"),
    threads: Threads = 0,
    insecure: Insecure = False,
) -> None:
    """Make a secret key and exactly the evaluation keys that the program needs."""
    refuse_existing_key(output)
    owner = Client.load(client, threads=threads, allow_insecure=insecure)
    with ProgressBar("making keys") as bar:
        keys = owner.keygen(on_event=bar)
    keys.save(output)
    say(f"wrote {output}/: secret.lwkey stays with you; give evaluation.lwkeys to the server")


@app.command()
@reported
def encrypt(
    client: Annotated[Path, typer.Argument(help="Client file.")],
    inputs: Annotated[list[str], typer.Argument(help="INPUT.npy, or NAME=INPUT.npy, or NAME=3 for an integer.")],
    keys: Annotated[Path, typer.Option("--keys", "-k", help="Key folder, secret.lwkey or public.lwkey.")] = Path(
        "keys"
    ),
    output: Target = Path("inputs.lwct"),
    threads: Threads = 0,
    insecure: Insecure = False,
) -> None:
    """Encrypt the inputs of one run."""
    owner = Client.load(client, threads=threads, allow_insecure=insecure)
    positional, named = read_inputs(owner, inputs)
    load_encryption_key(owner, keys)
    encrypted = owner.encrypt(*positional, **named)
    encrypted.save(output)
    say(f"wrote {output} ({output.stat().st_size / 1e6:.2f} MB)")


@app.command()
@reported
def run(
    plan: Annotated[Path, typer.Argument(help="Plan file.")],
    inputs: Annotated[Path, typer.Argument(help="Encrypted inputs.")],
    keys: Annotated[Path, typer.Option("--keys", "-k", help="evaluation.lwkeys, or its folder.")] = Path("keys"),
    output: Target = Path("outputs.lwct"),
    memory: Annotated[str, typer.Option(help="Budget for encoded weights.")] = DEFAULT_MEMORY,
    key_memory: Annotated[
        str | None, typer.Option(help="Budget for keys, read from their file when needed; else all are in memory.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu")] = "cpu",
    threads: Threads = 0,
) -> None:
    """Evaluate a program on encrypted inputs. Needs no secret key, and refuses one."""
    server = Server.load(plan, keys, memory=memory, key_memory=key_memory, device=device, threads=threads)
    encrypted = server.load_encrypted(inputs)
    started = time.perf_counter()
    with ProgressBar("evaluating") as bar:
        result = server(encrypted, on_event=bar)
    seconds = time.perf_counter() - started
    result.save(output)
    say(f"wrote {output} ({output.stat().st_size / 1e6:.2f} MB) after {seconds:.2f} s")


@app.command()
@reported
def decrypt(
    client: Annotated[Path, typer.Argument(help="Client file.")],
    outputs: Annotated[Path, typer.Argument(help="Encrypted outputs.")],
    keys: Annotated[Path, typer.Option("--keys", "-k", help="Key folder, or secret.lwkey.")] = Path("keys"),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=".npy (or .npz for several outputs); else printed.")
    ] = None,
    threads: Threads = 0,
    insecure: Insecure = False,
) -> None:
    """Decrypt the outputs of a run, for the key owner: the low bits of a result reveal the key if published."""
    owner = Client.load(client, threads=threads, allow_insecure=insecure)
    owner.load_keys(keys)
    values = owner.decrypt(owner.load_encrypted(outputs))
    arrays = named_arrays(values)
    if output is None:
        for name, value in arrays.items():
            say(f"{name} =")
            print(np.array2string(value, precision=6, suppress_small=True))
        return
    write_arrays(output, arrays)
    say(f"wrote {output}, readable by you only; do not publish it")


@app.command()
@reported
def explain(
    file: Annotated[Path, typer.Argument(help="Any file of latticework.")],
    html: Annotated[Path | None, typer.Option(help="Write a plan's report as HTML.")] = None,
) -> None:
    """Say what a file is and what is in it; for a plan, the whole report."""
    print(explain_file(file))
    if html is not None:
        Model.load(file).report().save(html)
        say(f"wrote {html}")


@app.command()
@reported
def calibrate(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; in the user's cache folder if not given.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Seconds instead of minutes: fewer sizes, rougher.")] = False,
    backend: Annotated[str | None, typer.Option(help="Which kernels; the fastest if not given.")] = None,
) -> None:
    """Measure what operations cost on this machine, for `compile --cost-table`."""
    path = output or default_place()
    with Progress(
        TextColumn("calibrating"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.description}"), console=err, transient=True,
    ) as bar:  # fmt: skip
        task = bar.add_task("", total=None)

        def show(done: int, steps: int, what: str) -> None:
            bar.update(task, description=what, completed=done, total=steps)

        command = "latticework calibrate" + " --quick" * quick
        table = measure_costs(QUICK if quick else FULL, backend=backend, command=command, on_step=show)
    write_table(table, path)
    say(f"wrote {path}; use it with: latticework compile --cost-table {path}")


@app.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
    add_help_option=False,
)
@reported
def bench(context: typer.Context) -> None:
    """Run a benchmark from the source tree: `bench SUITE`, `bench SUITE --help`; `bench` alone lists the suites."""
    found = suites()
    name = context.args[0] if context.args else ""
    if name in ("", "--help"):
        say(f"latticework bench SUITE [options]; suites: {', '.join(found.SUITES)}")
        return
    if name not in found.SUITES:
        raise UserError(f"bench: there is no suite {name!r}; choose one of {', '.join(found.SUITES)}")
    found.suite(name)(context.args[1:], prog_name=f"latticework bench {name}")


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


def read_network(text: str) -> str | float:
    """A number where the text is one, else the text, which compiling then refuses or knows."""
    try:
        return float(text)
    except ValueError:
        return text


def load_program(argument: str) -> Program | Circuit:
    """The program or circuit of FILE.py[:NAME].

    raises  TraceError if there is none of that name, or several and no name, or if the file cannot be executed
    """
    file, _, name = argument.partition(":")
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise TraceError(f"{path} is not a Python file; name it something.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except UserError as error:
        raise type(error)(error.message, at=error.at or _place(str(spec.origin), error)) from None
    except (Exception, SystemExit) as error:
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise TraceError(
            f"executing the file raised {type(error).__name__}: {what}; mend it until `python {path}` runs",
            at=_place(str(spec.origin), error),
        ) from None
    finally:
        sys.path.pop(0)
    programs = {k: v for k, v in vars(module).items() if isinstance(v, Program | Circuit)}
    if name and name in programs:
        return programs[name]
    if not name and len(programs) == 1:
        return next(iter(programs.values()))
    listed = ", ".join(programs) or "none"
    raise TraceError(
        f"{path} has these programs: {listed}; name one as {path}:NAME (decorated with @lw.program or @lw.circuit)"
    )


def _place(file: str, error: BaseException) -> str:
    """The line of a user's file that an exception comes from, as file:line."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{file}:{lines[-1]}" if lines else file


def read_arrays(path: Path) -> Any:
    """An array from .npy, a dictionary of arrays from .npz."""
    try:
        with path.open("rb") as file:  # NumPy does not close a file that it cannot read
            loaded = np.load(file, allow_pickle=False)
            return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, BadZipFile, zlib.error):
        raise FormatError(
            f"{path} is not a .npy or .npz file of numbers; save it with np.save({str(path.with_suffix('.npy'))!r}, "
            "array), or several arrays by name with np.savez"
        ) from None


def read_values(path: Path) -> Any:
    """What `read_arrays` reads, single integers as Python's: files hold a run-time integer as an array of no axes."""
    read = read_arrays(path)
    return {name: _value(array) for name, array in read.items()} if isinstance(read, dict) else _value(read)


def _value(array: np.ndarray[Any, Any]) -> Any:
    return int(array) if array.ndim == 0 and array.dtype.kind in "iu" else array


def read_inputs(owner: Client, arguments: list[str]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named inputs from command-line words.

    raises  TraceError for several arrays as one input; FileNotFoundError naming the inputs there are
    """
    names = [i.name for i in owner.spec.arguments or owner.spec.inputs]
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for word in arguments:
        name, equals, value = word.partition("=")
        is_named = bool(equals) and name in names
        read = _input(value if is_named else word, names)
        if is_named and isinstance(read, dict):
            raise TraceError(
                f"{word}: {value} is an .npz with the arrays {', '.join(read)}, which name their inputs themselves; "
                f"give it as {value} alone, or one array as {name}=INPUT.npy"
            )
        if is_named:
            named[name] = read
        elif isinstance(read, dict):
            named.update(read)
        else:
            positional.append(read)
    return positional, named


def _input(word: str, names: list[str]) -> Any:
    if Path(word).is_file():
        return read_values(Path(word))
    try:
        return int(word)
    except ValueError:
        raise FileNotFoundError(
            f"{word!r} is neither a file nor a whole number; give INPUT.npy, NAME=INPUT.npy, or NAME=3 for a "
            f"run-time integer; the program has the inputs {', '.join(names)}"
        ) from None


def load_encryption_key(owner: Client, keys: Path) -> None:
    """The secret key of a folder, or the key a file holds."""
    if keys.name == PUBLIC_FILE:
        owner.load_public_key(keys)
    else:
        owner.load_keys(keys)


def named_arrays(values: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Decrypted values by output name."""
    if isinstance(values, OwnerValue):
        return {"result": values.reveal()}
    if isinstance(values, tuple):
        values = {f"result{i}": value for i, value in enumerate(values)}
    nested = {name: named_arrays(value) for name, value in values.items()}  # of circuits, whose results may be nested
    return {
        name if inner == "result" else f"{name}.{inner}": array
        for name, arrays in nested.items()
        for inner, array in arrays.items()
    }


def write_arrays(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """One array as .npy or several as .npz, atomically, readable by the owner only."""
    if path.suffix not in (".npy", ".npz"):
        raise DtypeError(f"{path}: name it .npy, or .npz for several outputs")
    if path.suffix == ".npy" and len(arrays) != 1:
        raise DtypeError(f"{path}: {len(arrays)} outputs ({', '.join(arrays)}) do not fit one .npy; name it .npz")
    buffer = io.BytesIO()
    if path.suffix == ".npy":
        np.save(buffer, next(iter(arrays.values())))
    else:
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
    _core.write_file_atomic(str(path), buffer.getvalue(), 0o600)


def main() -> None:
    """Entry point."""
    app()
