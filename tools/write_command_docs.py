"""Write what commands, options and exit statuses there are into docs/command-line.md.

    python tools/write_command_docs.py [--check]

Between `<!-- options of NAME -->` and `<!-- end -->` the page holds what the command itself says with --help. With
--check nothing is written; exit status 1 if the page says something else.
"""

import argparse
import re
import sys
from pathlib import Path

from latticework.commands.command_table import COMMANDS, CommandOption
from latticework.commands.talk import EXIT_STATUS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "command-line.md"
PART = re.compile(r"(<!-- (exit statuses|commands|options of (\w+)) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def cell(text: object) -> str:
    """Text of a cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", r"\|")


def row(option: CommandOption) -> str:
    """One argument or option of a command."""
    if option.is_argument:
        name = option.name.upper() + " ..." * option.is_several
        return f"| `{name}` | | {cell(option.help)} |"
    names = ", ".join(f"`{name}`" for name in sorted(option.flags or (option.flag,), key=len))
    default = "" if option.default is None or option.default is False else f"`{cell(option.default)}`"
    return f"| {names} | {default} | {cell(option.help)} |"


def options_of(name: str) -> str:
    """What a command is given."""
    command = COMMANDS[name]
    kinds = sorted(command.all_options, key=lambda option: not option.is_argument)  # arguments come first
    return "\n".join([command.help, "", "| given | default | |", "|---|---|---|", *map(row, kinds)])


def commands() -> str:
    """The overview."""
    return "\n".join(["| command | |", "|---|---|", *(f"| `{n}` | {cell(c.help)} |" for n, c in COMMANDS.items())])


def exit_statuses() -> str:
    """What the command line ends with."""
    lines = (f"| {status} | {cell(meaning)} |" for status, meaning in EXIT_STATUS.items())
    return "\n".join(["| status | |", "|---|---|", *lines])


def written(page: str) -> str:
    """A page with its generated parts as they should be."""

    def part(found: re.Match[str]) -> str:
        name = found[3]
        text = options_of(name) if name else commands() if found[2] == "commands" else exit_statuses()
        return f"{found[1]}\n{text}\n\n{found[5]}"

    return PART.sub(part, page)


def main() -> int:
    """Write or compare the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    page = PAGE.read_text()
    new = written(page)
    if parser.parse_args().check:
        print(f"{PAGE.name} is {'up to date' if new == page else 'out of date: python tools/write_command_docs.py'}")
        return int(new != page)
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
