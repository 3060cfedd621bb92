"""All that is public, by list, as the package is now."""

from collections.abc import Callable

import json_keys
import options
import python_names
import stored_names
from lists import Entries

PARTS: dict[str, Callable[[], Entries]] = {
    "python": python_names.collect,
    "commands": options.collect,
    "json": json_keys.collect,
    "files": stored_names.collect,
    "opcodes": stored_names.collect_opcodes,
}
