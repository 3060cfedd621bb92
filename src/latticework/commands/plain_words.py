"""Command lines that are read with the standard library alone, from the table of commands.

These are the lines that a command can carry out. Help, completion, and whatever is wrong go to the parser of
`command_parser.py`, which says what a user has to know, and takes as long to load as a short command runs. Here no
line is refused, so there is one place that says what is wrong; a test holds that both read the same values from the
same lines. `argparse` would not do: it takes other numbers for options, and arguments only in one piece.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from latticework.commands.command_output import CommandOutput, Outcome, carry_out
from latticework.commands.command_table import COMMANDS, Command, CommandOption

PROGRAM = "latticework"
COMPLETION = f"_{PROGRAM.upper()}_COMPLETE"  # the variable by which a shell asks for completions
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_REAL = re.compile(r"[-+]?([0-9]{1,300}\.?|[0-9]{0,300}\.[0-9]{1,300})([eE][-+]?[0-9]{1,2})?")


class _ElsewhereError(Exception):
    """Words that are not read here."""


def run_plain_words(words: Sequence[str]) -> int | None:
    """Carry out a command line, without the name of the program: the exit status; None if it is not read here."""
    if not words or words[0] not in COMMANDS or COMPLETION in os.environ:
        return None
    given = read_plain_words(COMMANDS[words[0]], words[1:])
    return None if given is None else run_command(words[0], given)


def run_command(name: str, given: dict[str, Any]) -> int:
    """Load a command by its name, and carry it out with what it is given: the exit status."""

    def work(talk: CommandOutput, **words: Any) -> Outcome:
        command: Outcome = getattr(import_module(f"latticework.commands.{name}"), name)(talk, **words)
        return command

    return carry_out(name, work, COMMANDS[name], given)


def read_plain_words(command: Command, words: Iterable[str]) -> dict[str, Any] | None:
    """The values of a command's arguments and options, by name; None if the words are not all read here."""
    if command.passes_on:
        return None
    try:
        said, arguments = _sort_words(command, deque(words))
        for option in command.all_options:
            if option.is_argument:
                count = len(arguments) if option.is_several else 1
                said[option.name] = [arguments.popleft() for _ in range(count)]
        found = {option.name: _read_value(option, said.get(option.name, [])) for option in command.all_options}
    except (_ElsewhereError, IndexError, ValueError, KeyError):
        return None
    return None if arguments else found


def _sort_words(command: Command, words: deque[str]) -> tuple[dict[str, list[Any]], deque[str]]:
    """Sort words: what is said for each option, texts or what a flag means, and the arguments.

    raises  KeyError for an option that there is not; IndexError if a value is missing
    """
    flags = dict(pair for option in command.all_options if not option.is_argument for pair in _flags_of(option))
    said: dict[str, list[Any]] = {}
    arguments: deque[str] = deque()
    while words:
        word = words.popleft()
        if word == "--":
            return said, arguments + words
        if word == "-" or not word.startswith("-"):
            arguments.append(word)
        elif word.startswith("--"):
            flag, equals, text = word.partition("=")
            option, meaning = flags[flag]
            if equals and meaning is not None:
                raise _ElsewhereError
            value = meaning if meaning is not None else text if equals else words.popleft()
            said.setdefault(option.name, []).append(value)
        else:
            for i, letter in enumerate(word[1:], 2):
                option, meaning = flags[f"-{letter}"]
                value = meaning if meaning is not None else word[i:] or words.popleft()
                said.setdefault(option.name, []).append(value)
                if meaning is None:
                    break
    return said, arguments


def _flags_of(option: CommandOption) -> Iterable[tuple[str, tuple[CommandOption, bool | None]]]:
    """The flags of an option, each with what it means by itself; None if a value follows it."""
    meaning = True if option.type is bool else None
    for flag in option.flags or (option.flag,):
        yield flag, (option, meaning)
    if option.type is bool and not option.is_flag_only and not option.flags:
        yield f"--no-{option.flag.removeprefix('--')}", (option, False)


def _read_value(option: CommandOption, said: list[Any]) -> Any:
    """The value of an option or argument: what is said last, or all if it is several; else its default."""
    if option.is_several:
        if option.is_argument and not said:
            raise _ElsewhereError
        return [_read_text(option, text) for text in said] if said else None
    if said:
        return said[-1] if option.type is bool else _read_text(option, said[-1])
    if option.is_required:
        raise _ElsewhereError
    return float(option.default) if option.type is float and option.default is not None else option.default


def _read_text(option: CommandOption, text: str) -> Any:
    """A value as the command gets it; ValueError or _ElsewhereError for what is not read here."""
    if option.read is not None:
        return option.read(text)
    if option.choices and text not in option.choices:
        raise _ElsewhereError
    if option.type is Path:
        if os.path.exists(text) and not os.access(text, os.R_OK):
            raise _ElsewhereError
        return Path(text)
    if option.type in (int, float):
        if not (_WHOLE if option.type is int else _REAL).fullmatch(text):
            raise _ElsewhereError
        number = option.type(text)
        if option.least is not None and number < option.least:
            raise _ElsewhereError
        return number
    return text
