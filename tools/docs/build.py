"""Build the documentation: README, docs/ and a reference made from docstrings, as one folder of HTML.

    python tools/docs/build.py [--out DIR]

Needs the extra `docs`. Nothing comes from the network, neither now nor when the pages are read. Exit status 1 if Sphinx
has anything to complain about, or if a link inside of the folder leads nowhere; links to elsewhere are listed.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from links import Links, read_links
from notebook import notebook_text
from reference import index_text, page_text, pages
from site_pages import SECTIONS, list_pages, list_sections, page_source

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = "scikit-learn"  # the tutorial that is a notebook too
ABOUT = ("SECURITY", "CHANGELOG", "ARCHITECTURE", "CONTRIBUTING")
# Results and examples, which readers can download.
TO_FILE = re.compile(r"\]\((?!https?:)([^)#]+\.(?:json|jsonl|py|html))\)")
TO_README = re.compile(r"\]\(((?:\.\./)*)README\.md")


def lay_out(folder: Path) -> None:
    """Write the sources that Sphinx reads: links between the pages stay as they are in the repository."""
    if folder.exists():
        shutil.rmtree(folder)
    (folder / "docs").mkdir(parents=True)
    (folder / "reference").mkdir()
    sections = list_sections(path.stem for path in (ROOT / "docs").glob("*.md"))
    kinds = {name: SECTIONS[title][0] for title, names in sections.items() for name in names}
    folders = [path for name in ("src", "cpp") for path in sorted((ROOT / name).rglob("README.md"))]
    folders += [ROOT / "bench" / "results" / name for name in ("README.md", "NOTES.md")]
    for path in [*(ROOT / "docs").rglob("*.md"), *(ROOT / f"{name}.md" for name in ABOUT), ROOT / "LICENSE", *folders]:
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text()
        kind = kinds.get(path.relative_to(ROOT).with_suffix("").as_posix(), "")
        target.write_text(TO_README.sub(r"](\1index.md", page_source(text, kind)))
        for name in TO_FILE.findall(text):
            linked = (path.parent / name).resolve().relative_to(ROOT)
            (folder / linked).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / linked, folder / linked)
    tutorial = (ROOT / "docs" / "tutorials" / f"{NOTEBOOK}.md").read_text()
    page = folder / "docs" / "tutorials" / f"{NOTEBOOK}.md"
    (page.parent / f"{NOTEBOOK}.ipynb").write_text(notebook_text(tutorial))
    page.write_text(page.read_text() + f"\nThis page as a notebook: [{NOTEBOOK}.ipynb]({NOTEBOOK}.ipynb).\n")
    sections["Reference"].append("reference/index")
    parts = {
        **sections,
        "About": list(ABOUT),
        "Folders": [path.relative_to(ROOT).with_suffix("").as_posix() for path in folders],
    }
    (folder / "index.md").write_text(page_source((ROOT / "README.md").read_text()) + list_pages(parts))
    all_pages = pages()
    (folder / "reference" / "index.md").write_text(index_text(all_pages))
    for described in all_pages:
        (folder / "reference" / f"{described.name}.md").write_text(page_text(described))


def report(links: Links) -> int:
    """Say which links there are; 1 if one of them leads nowhere."""
    print(f"docs: {links.num_inside} links inside, {len(links.outside)} to elsewhere (not followed):")
    for target in sorted(links.outside):
        print(f"  {target}")
    for page, target, fault in links.broken:
        print(f"docs: {page}: {target}: {fault}", file=sys.stderr)
    return 1 if links.broken else 0


def main() -> int:
    """Lay out, build, check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "docs", help="folder of the pages")
    out: Path = parser.parse_args().out
    sources = out.with_name(f"{out.name}-sources")
    lay_out(sources)
    if out.exists():
        shutil.rmtree(out)
    settings = ["-c", str(Path(__file__).parent), "-d", str(sources / ".doctrees"), "-W", "--keep-going", "-q"]
    command = [sys.executable, "-m", "sphinx", "-b", "html", *settings, str(sources), str(out)]
    if status := subprocess.run(command, check=False).returncode:
        return status
    status = report(read_links(out))
    print(f"docs: {out / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
