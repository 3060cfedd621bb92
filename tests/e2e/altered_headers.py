"""Containers with other headers, and hashes that are right again."""

from latticework import _core

ODD = (0, 1, 2, 3, 7, 2**31, 2**32, 2**62, 2**63, 2**64 - 1, -1, -(2**63), 3.0, float("nan"), 1e308, True, None, "a", "",
       b"", b"\0" * 16, [], [3], {}, {"n": 1})  # fmt: skip


def header_of(data):
    return _core.ContainerReader(data, list(_core.FileKind)).header


def rebuilt(data, header):
    """A file with this header, and hashes that are right."""
    reader = _core.ContainerReader(data, list(_core.FileKind))
    sections = []
    for i in range(reader.num_sections):
        rows = [reader.row(i, row) for row in range(reader.num_rows(i))]
        sections.append((reader.section_kind(i), rows or reader.section(i)))
    return bytes(_core.write_container(None, reader.kind, reader.parameters, header, sections))


def replaced(value, rng):
    """One leaf of a document replaced, removed or repeated."""
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        if rng.randrange(8) == 0:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: replaced(value[key], rng)}
    if isinstance(value, list) and value:
        i = rng.randrange(len(value))
        if rng.randrange(6) == 0:
            return value[:i] + value[i + 1 :]
        if rng.randrange(6) == 0:
            return [*value, value[i]]
        return [*value[:i], replaced(value[i], rng), *value[i + 1 :]]
    if isinstance(value, float):
        return value * rng.choice((0.5, 2.0, 1 + 2.0**-22, 1 + 2.0**-50, -1.0))
    if type(value) is int and rng.randrange(2):
        return value + rng.choice((1, 2, 64)) if rng.randrange(2) else max(0, value - 1)
    return rng.choice(ODD)
