"""The links of a folder of HTML: which lead outside, and which lead nowhere."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ATTRIBUTES = {"a": "href", "link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}


@dataclass
class Links:
    """What was found: how many links stay inside, where the others go, and (page, link, fault) of broken ones."""

    num_inside: int = 0
    outside: set[str] = field(default_factory=set)
    broken: list[tuple[str, str, str]] = field(default_factory=list)


class _Page(HTMLParser):
    """The links and the anchors of a page; what it loads must be in the folder."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {name for name in (found.get("id"), found.get("name")) if name}
        target = found.get(ATTRIBUTES.get(tag, ""))
        if target:
            (self.links if tag == "a" else self.loaded).append(target)


def read_links(folder: Path) -> Links:
    """Follow every link of every page in the folder, as far as it leads into the folder."""
    pages = {path.resolve(): _Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    found = Links()
    for path, page in pages.items():
        name = path.relative_to(folder.resolve()).as_posix()
        for target in (*page.links, *page.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loaded and parts.scheme != "data":
                    found.broken.append((name, target, "is loaded from the network"))
                found.outside.add(target)
                continue
            found.num_inside += 1
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.is_file():
                found.broken.append((name, target, "there is no such file"))
            elif there in pages and unquote(parts.fragment) not in pages[there].anchors:
                found.broken.append((name, target, "there is no such place in the file"))
    return found
