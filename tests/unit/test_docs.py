"""Every Python block of the documentation runs as it is when pasted, alone or after the block that it says it continues.

A block that continues another one says so in its first line: `# continues the block above`, or
`# continues "Title of a section"`, which is the last block of that section. The blocks of a page run in one empty folder.
"""

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]
PARTS = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```|^#+ (?P<title>[^\n]+)$", re.MULTILINE | re.DOTALL)
CONTINUES = re.compile(r'# continues (the block above|"(?P<section>[^"\n]+)")[^\n]*\n')


@dataclass(frozen=True)
class Block:
    """One block: where it stands, what it says, and the block that has to run before it."""

    page: Path
    line: int
    code: str
    before: "Block | None"

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path, text: str) -> list[Block]:
    """The Python blocks of a page, in order."""
    blocks: list[Block] = []
    last_of: dict[str, Block] = {}
    title = ""
    for part in PARTS.finditer(text):
        if part["title"]:
            title = part["title"]
        if part["language"] != "python":
            continue
        line = text[: part.start("code")].count("\n") + 1
        before = None
        if continues := CONTINUES.match(part["code"]):
            section = continues["section"]
            before = last_of.get(section) if section else blocks[-1] if blocks else None
            assert before is not None, f"{page.name}:{line}: there is no block to continue"
        blocks.append(Block(page, line, part["code"], before))
        last_of[title] = blocks[-1]
    return blocks


BLOCKS = [block for page in PAGES for block in blocks_of(page, page.read_text())]


@pytest.fixture(scope="module")
def names_after(tmp_path_factory):
    """What a block leaves in a fresh namespace, or in a copy of that of the block before it; each is run once."""
    known: dict[Block, dict[str, object]] = {}
    folders = {page: tmp_path_factory.mktemp(page.stem) for page in PAGES}

    def run(block: Block) -> dict[str, object]:
        if block not in known:
            names = {} if block.before is None else dict(run(block.before))
            with contextlib.chdir(folders[block.page]):
                exec(compile("\n" * (block.line - 1) + block.code, str(block.page), "exec"), names)
            known[block] = names
        return known[block]

    yield run
    known.clear()


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_runs_when_it_is_pasted(block, names_after):
    assert not block.code.startswith(">>>"), f"{block} has prompts, which cannot be pasted"
    assert names_after(block)


def test_blocks_share_nothing_unless_they_say_so():
    page = "# A\n```python\na = 1\n```\n# B\n```python\nb = 1\n```\n```python\n# continues the block above\nb\n```\n"
    first, second, third, fourth = blocks_of(Path("page.md"), page + '```python\n# continues "A"\na\n```\n')
    assert (first.before, second.before, third.before, fourth.before) == (None, None, second, first)
    assert str(third) == "page.md:10"
    with pytest.raises(AssertionError, match="no block to continue"):
        blocks_of(Path("page.md"), '```python\n# continues "C"\n```\n')


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
