"""Write the lists of what is public anew, where that is meant to change.

python tests/public --write [PART ...]     and say of each list what is another
"""

import argparse

import lists
import surface


def main() -> None:
    """See the top of this file."""
    parser = argparse.ArgumentParser(prog="python tests/public", description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", required=True, help="write the lists anew")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"all if none is named: {', '.join(surface.PARTS)}")
    asked = parser.parse_args()
    for part in asked.parts or surface.PARTS:
        if part not in surface.PARTS:
            parser.error(f"there is no list {part}; there are {', '.join(surface.PARTS)}")
        now = surface.PARTS[part]()
        was = lists.read(part) if lists.path_of(part).exists() else {}
        faults = list(lists.differences(part, was, now))
        lists.write(part, now)
        print(f"{lists.path_of(part).name}: {len(now)} entries, of which {len(faults)} differ", *faults[:40], sep="\n ")


if __name__ == "__main__":
    main()
