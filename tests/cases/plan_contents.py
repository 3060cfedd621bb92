"""What plan files say, as plain data, and files of formats 1 and 2, which held it otherwise."""

from collections import Counter

from latticework import _core
from latticework.plan.files.code_columns import from_columns, to_columns
from latticework.plan.files.deflate import deflate, inflate

META, CODE, CONSTANTS, DEBUG = range(4)
PROGRAM = 6  # the kind of the section that holds them
SHORT = 3  # encoded bytes, of what is not worth a number


def opened(data, kind=1):
    """The reader of a plan file, or of one of another kind."""
    return _core.ContainerReader(data, kinds=[kind])


def written(data):
    """[client part, columns of code, constants, debugging, weights if they are few] as a file holds them."""
    return _core.cbor_decode(inflate(bytes(opened(data).section(0)), ""))


def contents(data):
    """[client part, code, constants, debugging] of a file, in the form of format 1."""
    meta, columns, constants, debug, _ = written(data)
    return [meta, from_columns(columns), constants, debug]


def new_file(data, said):
    """A file that says something else, as it holds it."""
    reader = opened(data)
    sections = [(PROGRAM, deflate(_core.cbor_encode(said)))]
    sections += [(reader.section_kind(i), reader.section(i)) for i in range(1, reader.num_sections)]
    return _core.write_container(None, 1, reader.parameters, reader.header, sections)


def weights(data):
    """The bytes of all arrays."""
    reader = opened(data)
    return bytes(reader.section(1)) if reader.num_sections > 1 else written(data)[4]


def old_file(data, said=None):
    """A file as one of format 1, or one that says something else; the arrays stay."""
    given = contents(data)
    sections = [(i + 1, _core.cbor_encode(content)) for i, content in enumerate(said or given)]
    arrays = weights(data)
    for _, shape in given[CONSTANTS]["sources"]:
        size = 8
        for extent in shape:
            size *= extent
        sections.append((5, arrays[:size]))
        arrays = arrays[size:]
    reader = opened(data)
    return _core.write_container(None, 1, reader.parameters, {**reader.header, "format": 1}, sections)


def shared_file(data, said=None):
    """A file as one of format 2: four sections in which what repeats is written once, and all arrays in one."""
    reader = opened(data)
    meta, code, constants, debug = said or contents(data)
    whole = [meta, share_repeats(to_columns(code)), share_repeats(constants), share_repeats(debug)]
    sections = [(i + 1, _core.cbor_encode(content)) for i, content in enumerate(whole)]
    sections += [(5, weights(data))] if weights(data) else []
    return _core.write_container(None, 1, reader.parameters, {**reader.header, "format": 2}, sections)


def share_repeats(data):
    """[table, data] of plain data: None, bool, int, float, str, lists and maps of them."""
    keys, nodes, times = {}, [], Counter()

    def number(item):
        """Equal items have the same number; what is in one is counted once."""
        if isinstance(item, list):
            parts = [number(part) for part in item]
            key = (list, *parts)
        elif isinstance(item, dict):
            parts = {name: number(part) for name, part in item.items()}
            key = (dict, *parts.items())
        else:
            parts, key = item, (type(item), repr(item))  # which tells -0.0 from 0.0
        place = keys.setdefault(key, len(nodes))
        if place == len(nodes):
            nodes.append(parts)
            times.update(parts if isinstance(item, list) else parts.values() if isinstance(item, dict) else ())
        return place

    root = number(data)
    table, told = [], []
    for found, parts in enumerate(nodes):
        item = parts
        if isinstance(parts, list):
            item = [told[part] for part in parts]
        elif isinstance(parts, dict):
            item = {name: told[part] for name, part in parts.items()}
        if times[found] > 1 and len(_core.cbor_encode(item)) > SHORT:
            table.append(item)
            place = len(table) - 1
            item = place.to_bytes((place.bit_length() + 7) // 8 or 1, "little")
        told.append(item)
    return [table, told[root]]
