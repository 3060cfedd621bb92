"""Containers: what is written comes back, and whatever was altered is refused."""

import os
import random
import resource
import stat
import struct
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from latticework import _core
from latticework.errors import FormatError, ParameterMismatchError

PARAMETERS = bytes(range(32))
HEADER = {"name": "demo", "limbs": [1, 2, 3], "scale": 2.0**40}
SECTIONS = [(7, b"first section"), (7, b""), (9, bytes(range(256)) * 17)]
ALL_KINDS = list(_core.FileKind)


def container(header=HEADER, sections=SECTIONS, kind=_core.FileKind.CLIENT):
    return _core.write_container(None, kind, PARAMETERS, header, sections)


def read_all(source, kinds=ALL_KINDS, **expected):
    """Open and verify everything, as a careful user would."""
    reader = _core.ContainerReader(source, kinds, **expected)
    return reader, [(reader.section_kind(i), reader.section(i)) for i in range(reader.num_sections)]


# An independent reading of the format, from its description.
PROLOGUE = struct.Struct("<8sHHHHIIQ32s32s32s")
PROLOGUE_FIELDS = (
    *("magic", "major", "minor", "kind", "flags", "header_bytes", "count", "total"),
    *("parameters", "head_hash", "reserved"),
)
ENTRY = struct.Struct("<HHIQQQ32s")
ENTRY_FIELDS = ("kind", "flags", "index", "offset", "size", "sum", "hash")


def test_bytes_are_as_documented():
    data = container()
    magic, major, minor, kind, flags, header_bytes, count, total, parameters, head_hash, reserved = PROLOGUE.unpack(
        data[:128]
    )
    assert (magic, major, minor, kind, flags) == (b"LATTICE\n", 1, 0, 2, 0)
    assert (count, total, parameters, reserved) == (3, len(data), PARAMETERS, bytes(32))
    table = 128 + header_bytes
    assert _core.cbor_decode(data[128:table]) == HEADER
    end = table + 64 * count
    assert head_hash == _core.blake3(data[:64] + data[128:end])
    for i, (index, (kind, content)) in enumerate(zip([0, 1, 0], SECTIONS, strict=True)):
        start = -(-end // 4096) * 4096
        assert data[end:start] == bytes(start - end)
        assert ENTRY.unpack(data[table + 64 * i : table + 64 * (i + 1)]) == (
            *(kind, 0, index, start, len(content)),
            *(_core.fast_sum(content), _core.blake3(content)),
        )
        end = start + len(content)
        assert data[start:end] == content
    assert end == len(data)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_what_is_written_comes_back(kind, tmp_path):
    path = tmp_path / "file.lw"
    sections = [(3, os.urandom(100_000)), (1, b""), (3, bytearray(b"x" * 4096)), (4, np.arange(50))]
    expected = [(k, bytes(content)) for k, content in sections]
    assert _core.write_container(path, kind, PARAMETERS, HEADER, sections) is None
    assert path.read_bytes() == container(HEADER, sections, kind)
    for source in (path, str(path), path.read_bytes()):
        reader, found = read_all(source, [kind], parameters=PARAMETERS, max_bytes=path.stat().st_size)
        assert found == expected
        assert (reader.kind, reader.header, reader.parameters) == (kind, HEADER, PARAMETERS)
        assert (reader.find(3), reader.find(3, 1), reader.find(4)) == (0, 2, 3)
        reader.verify_all()
        with pytest.raises(FormatError, match="sections of kind 3, found 2"):
            reader.find(3, 2)
        with pytest.raises(FormatError, match="no section 4"):
            reader.section(4)


def test_a_container_without_sections_and_with_an_empty_header():
    assert read_all(container({}, []))[1] == []


def test_sections_may_be_written_in_pieces(tmp_path):
    path = tmp_path / "pieces.lw"
    rng = random.Random(1)
    declared = [(kind, len(content)) for kind, content in SECTIONS]
    writer = _core.ContainerWriter(path, _core.FileKind.CLIENT, PARAMETERS, HEADER, declared)
    for _, content in SECTIONS:
        while content:
            size = rng.randrange(1, 100)
            writer.write(content[:size])
            content = content[size:]
    assert not path.exists()
    assert writer.commit() is None
    assert path.read_bytes() == container()
    with pytest.raises(ValueError, match="committed already"):
        writer.commit()


def test_a_writer_holds_its_caller_to_the_declared_sizes(tmp_path):
    path = tmp_path / "never.lw"
    writer = _core.ContainerWriter(path, 2, PARAMETERS, {}, [(1, 10), (1, 5)])
    writer.write(b"12345678")
    with pytest.raises(ValueError, match=r"declared with 10 bytes; after 8 of them, 3 are too many"):
        writer.write(b"abc")
    with pytest.raises(ValueError, match=r"section 0 has 8 of its 10 bytes"):
        writer.commit()
    writer.write(b"90")
    writer.write(b"12345")
    with pytest.raises(ValueError, match="nothing more"):
        writer.write(b"x")
    del writer
    assert list(tmp_path.iterdir()) == []


def test_limits_of_the_format():
    assert _core.ContainerReader(container({}, [(1, b"")] * 4096), ALL_KINDS).num_sections == 4096
    assert read_all(container({"x": bytes(65536 - 6)}, []))
    with pytest.raises(ValueError, match="past 2\\^63"):
        _core.ContainerWriter(None, 2, PARAMETERS, {}, [(1, 2**62), (1, 2**62)])
    with pytest.raises(ValueError, match="no file kind 9"):
        container(kind=9)
    with pytest.raises(ValueError, match="expected 32 bytes, got 31"):
        _core.write_container(None, 2, bytes(31), {}, [])


def test_truncation_at_every_byte_of_the_head_and_every_section_edge(tmp_path):
    data = container()
    _, _, _, _, _, header_bytes, count, *_ = PROLOGUE.unpack(data[:128])
    head = 128 + header_bytes + 64 * count
    edges = [4096, 4096 + 13, 8192, len(data)]
    cuts = [*range(head + 2), *(edge + d for edge in edges for d in (-1, 0, 1) if edge + d < len(data))]
    path = tmp_path / "cut.lw"
    for cut in cuts:
        path.write_bytes(data[:cut])
        for source in (data[:cut], path):
            with pytest.raises(FormatError, match="truncated"):
                read_all(source)


def test_appended_bytes_are_refused():
    data = container()
    for tail in (b"\0", b"x", data):
        with pytest.raises(FormatError, match=f"announces {len(data)} bytes, the file has {len(data) + len(tail)}"):
            read_all(data + tail)


def test_every_flipped_bit_is_found():
    data = bytearray(container({"n": 1}, [(1, b"some bytes"), (2, b"more bytes")]))
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FormatError):
            read_all(bytes(data))
        data[bit // 8] ^= 1 << bit % 8
    assert len(read_all(bytes(data))[1]) == 2


def repaired(data, **fields):
    """With some fields of the prologue replaced and the hash of the head made right again."""
    values = dict(zip(PROLOGUE_FIELDS, PROLOGUE.unpack(data[:128]), strict=True)) | fields
    data = PROLOGUE.pack(*values.values()) + data[128:]
    end = 128 + values["header_bytes"] + 64 * values["count"]
    return data[:64] + (_core.blake3(data[:64] + data[128:end]) + data[96:])


def with_entry(data, i, **fields):
    """With some fields of a section's table entry replaced and the hash of the head made right again."""
    header_bytes = PROLOGUE.unpack(data[:128])[5]
    at = 128 + header_bytes + 64 * i
    values = dict(zip(ENTRY_FIELDS, ENTRY.unpack(data[at : at + 64]), strict=True)) | fields
    return repaired(data[:at] + ENTRY.pack(*values.values()) + data[at + 64 :])


def with_header(data, header):
    """With other header bytes of the same length."""
    assert len(header) == PROLOGUE.unpack(data[:128])[5]
    return repaired(data[:128] + header + data[128 + len(header) :])


def forgeries():
    """Structural lies behind a correct hash: name -> file."""
    data = container()
    huge = (2**62, 2**63, 2**64 - 1, 2**64 - 4096, 2**32)
    yield "magic", repaired(data, magic=b"LATTICE\0")
    yield "flags", repaired(data, flags=1)
    yield "reserved", repaired(data, reserved=b"\1" + bytes(31))
    for kind in (0, 9, 65535):
        yield f"kind {kind}", repaired(data, kind=kind)
    for total in (0, 127, len(data) - 1, len(data) + 1, *huge):
        yield f"total {total}", repaired(data, total=total)
    for size in (0, 1, 64, 65537, 2**31, 2**32 - 1):
        yield f"header bytes {size}", repaired(data, header_bytes=size)
    for count in (0, 2, 4, 4096, 4097, 2**31, 2**32 - 1):
        yield f"count {count}", repaired(data, count=count)
    for size in (0, 1, len(SECTIONS[2][1]) + 1, *huge):
        yield f"last size {size}", with_entry(data, 2, size=size)
        yield f"first size {size}", with_entry(data, 0, size=size)
    for offset in (0, 128, 4096, 4097, 8256, 12288, *huge):
        yield f"offset {offset}", with_entry(data, 2, offset=offset)
    yield "overlap", with_entry(data, 2, offset=4096, size=len(data) - 4096)
    yield "index", with_entry(data, 1, index=0)
    yield "index from 1", with_entry(data, 2, index=1)
    yield "section flags", with_entry(data, 0, flags=1)
    yield "sum", with_entry(data, 0, sum=0)
    yield "hash", with_entry(data, 0, hash=bytes(32))
    empty = container({}, [])
    header = _core.cbor_encode({"x": bytes(65537 - 6)})
    yield "header over the limit", repaired(empty[:128] + header, header_bytes=65537, total=128 + 65537)
    start = -(-(129 + 64 * 4097) // 4096) * 4096
    entries = b"".join(ENTRY.pack(1, 0, i, start, 0, _core.fast_sum(b""), _core.blake3(b"")) for i in range(4097))
    yield "sections over the limit", repaired((empty + entries).ljust(start, b"\0"), count=4097, total=start)
    header = _core.cbor_encode(HEADER)
    yield "header not a map", with_header(data, _core.cbor_encode(bytes(len(header) - 2)))
    yield "header not canonical", with_header(data, b"\xb8\x03" + header[1:-1])
    yield "header with a huge length", with_header(data, b"\xbb" + struct.pack(">Q", 2**62) + header[9:])
    yield "header nested", with_header(data, b"\x81" * len(header))


@pytest.mark.parametrize("name, data", list(forgeries()), ids=lambda x: x if isinstance(x, str) else "")
def test_forged_structure_behind_a_right_hash_is_refused(name, data):
    start = time.perf_counter()
    with pytest.raises(FormatError):
        read_all(data)
    assert time.perf_counter() - start < 1


def test_forged_sizes_allocate_nothing():
    """All forgeries again, with 32 MiB of address space to spare."""
    script = """
        import resource, sys
        sys.path.insert(0, sys.argv[1])
        import test_container as t
        cases = list(t.forgeries())
        pages = int(open("/proc/self/statm").read().split()[0])
        limit = pages * resource.getpagesize() + 32 * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for name, data in cases:
            try:
                t.read_all(data)
            except t.FormatError:
                continue
            sys.exit(name)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), os.path.dirname(__file__)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, timeout=60)


def test_random_damage_with_the_hash_repaired_is_refused_or_harmless():
    rng = random.Random(5)
    data = container()
    head = 128 + PROLOGUE.unpack(data[:128])[5] + 64 * 3
    for _ in range(2000):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(8, head)] = rng.choice((0, 255, rng.randrange(256)))
        try:
            reader, sections = read_all(repaired(bytes(damaged)))
        except FormatError:
            continue
        assert [content for _, content in sections] == [content for _, content in SECTIONS]
        assert isinstance(reader.header, dict)


def test_a_wrong_kind_names_both_kinds():
    secret = container(kind=_core.FileKind.SECRET_KEY)
    with pytest.raises(FormatError, match="expected a client file, got a secret key"):
        read_all(secret, [_core.FileKind.CLIENT])
    with pytest.raises(FormatError, match="expected a public key or evaluation keys, got a secret key"):
        read_all(secret, [4, 5])
    with pytest.raises(ValueError, match="kinds is empty"):
        read_all(secret, [])


def test_other_parameters_are_named():
    other = bytes(reversed(range(32)))
    with pytest.raises(ParameterMismatchError, match=f"parameters {PARAMETERS[:8].hex()}, expected {other[:8].hex()}"):
        read_all(container(), parameters=other)


def test_a_higher_major_version_is_refused_and_a_higher_minor_one_read():
    data = container()
    for major in (0, 4, 65535):
        with pytest.raises(FormatError, match=rf"version {major}\.0, this build reads versions 1\.0 to 3\.x"):
            read_all(repaired(data, major=major))
    reader, sections = read_all(repaired(data, minor=3))
    assert reader.minor_version == 3
    assert sections == SECTIONS


def test_the_byte_limit_of_the_caller(tmp_path):
    data = container()
    path = tmp_path / "large.lw"
    path.write_bytes(data)
    for source in (data, path):
        assert read_all(source, max_bytes=len(data))
        with pytest.raises(FormatError, match=f"{len(data)} bytes, at most {len(data) - 1}"):
            read_all(source, max_bytes=len(data) - 1)


def test_what_is_no_container(tmp_path):
    for data in (b"", b"x", b"PK\x03\x04" + bytes(200), os.urandom(5000)):
        with pytest.raises(FormatError):
            read_all(data)
    with pytest.raises(FileNotFoundError, match=r"missing\.lw: cannot open"):
        read_all(tmp_path / "missing.lw")
    with pytest.raises(IsADirectoryError):
        read_all(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_all(tmp_path / "pipe")
    with pytest.raises(TypeError):
        read_all(3.5)


def test_a_section_is_verified_when_first_touched_and_not_after(tmp_path):
    path = tmp_path / "rot.lw"
    data = bytearray(container())
    data[-1] ^= 1
    path.write_bytes(data)
    reader = _core.ContainerReader(path, ALL_KINDS)
    assert reader.section(0) == SECTIONS[0][1]
    for _ in range(2):
        with pytest.raises(FormatError, match=r"rot\.lw: section 2 \(4352 bytes at byte 8192\) does not match"):
            reader.section(2)
    with pytest.raises(FormatError, match="section 2"):
        reader.verify_all()


def test_a_file_cut_while_it_is_open_is_an_error_and_not_a_crash(tmp_path):
    path = tmp_path / "cut.lw"
    path.write_bytes(container())
    reader = _core.ContainerReader(path, ALL_KINDS)
    os.truncate(path, 100)
    with pytest.raises(FormatError, match="when it was opened and has 100 now"):
        reader.section(2)


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o000])
def test_modes(mask, tmp_path):
    before = os.umask(mask)
    try:
        for kind in ALL_KINDS:
            path = tmp_path / f"{int(kind)}.lw"
            is_secret = kind == _core.FileKind.SECRET_KEY
            if not is_secret:
                path.write_bytes(b"older and readable by all")
                path.chmod(0o666)
            _core.write_container(path, kind, PARAMETERS, {}, [])
            assert stat.S_IMODE(path.stat().st_mode) == (0o600 if is_secret else 0o644 & ~mask)
    finally:
        os.umask(before)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "kept.lw"
    path.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match=r"kept\.lw: cannot reserve"):
            _core.write_container(path, 2, PARAMETERS, {}, [(1, bytes(200_000))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_path_that_cannot_be_written_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot create a file in its folder"):
        _core.write_container(tmp_path / "no" / "folder.lw", 2, PARAMETERS, {}, [])
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder, which is not replaced"):
        _core.write_container(folder, 2, PARAMETERS, {}, [])
    assert list(tmp_path.iterdir()) == [folder]


def test_write_file_atomic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _core.write_file_atomic("plain", b"first", 0o600)
    _core.write_file_atomic(b"plain", b"second")
    _core.write_file_atomic("empty", b"")
    assert (tmp_path / "plain").read_bytes() == b"second"
    assert (tmp_path / "empty").read_bytes() == b""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "plain"]


def test_a_killed_writer_leaves_a_whole_file_or_the_one_before(start_python, tmp_path):
    path = tmp_path / "killed.lw"
    script = """
        import sys
        from latticework import _core
        print("ready", flush=True)
        for i in range(10**6):
            _core.write_container(sys.argv[1], 2, bytes(32), {"i": i}, [(1, bytes([i % 256]) * 2_000_000)] * 2)
    """
    _core.write_container(path, 2, bytes(32), {"i": 0}, [(1, bytes(2_000_000))] * 2)
    rng = random.Random(6)
    for _ in range(5):
        writer = start_python(textwrap.dedent(script), str(path))
        assert writer.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.005, 0.1))
        writer.kill()
        writer.wait()
        reader, sections = read_all(path)
        assert sections == [(1, bytes([reader.header["i"] % 256]) * 2_000_000)] * 2
        for left in tmp_path.iterdir():
            assert left == path or (left.name.startswith(".latticework-") and left.suffix == ".tmp")
