"""Pages of the site: every page of docs/ is of one kind, which stands under its title, and links are named for readers."""

import sys

from test_docs import DOCS, ROOT

sys.path.insert(0, str(ROOT / "tools" / "docs"))
from site_pages import GUIDES, SECTIONS, TUTORIALS, list_pages, list_sections, page_source


def test_every_page_is_of_one_kind():
    pages = [path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")]
    named = [name for _, names in SECTIONS.values() for name in names]
    assert sorted(named) == sorted(pages)
    assert set(SECTIONS[TUTORIALS][1]) == {name for name in pages if name.startswith("tutorials/")}


def test_a_page_that_nobody_named_is_a_guide():
    assert list_sections(["loops", "new"])[GUIDES][-1] == "docs/new"


def test_the_first_page_lists_all_and_says_what_they_are_for():
    listed = list_pages({**list_sections(["new"]), "About": ["SECURITY"]})
    for title, (kind, names) in SECTIONS.items():
        assert f"**{title}**: {kind.partition(': ')[2]}" in listed
        assert all(f"\ndocs/{name}\n" in listed for name in names)
    assert ":caption: About\n:hidden:\n\nSECURITY" in listed and "**About**" not in listed


def test_a_page_says_what_it_is_and_names_no_files():
    page = "# Title\n\nSee [docs/a-b.md](docs/a-b.md#c), [../D.md](../D.md) and [it](e.md), `[f.md]` [g.md].\n"
    assert page_source(page, "Kind") == (
        '# Title\n\n<p class="kind">Kind</p>\n\nSee [a-b](docs/a-b.md#c), [D](../D.md) and [it](e.md), `[f.md]` [g.md].\n'
    )
    assert page_source("# Title\n") == "# Title\n"
