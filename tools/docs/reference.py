"""Which pages the reference has, and what stands on each: every public name once, found in the package.

A name that is on no list here lands by itself among the functions or classes of its package, so that nothing public is
ever missing; the lists only bring order into what is there.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import latticework as lw
from latticework import bfv, ckks, errors
from latticework import torch as tuning

COMPILE = ("compile", "program", "circuit", "load", "Program", "Circuit", "Model", "Techniques")
INPUTS = ("Secret", "Index", "scalar", "vector", "matrix", "bits", "Array", "Number")
RUN = ("Client", "Server", "Keys", "PublicKeys", "Encrypted", "OwnerValue")
SETUP = ("Parameters", "KeyGenerator", "SecretKey", "PublicKey", "EvaluationKeys")
DATA = ("Encoder", "Encryptor", "Decryptor", "Ciphertext", "Plaintext")
FILES = ("save_ciphertexts", "load_ciphertexts", "ciphertexts_to_bytes", "ciphertexts_from_bytes")
MODELS = ("Estimator", "Estimate", "Bound", "NoiseModel", "Noise")


@dataclass(frozen=True)
class Section:
    """A heading and the names below it, without the module."""

    title: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A page of the reference: public names of one module, in sections."""

    name: str
    title: str
    module: ModuleType
    sections: tuple[Section, ...]

    @property
    def names(self) -> Iterator[str]:
        """All names on the page."""
        return (name for section in self.sections for name in section.names)


def public_names(module: ModuleType) -> list[str]:
    """What a module offers, without what it passes on from `errors`, which has a page of its own."""
    if module is errors:
        return [n for n, v in vars(errors).items() if inspect.isclass(v) and v.__module__ == errors.__name__]
    names: list[str] = list(module.__all__)
    return [n for n in names if not inspect.ismodule(getattr(module, n)) and n not in vars(errors)]


def pages() -> list[Page]:
    """The pages in order."""
    top = Remaining(lw)
    compiling = [Section("Compiling", top.take(COMPILE)), Section("What is encrypted", top.take(INPUTS))]
    running = [Section("Client and server", top.take(RUN))]
    functions = [Section("Functions in programs", top.take_functions()), Section("Further classes", top.take_rest())]
    warnings = tuple(n for n in public_names(errors) if n.endswith("Warning"))
    faults = tuple(n for n in public_names(errors) if n not in warnings)
    return [
        Page("compiling", "Programs and models", lw, _filled(compiling)),
        Page("functions", "Functions in programs and circuits", lw, _filled(functions)),
        Page("running", "Clients and servers", lw, _filled(running)),
        Page("errors", "Errors and warnings", errors, (Section("Errors", faults), Section("Warnings", warnings))),
        Page("ckks", "CKKS by itself", ckks, _expert_sections(ckks)),
        Page("bfv", "BFV by itself", bfv, _expert_sections(bfv)),
        Page("torch", "Fine-tuning with PyTorch", tuning, (Section("Fine-tuning", tuple(public_names(tuning))),)),
    ]


class Remaining:
    """The public names of a module that no section has yet."""

    def __init__(self, module: ModuleType) -> None:
        self._values: dict[str, Any] = {name: getattr(module, name) for name in public_names(module)}

    def take(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the wanted names that are there, in the order wanted."""
        return tuple(name for name in wanted if self._values.pop(name, None) is not None)

    def take_functions(self) -> tuple[str, ...]:
        """All functions."""
        return self.take(tuple(name for name, value in self._values.items() if not inspect.isclass(value)))

    def take_rest(self) -> tuple[str, ...]:
        """All that is left."""
        return self.take(tuple(self._values))


def _expert_sections(module: ModuleType) -> tuple[Section, ...]:
    left = Remaining(module)
    sections = [
        Section("Parameters and keys", left.take(SETUP)),
        Section("Encryption and ciphertexts", left.take((*DATA, *FILES))),
        Section("Evaluation", left.take(("Evaluator",))),
        Section("Precision and noise", left.take(MODELS)),
    ]
    return _filled([*sections, Section("Operations", left.take_rest())])


def _filled(sections: list[Section]) -> tuple[Section, ...]:
    return tuple(section for section in sections if section.names)


def page_text(page: Page) -> str:
    """A page as MyST markdown: what the module says of itself, and each name with all its public members."""
    module = page.module.__name__
    parts = [f"# {page.title}", f"Names of `{module}`." if page.module is lw else _directive("automodule", module)]
    parts.append(_directive("currentmodule", module))
    for section in page.sections:
        parts.append(f"## {section.title}")
        for name in section.names:
            parts += [f"### {name}", _described(page.module, name)]
    return "\n\n".join(parts) + "\n"


def index_text(all_pages: list[Page]) -> str:
    """The first page of the reference: a table of all names, each with the first line of its docstring."""
    parts = [
        "# Python reference",
        "Everything public, made from the docstrings of this version.",
        "```{toctree}\n:hidden:\n",
    ]
    parts[-1] += "".join(f"\n{page.name}" for page in all_pages) + "\n```"
    for page in all_pages:
        rows = [f"* - {{py:obj}}`{n} <{page.module.__name__}.{n}>`\n  - {summary(page, n)}" for n in page.names]
        parts += [
            f"## [{page.title}]({page.name}.md)",
            "```{list-table}\n:widths: 30 70\n\n" + "\n".join(rows) + "\n```",
        ]
    return "\n\n".join(parts) + "\n"


def summary(page: Page, name: str) -> str:
    """The first sentence or line of a name's docstring, as markdown text."""
    first = description(page.module, name).split("\n")[0]
    return "".join(f"\\{c}" if c in r"\*_|<>[]" else c for c in first)


def description(module: ModuleType, name: str) -> str:
    """The docstring of a name; of a name for a type that is not ours, the comment beside its definition."""
    value = getattr(module, name)
    if not is_alias(value):
        return inspect.getdoc(value) or ""
    home = sys.modules[lw._HOME[name]]
    comment = re.search(rf"^{name}\b[^\n]*?  # ([^\n]+)$", inspect.getsource(home), re.MULTILINE)
    return comment[1][0].upper() + comment[1][1:] + "." if comment else ""


def is_alias(value: Any) -> bool:
    """Whether a value is a type of others that has a name here."""
    is_ours = str(getattr(value, "__module__", "")).startswith("latticework")
    return not is_ours and not inspect.isroutine(value) and not inspect.ismodule(value)


def _described(module: ModuleType, name: str) -> str:
    value, path = getattr(module, name), f"{module.__name__}.{name}"
    if is_alias(value):
        return _directive("py:type", name, "", description(module, name))
    if inspect.isclass(value):
        return _directive("autoclass", path, ":members:", ":inherited-members:")
    return _directive("autofunction", path)


def _directive(kind: str, argument: str, *options: str) -> str:
    lines = [f".. {kind}:: {argument}", *(f"   {option}" for option in options)]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"
