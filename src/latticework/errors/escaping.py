"""Text that is not ours, such as names in files and lines of programs, made safe to show.

Whoever wrote a file chose the names in it, checksums or not. Everything that shows text of a file, a program or a user
passes it through one of these two functions: reprs, reports, `explain`, messages of errors, the command line.
"""

from __future__ import annotations

from html import escape


def plain_text(text: object) -> str:
    r"""One line for a terminal, a log or a message: what is not printable is shown as Python writes it, as in \x1b.

    That is control characters, line breaks among them, marks that turn the direction of text, and what is not Unicode.
    """
    line = str(text)
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def html_text(text: object) -> str:
    """The same for the content of an HTML element, and for an attribute in quotes."""
    return escape(plain_text(text))
