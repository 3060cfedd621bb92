"""The table of operators in docs/models.md, made from the converters; run as a script, it writes the table anew."""

from pathlib import Path

from latticework.importers.converters import Converter
from latticework.importers.pools import PRICE
from latticework.importers.torch_door.operators import CONVERTERS

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
BEGIN, END = "<!-- operators of PyTorch -->", "<!-- end of operators of PyTorch -->"


def table() -> str:
    """Operators of one note in a line, without "aten." and ".default"."""
    by_note: dict[str, list[str]] = {}
    for converter in CONVERTERS:
        by_note.setdefault(converter.note.replace(PRICE, "as [max-pools](#pytorch)"), []).append(
            f"`{_name(converter)}`"
        )
    return "\n".join(f"- {note or 'without limits'}: {', '.join(names)}" for note, names in by_note.items())


def _name(converter: Converter) -> str:
    return converter.operator.removeprefix("aten.").removesuffix(".default")


def parts() -> tuple[str, str, str]:
    """The page before the table, the table, and the page after it."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    written, _, after = rest.partition(END)
    return before + BEGIN, written.strip(), END + after


if __name__ == "__main__":
    before, _, after = parts()
    PAGE.write_text(f"{before}\n\n{table()}\n\n{after}")
