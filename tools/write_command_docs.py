"""Write what commands, options, exit statuses and fields of JSON there are into pages of docs/.

    python tools/write_command_docs.py [--check]

Between `<!-- options of NAME -->` and `<!-- end -->` command-line.md holds what the command itself says with --help,
and with --json. With --check nothing is written; exit status 1 if a page says something else.
"""

import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from latticework.commands.command_output import EXIT_STATUS
from latticework.commands.command_table import COMMANDS, CommandOption
from latticework.commands.json_fields import EVERY, FAULT, FIELDS, Fields
from latticework.report import as_json

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = (DOCS / "command-line.md", DOCS / "operating.md")
PART = re.compile(
    r"(<!-- (exit statuses|commands|fields|fields of reports|options of (\w+)) -->\n)(.*?)(<!-- end -->)", re.DOTALL
)


def cell(text: object) -> str:
    """Text of a cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", r"\|")


def entry(option: CommandOption) -> str:
    """One argument or option of a command, with its default."""
    if option.is_argument:
        return f"- `{option.name.upper()}{' ...' * option.is_several}`: {option.help}"
    names = ", ".join(f"`{name}`" for name in sorted(option.flags or (option.flag,), key=len))
    default = "" if option.default is None or option.default is False else f" (`{option.default}`)"
    return f"- {names}{default}: {option.help}"


def options_in_order(name: str) -> list[CommandOption]:
    """The arguments of a command, then its options."""
    return sorted(COMMANDS[name].all_options, key=lambda option: not option.is_argument)


@cache
def first_commands() -> dict[str, str]:
    """The first command that has an entry, by the entry: later commands refer to it."""
    first: dict[str, str] = {}
    for name in COMMANDS:
        if name != "bench":  # has the options of its suites
            for option in options_in_order(name):
                first.setdefault(entry(option), name)
    return first


def options_of(name: str) -> str:
    """The options of a command: those of its own in full, those that it shares with earlier commands by name."""
    shared: dict[str, list[str]] = {}
    lines = []
    for option in options_in_order(name):
        text = entry(option)
        if (first := first_commands()[text]) == name:
            lines.append(text)
        else:
            shared.setdefault(first, []).append(re.findall("`.*?`", text)[0])
    return "\n".join([*lines, *(f"- {', '.join(names)}: as of `{first}`." for first, names in shared.items())])


def list_fields(fields: Fields) -> str:
    """Fields of JSON as a list, those of an object below it."""
    lines = []
    for path, text in fields.items():
        *objects, name = re.split(r"(?:\[\]|\{\})?\.", path)
        lines.append(f"{'  ' * len(objects)}- `{name}`: {text}")
    return "\n".join(lines)


def report_fields() -> str:
    """The fields of a report, as the module that writes them says."""
    _, text = (as_json.__doc__ or "").split("\n\n  format ", 1)
    return f"```text\n  format {text.rstrip()}\n```"


def commands() -> str:
    """The overview, with links to the options of each."""
    lines = (f"| [`{name}`](#{name}) | {cell(command.help)} |" for name, command in COMMANDS.items())
    return "\n".join(["| command | |", "|---|---|", *lines])


def exit_statuses() -> str:
    """What the command line ends with."""
    lines = (f"| {status} | {cell(meaning)} |" for status, meaning in EXIT_STATUS.items())
    return "\n".join(["| status | |", "|---|---|", *lines])


def written(page: str) -> str:
    """A page with its generated parts as they should be."""

    parts: dict[str, Callable[[], str]] = {
        "commands": commands,
        "exit statuses": exit_statuses,
        "fields of reports": report_fields,
        "fields": lambda: list_fields(EVERY | FAULT),
    }

    def part(found: re.Match[str]) -> str:
        name = found[3]
        text = parts[found[2]]() if name is None else options_of(name)
        if name in FIELDS:
            text += f"\n\nJSON:\n\n{list_fields(FIELDS[name])}"
        return f"{found[1]}\n{text}\n\n{found[5]}"

    return PART.sub(part, page)


if __name__ == "__main__":
    from generated_files import write_or_check

    sys.exit(write_or_check(__doc__, dict.fromkeys(PAGES, written)))
