"""Every Python block of the documentation runs as it is when pasted, alone or after the block that it says it continues.

A block that continues another one says so in its first line: `# continues the block above`, or
`# continues "Title of a section"`, which is the last block of that section. The blocks of a page run in one empty folder.
"""

import ast
import contextlib
import re
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
ROOT = DOCS.parent
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FOLDERS = [page for folder in ("cpp", "src") for page in sorted((ROOT / folder).rglob("README.md"))]
GUIDES = [*(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")), *FOLDERS]
MOST_LINES = 60  # of a page on a folder
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
        else:
            assert not part["code"].startswith("# continues"), f"{page.name}:{line}: which block does this continue?"
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


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", FOLDERS, ids=name_of)
def test_a_page_on_a_folder_is_short_and_linked(page):
    assert len(page.read_text().splitlines()) <= MOST_LINES
    assert f"]({name_of(page)})" in (ROOT / "ARCHITECTURE.md").read_text()


@pytest.mark.parametrize("page", [*GUIDES, *PAGES], ids=name_of)
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def sections(page: Path) -> set[str]:
    """The anchors of a page: its titles in small letters, hyphens for spaces, without other punctuation."""
    titles = [part["title"].lower() for part in PARTS.finditer(page.read_text()) if part["title"]]
    return {re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*GUIDES, *PAGES], ids=name_of)
def test_links_to_a_section_name_one(page):
    for target, section in re.findall(r"\]\((?!https?:)([^)#]*\.md|)#([^)]+)\)", page.read_text()):
        other = page.parent / target if target else page
        assert section in sections(other), f"{page.name} links to {target}#{section}"


PACKAGE = ROOT / "src" / "latticework"
CODE = [
    path
    for folder in ("cpp", "src")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".hpp", ".cpp")
]
BUILDS = re.compile(r"build/|bench/results/|__pycache__|\.so$")  # what is there only after a command
FILE = re.compile(r"[\w<>*.-]+(/[\w<>*.-]+)*\.(py|hpp|cpp|def|pyi|md|toml)|([\w<>*-]+/)+[\w<>*.-]*")
NAME = re.compile(r"([a-z_]+\.)+\w+")
MADE_UP = {"N/2", "program.py", "something.py", "sycl/sycl.hpp"}  # slots, files that users write, Intel's header


@cache
def tree():
    """Every file and folder of the tree, below its root."""
    tops = [ROOT / name for name in ("src", "cpp", "cuda", "sycl", "tests", "tools", "docs", "bench", "examples")]
    below = [path for top in tops for path in (top, *top.rglob("*"))]
    return ["/" + path.relative_to(ROOT).as_posix() for path in (*below, *ROOT.glob("*.*"), ROOT / "Makefile")]


@cache
def is_there(said):
    """Whether a path is one of the tree, or the end of one; `<name>` stands for any."""
    wanted = "*/" + re.sub(r"<\w+>", "*", said).rstrip("/")
    return bool(BUILDS.search(said)) or said in MADE_UP or any(fnmatch(path, wanted) for path in tree())


@cache
def names_in(module):
    """What a module of the package says at its top level, by its file."""
    tree = ast.parse(module.read_text())
    targets = [t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    imported = {a.asname or a.name for node in tree.body if isinstance(node, ast.ImportFrom) for a in node.names}
    return defined | imported | {t.id for t in targets if isinstance(t, ast.Name)}


def is_defined(said):
    """Whether `room.module.name` is said where it stands, or names an op; what begins with no room is not judged."""
    *places, name = said.split(".")
    if any(f'"{said}"' in dialect.read_text() for dialect in (PACKAGE / "ir" / "dialects").glob("*.py")):
        return True
    if places == ["tensor"] and (PACKAGE / "tensor" / "ops" / f"{name}.py").is_file():  # an op is named by its file
        return True
    inner = PACKAGE.joinpath(*places)
    if not (PACKAGE / places[0]).is_dir():
        return True
    module = inner / "__init__.py" if inner.is_dir() else inner.with_suffix(".py")
    if not module.is_file():
        return False
    return name in names_in(module) or (inner / f"{name}.py").is_file() or (inner / name).is_dir()


@pytest.mark.parametrize("page", [*GUIDES, *PAGES], ids=name_of)
def test_what_a_page_names_is_there(page):
    missing = []
    for said in re.findall(r"`([^`\n]+)`", page.read_text()):
        wrong_path = FILE.fullmatch(said) and not is_there(said)
        wrong_name = page in GUIDES and NAME.fullmatch(said) and not FILE.fullmatch(said) and not is_defined(said)
        if wrong_path or wrong_name:
            missing.append(said)
    assert not missing, f"{page.name} names what is not there: {missing}"


def test_files_that_comments_name_are_there():
    missing = []
    for source in CODE:
        for said in re.findall(
            r"(?<![\w./*{}$-])(?:[a-z_]+/)*[a-z_0-9]+\.(?:py|hpp|cpp|def)\b(?!\()", source.read_text()
        ):
            if not is_there(said):
                missing.append(f"{source.name}: {said}")
    assert not missing, f"no such files: {missing}"


def test_what_is_not_there_is_found():
    assert is_there("tensor/layout/layout_candidates.py") and not is_there("layout/skewed_forms.py")
    assert is_there("ops/<op>.py") and not is_there("steps/<op>.py")
    assert is_defined("tensor.layout.layout_candidates.skew") and not is_defined(
        "tensor.layout.layout_candidates.skewed"
    )
    assert not is_defined("tensor.layout.shapes.skew")
