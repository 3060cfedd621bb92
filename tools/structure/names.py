"""Names of files that occur more than once, and functions whose name is a bare participle."""

import re
from collections import Counter

from structure.offenders import Offender, Rule
from structure.public import Public
from structure.sources import Function, Sources, decorators

SHARED = ("__init__.py", "base.py", "table.py")  # file names that may occur in several folders
# Verbs and nouns that end as participles do.
NO_PARTICIPLES = {"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed", "unembed"}
# Those that do not end in -ed; without the ones that are a verb's first form or a noun too, as run, set, split, bound.
IRREGULAR = """
    begun bent born borne bought broken brought built burnt caught chosen dealt done drawn driven dug eaten fallen fed
    felt forbidden forgotten fought found frozen given gone got grown heard held hidden hung kept known laid learnt led
    left lent lit lost made meant met mistaken paid proven rebuilt redone remade rewritten ridden risen said seen sent
    shaken shown shrunk slept slid sold sought sown spent spoken spun stolen stood struck stuck sung sunk sworn swept
    taken taught thought thrown told torn understood undone unmade unseen unknown withdrawn woken won worn wound woven
    written
""".split()  # noqa: SIM905
PROPERTIES = {"property", "cached_property", "setter", "getter", "deleter"}


def shared_files(sources: Sources) -> Rule:
    """Names of files that several files have, beside those that may be."""
    times = Counter(source.file for source in sources if source.file not in SHARED)
    several = [source for source in sources if times[source.file] > 1]
    first = {source.file: source for source in reversed(several)}
    return Rule(
        "shared_files",
        "name the file by what it alone is about",
        tuple(
            Offender(name, f"{source.path}:1", f"{times[name]} files are called {name}", times[name])
            for name, source in sorted(first.items())
        ),
    )


def is_participle(name: str) -> bool:
    """Whether a function's name is one word, and that a participle: `found`, `_turned`."""
    word = name.strip("_")
    if not re.fullmatch("[a-z]+", word) or name.startswith("__"):
        return False
    return word in IRREGULAR or (word.endswith("ed") and word not in NO_PARTICIPLES)


def participles(sources: Sources, public: Public) -> Rule:
    """Functions, methods and inner functions whose name is a bare participle; properties and public names may be."""
    return Rule(
        "participles",
        "begin its name with a verb, or name what it returns",
        tuple(
            Offender(d.key, d.place, f"{d.name} is named by a participle alone")
            for d in sources.definitions
            if isinstance(d.node, Function) and is_participle(d.node.name)
            if not decorators(d.node) & PROPERTIES and not public.has(d)
        ),
    )
