"""What the commands share: where messages go, how faults end a command, options that several take."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec

import typer
from rich.console import Console

from latticework import _core
from latticework.errors import UserError
from latticework.escaping import plain_text

out, err = Console(), Console(stderr=True)
P = ParamSpec("P")

Target = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]
Threads = Annotated[int, typer.Option(help="Threads; 0: one per core.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Accept a client file whose parameters are insecure.")]


def say(text: str, console: Console = out) -> None:
    """One line as it stands: no markup, no colours, nothing that a terminal obeys."""
    console.print(plain_text(text), markup=False, emoji=False, highlight=False, soft_wrap=True)


def prepare(output: Path) -> None:
    """OSError, before any work, for an output that is not a file; what ended commands left beside it is removed."""
    _core.require_replaceable(output)
    tidy(output.parent)


def tidy(folder: Path) -> None:
    """Remove what ended commands left in a folder that is written to, and name it."""
    for name in _core.remove_leftovers(folder):
        say(f"removed {folder / name}, which a command that was ended had been writing", err)


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
