"""Sections made of rows: their bytes as documented, and each row verified by itself."""

import mmap
import os
import struct

import pytest
from test_container import ENTRY, PROLOGUE, repaired, with_entry

from latticework import _core
from latticework.errors import FormatError

PARAMETERS = bytes(range(32))
KIND = _core.FileKind.EVALUATION_KEYS
ROW = struct.Struct("<QQ32s")
ROWS = [bytes([7]) * 64, os.urandom(4096), bytes(192)]


def container(sections, path=None):
    return _core.write_container(path, KIND, PARAMETERS, {"n": 1}, sections)


def table_of(rows):
    """A row table by its description."""
    entries = b"".join(ROW.pack(len(row), _core.fast_sum(row), _core.blake3(row)) for row in rows)
    table = struct.pack("<Q", len(rows)) + entries
    return table + bytes(-len(table) % 64)


def by_hand(rows, table=None, **entry):
    """A file with one section of rows, written from the description alone."""
    table = table_of(rows) if table is None else table
    content = table + b"".join(rows)
    header = _core.cbor_encode({"n": 1})
    start = 4096
    fields = {"kind": 2, "flags": 1, "index": 0, "offset": start, "size": len(content),
              "sum": _core.fast_sum(table), "hash": _core.blake3(table)} | entry  # fmt: skip
    total = start + len(content)
    prologue = PROLOGUE.pack(
        *(b"LATTICE\n", 2, 0, int(KIND), 0, len(header), 1, total),
        *(PARAMETERS, bytes(32), bytes(32)),
    )
    return repaired((prologue + header + ENTRY.pack(*fields.values())).ljust(start, b"\0") + content)


def opened(data):
    return _core.ContainerReader(data, [KIND])


def read_all(data):
    reader = opened(data)
    return [reader.row(0, row) for row in range(reader.num_rows(0))]


def test_bytes_are_as_documented():
    assert container([(2, ROWS)]) == by_hand(ROWS)
    assert read_all(by_hand(ROWS)) == ROWS
    assert opened(by_hand(ROWS)).section(0) == b"".join(ROWS)


def test_files_without_rows_keep_the_first_version():
    assert PROLOGUE.unpack(container([(2, b"".join(ROWS))])[:128])[1:3] == (1, 0)
    assert PROLOGUE.unpack(container([(2, ROWS), (2, b"x")])[:128])[1:3] == (2, 0)
    with pytest.raises(FormatError, match="has flags 1, expected at most 0"):
        opened(repaired(by_hand(ROWS), major=1))
    with pytest.raises(FormatError, match="has flags 2, expected at most 1"):
        opened(by_hand(ROWS, flags=2))


def test_rows_written_in_pieces_among_other_sections(tmp_path):
    path = tmp_path / "pieces"
    declared = [(1, 5), (2, [len(row) for row in ROWS]), (3, 0), (2, [64])]
    writer = _core.ContainerWriter(path, KIND, PARAMETERS, {"n": 1}, declared)
    for content in (b"first", b"".join(ROWS), bytes(64)):
        for at in range(0, len(content), 500):
            writer.write(content[at : at + 500])
    writer.commit()
    assert path.read_bytes() == container([(1, b"first"), (2, ROWS), (3, b""), (2, [bytes(64)])])
    reader = opened(path)
    assert [reader.num_rows(i) for i in range(4)] == [0, 3, 0, 1]
    assert [reader.row(1, i) for i in range(3)] == ROWS
    with pytest.raises(FormatError, match=r"section 1 .* has 3 rows, there is no row 3"):
        reader.row(1, 3)
    with pytest.raises(FormatError, match="has 0 rows"):
        reader.row(0, 0)
    reader.verify_all()


def test_a_writer_takes_only_rows_that_fit():
    for rows in ([63], [64, 0], [65]):
        with pytest.raises(ValueError, match="rows are multiples of 64 bytes"):
            _core.ContainerWriter(None, KIND, PARAMETERS, {}, [(1, rows)])
    writer = _core.ContainerWriter(None, KIND, PARAMETERS, {}, [(1, [64, 128])])
    writer.write(bytes(100))
    with pytest.raises(ValueError, match="declared with 192 bytes; after 100 of them, 93 are too many"):
        writer.write(bytes(93))
    with pytest.raises(ValueError, match="has 100 of its 192 bytes; write all sections"):
        writer.commit()
    writer.write(bytes(92))
    with pytest.raises(ValueError, match="nothing more"):
        writer.write(b"x")
    assert read_all(writer.commit()) == [bytes(64), bytes(128)]


def test_only_the_rows_asked_for_are_touched():
    data = container([(2, ROWS)])
    reader = opened(data)
    head, table = reader.touched_bytes, len(table_of(ROWS))
    assert head == 128 + len(_core.cbor_encode({"n": 1})) + 64
    reader.row(0, 1)
    assert reader.touched_bytes == head + table + 4096
    damaged = bytearray(data)
    damaged[-1] ^= 1  # of the last row
    reader = opened(bytes(damaged))
    assert reader.row(0, 0) == ROWS[0] and reader.row(0, 1) == ROWS[1]
    with pytest.raises(FormatError, match="row 2 does not match its hash"):
        reader.row(0, 2)
    for check in (lambda: reader.section(0), reader.verify_all):
        with pytest.raises(FormatError, match="has a row 2 that does not match its hash"):
            check()


def test_every_flipped_bit_is_found():
    data = bytearray(container([(2, [bytes(64), bytes(range(64))])]))
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FormatError):
            read_all(bytes(data))
        data[bit // 8] ^= 1 << bit % 8
    assert len(read_all(bytes(data))) == 2


def test_a_row_that_rots_after_its_first_reading_is_found(tmp_path):
    path = tmp_path / "rots"
    container([(2, ROWS)], path)
    reader = opened(path)
    assert reader.row(0, 1) == ROWS[1]
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        content[len(content) - 192 - 100] ^= 4
        with pytest.raises(FormatError, match="row 1"):
            reader.row(0, 1)
        content[len(content) - 192 - 100] ^= 4
    assert reader.row(0, 1) == ROWS[1]


def forgeries():
    """Tables that lie behind right hashes: what they lie about -> file."""
    good = table_of(ROWS)
    sizes = [len(row) for row in ROWS]

    def with_sizes(*sizes):
        entries = b"".join(ROW.pack(size, 0, bytes(32)) for size in sizes)
        return (struct.pack("<Q", len(sizes)) + entries).ljust(len(good), b"\0")

    for count in (0, 1, 2, 4, 91, 2**32, 2**58, 2**60 + 3, 2**64 - 1):
        yield f"count {count}", by_hand(ROWS, struct.pack("<Q", count) + good[8:])
    for last in (0, 63, 65, 128, 256, 2**63, 2**64 - 64, 2**64 - 4096):
        yield f"last row {last}", by_hand(ROWS, with_sizes(*sizes[:-1], last))
        yield f"first row {last}", by_hand(ROWS, with_sizes(last, *sizes[1:]))
    yield "padding", by_hand(ROWS, good[:-1] + b"\1")
    yield "sum of the table", by_hand(ROWS, sum=0)
    yield "hash of the table", by_hand(ROWS, hash=bytes(32))
    swapped = [ROWS[1], ROWS[0], ROWS[2]]
    yield "rows that are others", by_hand(ROWS, table_of(swapped))
    yield "sum of a row", by_hand(ROWS, good[:16] + bytes(8) + good[24:])
    yield "hash of a row", by_hand(ROWS, good[:24] + bytes(32) + good[56:])
    for size in (0, 1, 7, 8, 63, 64, 191, 192):
        data = by_hand(ROWS)[: 4096 + size]
        yield f"section of {size} bytes", with_entry(repaired(data, total=4096 + size), 0, size=size)


@pytest.mark.parametrize("data", [data for _, data in forgeries()], ids=[name for name, _ in forgeries()])
def test_forged_tables_are_refused(data):
    with pytest.raises(FormatError):
        if read_all(data) == []:
            raise AssertionError("no rows")
