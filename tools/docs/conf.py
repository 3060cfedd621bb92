"""Sphinx: the settings of the documentation. `tools/docs/build.py` lays the pages out and runs it."""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from docstrings import rst_lines

import latticework

project = "latticework"
release = version = latticework.__version__
project_copyright = ""
extensions = ["sphinx.ext.autodoc", "myst_parser"]
root_doc = "index"
html_theme = "furo"
html_title = f"latticework {release}"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
smartquotes = False  # "ckks" is to be copied as it stands
html_css_files = ["reference.css"]
html_static_path = ["_static"]
pygments_style = "friendly"
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
autodoc_type_aliases = {"npt.ArrayLike": "ArrayLike"}
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"


def _is_ours(member: Any) -> bool:
    """Whether a member of a class is written in the package, and not inherited from Python."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    return str(getattr(function, "__module__", None)).startswith("latticework")


def _skip(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    return None if _is_ours(member) else True


def _as_rst(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = rst_lines(lines)


def _shorter(app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, result: str | None) -> Any:
    """Names of type aliases as they are written."""
    short = [text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (signature, result)]
    return tuple(short)


def setup(app: Any) -> None:
    """Docstrings in our own form become reStructuredText."""
    app.connect("autodoc-process-signature", _shorter)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _as_rst)
