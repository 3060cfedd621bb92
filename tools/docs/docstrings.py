"""The package's docstrings as reStructuredText.

Docstrings here are plain text: a summary, paragraphs, and rows of a name and what it means, set in columns:

    level   the highest if not given
    raises  RangeError for values that are not finite, or too large
            for the scale

Rows become definition lists. Words in backquotes become links where they name something public, and code elsewhere.
All else is escaped, so that a star in a formula is a star.
"""

import re

ROW = re.compile(r"(?P<name>\w\S*(?: \S+)*?) {2,}(?=\S)")
INLINE_ROW = re.compile(r";\s+(\w+)\s{2,}(?=\S)")  # another row on the same line: "...;  name  what it means"
CODE = re.compile(r"``(?P<double>.+?)``|`(?P<single>[^`]+)`")
PATH = re.compile(r"(?P<path>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?")
MARKUP = re.compile(r"[\\*|_<>]")
ERROR = re.compile(r"\b([A-Z]\w*(?:Error|Warning))\b")
LIST_MARK = re.compile(r"\(?\w{1,4}[.)](?:\s|$)|[-+*•](?:\s|$)")
OUTCOMES = ("raises", "returns")


def rst_lines(docstring: list[str]) -> list[str]:
    """The lines of a docstring, without their common indentation, as lines of reStructuredText."""
    lines = [line.rstrip() for line in docstring]
    blocks: list[list[str]] = []
    while lines:
        if not lines[0]:
            lines.pop(0)
        elif lines[0].startswith((" ", ">>>")):
            blocks.append([".. code-block:: python", "", *(f"   {line}".rstrip() for line in _take_code(lines))])
        elif ROW.match(lines[0]):
            blocks.append([line for name, meaning in _take_rows(lines) for line in _definition(name, meaning)])
        else:
            blocks.append([_paragraph(_take_text(lines))])
    return [line for block in blocks for line in (*block, "")]


def inline_markup(text: str) -> str:
    """Text with its backquoted words as links or code, and nothing else that means something to reStructuredText."""
    parts, start = [], 0
    for code in CODE.finditer(text):
        parts += [_escaped(text[start : code.start()]), _code(code["double"] or code["single"])]
        start = code.end()
    return "".join([*parts, _escaped(text[start:])]).removeprefix("\\ ").removesuffix("\\ ")


def _escaped(text: str) -> str:
    """Plain text; names of errors become links."""
    return ERROR.sub(r"\\ :py:obj:`\1 <latticework.errors.\1>`\\ ", MARKUP.sub(r"\\\g<0>", text))


def _code(words: str) -> str:
    """A link, if the words are the name of something public; Sphinx leaves it code if they are not."""
    if path := PATH.fullmatch(words):
        role = f":py:obj:`{words} <{path['path']}>`"
    else:
        role = f":code:`{words}`".replace("\\", "\\\\")
    return rf"\ {role}\ "


def _paragraph(text: str) -> str:
    """A paragraph, or an item of a list; never an item by accident, as "N." would be."""
    if text.startswith("- "):
        return f"- {inline_markup(text[2:])}"
    marked = inline_markup(text)
    return rf"\ {marked}" if LIST_MARK.match(marked) else marked


def _take_text(lines: list[str]) -> str:
    """A paragraph from the front: up to a blank line, an item of a list or a row."""
    taken = [lines.pop(0)]
    while lines and lines[0] and not lines[0].startswith("- ") and not ROW.match(lines[0]):
        taken.append(lines.pop(0).strip())
    return " ".join(taken)


def _take_code(lines: list[str]) -> list[str]:
    """Indented lines from the front, or a session with prompts up to the next blank line."""
    is_indented = lines[0].startswith(" ")
    taken = []
    while lines and ((not lines[0] or lines[0].startswith(" ")) if is_indented else lines[0]):
        taken.append(lines.pop(0))
    indent = min(len(line) - len(line.lstrip()) for line in taken if line)
    return "\n".join(line[indent:] for line in taken).strip("\n").split("\n")


def _take_rows(lines: list[str]) -> list[tuple[str, str]]:
    """Rows from the front, as names and meanings. A name that fills its column has one space after it."""
    rows: list[tuple[str, str]] = []
    column = 0
    while lines and lines[0]:
        if row := ROW.match(lines[0]):
            name, column = row["name"], row.end()
        elif column and re.fullmatch(r"\w+ ", lines[0][:column]):
            name = lines[0][: column - 1]
        else:
            break
        words = [lines.pop(0)[column:]]
        while lines and lines[0].startswith(" "):
            words.append(lines.pop(0).strip())
        first, *inline = INLINE_ROW.split(" ".join(words))
        rows += [(name, first), *zip(inline[::2], inline[1::2], strict=True)]
    return rows


def _definition(name: str, meaning: str) -> list[str]:
    term = name.capitalize() if name in OUTCOMES else f":code:`{name}`"
    return [term, f"   {inline_markup(meaning)}"]
