"""What plan files say, as plain data, and files of format 1, which held it as it is."""

from latticework import _core
from latticework.plan.files.code_columns import from_columns, to_columns
from latticework.plan.files.shared_data import expand_repeats, share_repeats

META, CODE, CONSTANTS, DEBUG = range(4)


def opened(data):
    """The reader of a plan file."""
    return _core.ContainerReader(data, kinds=[1])


def contents(data):
    """[client part, code, constants, debugging] of a file of format 2, in the form of format 1."""
    meta, columns, constants, debug = (_core.cbor_decode(opened(data).section(i)) for i in range(4))
    return [meta, from_columns(expand_repeats(columns, "")), expand_repeats(constants, ""), expand_repeats(debug, "")]


def old_file(data, said=None):
    """A file of format 2 as one of format 1, or one that says something else; the arrays stay."""
    reader, given = opened(data), contents(data)
    sections = [(i + 1, _core.cbor_encode(content)) for i, content in enumerate(said or given)]
    arrays = reader.section(4) if reader.num_sections > 4 else b""
    for _, shape in given[CONSTANTS]["sources"]:
        size = 8
        for extent in shape:
            size *= extent
        sections.append((5, arrays[:size]))
        arrays = arrays[size:]
    return _core.write_container(None, 1, reader.parameters, {**reader.header, "format": 1}, sections)


def new_file(data, said):
    """A file of format 2 that says something else."""
    reader = opened(data)
    meta, code, constants, debug = said
    whole = [meta, share_repeats(to_columns(code)), share_repeats(constants), share_repeats(debug)]
    sections = [(reader.section_kind(i), _core.cbor_encode(content)) for i, content in enumerate(whole)]
    sections += [(5, reader.section(i)) for i in range(4, reader.num_sections)]
    return _core.write_container(None, 1, reader.parameters, reader.header, sections)
