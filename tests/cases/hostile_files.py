"""Small files that would never end, or take all memory: ONNX, HEIR's text, skops, PyTorch's and arrays.

    python hostile_files.py [NAMES]

Each is read in a process of its own, with limits on processor time and addresses. Printed as JSON, a line for each file: what came
of it, the seconds and the megabytes that it took. Nothing but an error of ours is right, and no pickle may be run.
"""

import io
import itertools
import json
import os
import pickle
import resource
import struct
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
from hostile_onnx import INT, long_chain, onnx_files, onnx_import, tree_files

import latticework as lw

SECONDS, MEGABYTES = 2.0, 500  # for each file


# HEIR

CLIENT = """
  func.func @p__encrypt__arg0(%cc: !cc, %x: tensor<4xf32>, %pk: !pk) -> tensor<1x!ct> attributes {heir.interface = {func_name = "p", index = 0 : i64, roles = ["client.encrypt"]}} {
    ENCRYPT
    %w = arith.constant dense<1.0> : tensor<1x4xf32>
    %c0 = arith.constant 0 : index
    %s = tensor.extract_slice %w[0, 0] [1, 4] [1, 1] : tensor<1x4xf32> to tensor<4xf32>
    %p = openfhe.make_ckks_packed_plaintext %cc, %x : (!cc, tensor<4xf32>) -> !pt
    %c = openfhe.encrypt %cc, %p, %pk : (!cc, !pt, !pk) -> !ct
    %r = tensor.from_elements %c : tensor<1x!ct>
    return %r : tensor<1x!ct>
  }
  func.func @p__decrypt__result0(%cc: !cc, %r: tensor<1x!ct>, %sk: !sk) -> tensor<4xf32> attributes {heir.interface = {func_name = "p", index = 0 : i64, roles = ["client.decrypt"]}} {
    DECRYPT
    %c0 = arith.constant 0 : index
    %c = tensor.extract %r[%c0] : tensor<1x!ct>
    %p = openfhe.decrypt %cc, %c, %sk : (!cc, !ct, !sk) -> !pt
    %t = openfhe.decode_ckks %p : !pt -> tensor<4xf32>
    return %t : tensor<4xf32>
  }
"""
ALIASES = """!cc = !openfhe.crypto_context
!ct = !openfhe.ciphertext
!pk = !openfhe.public_key
!pt = !openfhe.plaintext
!sk = !openfhe.private_key
"""


def heir(main=(), encrypt=(), decrypt=(), functions="", aliases=""):
    """A program that returns what it is given, with more lines in its functions."""
    lines = {
        where: "\n    ".join(given) for where, given in (("MAIN", main), ("ENCRYPT", encrypt), ("DECRYPT", decrypt))
    }
    text = (
        ALIASES + aliases + "module {\n" + functions
        + "  func.func @p(%cc: !cc, %x: tensor<1x!ct>) -> tensor<1x!ct> {\n    MAIN\n    return %x : tensor<1x!ct>\n  }\n"
        + CLIENT + "}\n"
    )  # fmt: skip
    for where, given in lines.items():
        text = text.replace(where, given, 1)
    return text.encode()


def heir_loop(count, body=(), depth=1, computed=False):
    """Nested loops, between numbers that stand there or are computed."""
    lines = [
        "%z0 = arith.constant 0 : index",
        "%o1 = arith.constant 1 : index",
        f"%n0 = arith.constant {count} : index",
    ]
    end = "%n0"
    if computed:
        lines.append("%n1 = arith.muli %n0, %n0 : index")
        end = "%n1"
    lines += [f"scf.for %i{d} = %z0 to {end} step %o1 {{" for d in range(depth)]
    return [*lines, *body, *["}"] * depth]


def heir_calls(depth, each=2, parameter="i64"):
    made = [f"  func.func @f0(%a: {parameter}) -> {parameter} {{\n    return %a : {parameter}\n  }}\n"]
    for level in range(1, depth):
        names = ["%a", *(f"%r{i}" for i in range(1, each + 1))]
        lines = [
            f"    {b} = call @f{level - 1}({a}) : ({parameter}) -> {parameter}\n" for a, b in itertools.pairwise(names)
        ]
        made.append(
            f"  func.func @f{level}(%a: {parameter}) -> {parameter} {{\n{''.join(lines)}    return {names[-1]} : {parameter}\n  }}\n"
        )
    return "".join(made), ["%v = arith.constant 1 : i64", f"%q = call @f{depth - 1}(%v) : (i64) -> i64"]


def heir_aliases(form, times=60):
    return "".join(f"!a{i + 1} = {form.format(f'!a{i}')}\n" for i in range(times))


def heir_files():
    for where in ("main", "encrypt", "decrypt"):
        yield f"heir, loop, empty, {where}", heir(**{where: heir_loop(2**60)})
        yield f"heir, loop, computed end, {where}", heir(**{where: heir_loop(2**30, computed=True)})
        yield f"heir, loops, nested, {where}", heir(**{where: heir_loop(1000, depth=6)})
        yield f"heir, loops, nested, computed, {where}", heir(**{where: heir_loop(60, depth=6, computed=True)})
        functions, lines = heir_calls(40)
        yield f"heir, calls, 40 deep, {where}", heir(**{where: lines}, functions=functions)
        functions, lines = heir_calls(60)
        yield f"heir, calls, 60 deep, {where}", heir(**{where: lines}, functions=functions)
        functions, lines = heir_calls(18, 3)
        yield f"heir, calls, three each, {where}", heir(**{where: lines}, functions=functions)
        again = "  func.func @g(%a: i64) -> i64 {\n    %r = call @g(%a) : (i64) -> i64\n    return %r : i64\n  }\n"
        yield f"heir, recursion, {where}", heir(
            **{where: ["%v = arith.constant 1 : i64", "%q = call @g(%v) : (i64) -> i64"]}, functions=again)  # fmt: skip
        yield f"heir, an array, {where}", heir(**{where: ["%m = tensor.empty() : tensor<1099511627776xf32>"]})
        arrays = [f"%m{i} = arith.constant dense<{i}.0> : tensor<1048576xf32>" for i in range(200)]
        yield f"heir, many arrays, {where}", heir(**{where: arrays})
    sums = [
        "%m0 = tensor.empty() : tensor<4194304xf32>",
        *(f"%m{i + 1} = arith.addf %m{i}, %m{i} : tensor<4194304xf32>" for i in range(60)),
    ]
    yield "heir, arrays that are held", heir(main=sums)
    yield (
        "heir, whole numbers",
        heir(main=["%m0 = tensor.empty() : tensor<4194304xi64>", "%m1 = arith.addi %m0, %m0 : tensor<4194304xi64>"]),
    )
    yield "heir, broadcast", heir(main=[
        "%a = tensor.empty() : tensor<65536x1xf32>", "%b = tensor.empty() : tensor<1x65536xf32>",
        "%d = arith.addf %a, %b : tensor<65536x1xf32>"])  # fmt: skip
    yield "heir, slices in a loop", heir(main=heir_loop(100_000, [
        "%m = tensor.empty() : tensor<1000000xf32>",
        "%s = tensor.extract_slice %m[0] [1000000] [1] : tensor<1000000xf32> to tensor<1000000xf32>"]))  # fmt: skip
    yield "heir, many slots", heir(encrypt=[
        "%big = tensor.empty() : tensor<8388608xf32>",
        *(f"%p{i} = openfhe.make_ckks_packed_plaintext %cc, %big : (!cc, tensor<8388608xf32>) -> !pt" for i in range(40))])  # fmt: skip
    yield "heir, ciphertexts in a loop", heir(main=heir_loop(1_000_000, [
        "%c0 = arith.constant 0 : index", "%c = tensor.extract %x[%c0] : tensor<1x!ct>",
        "%d = openfhe.add %cc, %c, %c : (!cc, !ct, !ct) -> !ct"]))  # fmt: skip
    yield "heir, an argument that is large", heir().replace(b"tensor<4xf32>", b"tensor<1099511627776xf32>")
    yield "heir, ciphertexts that are many", heir().replace(b"tensor<1x!ct>", b"tensor<1099511627776x!ct>")
    yield "heir, aliases, double", heir(aliases="!a0 = i32\n" + heir_aliases("tuple<{0}, {0}>"))
    yield "heir, aliases, of functions", heir(aliases="!a0 = i32\n" + heir_aliases("({0}, {0}) -> ({0}, {0})"))
    yield "heir, aliases, long", heir(aliases="!a0 = i32\n" + heir_aliases(f"tuple<{{0}}, {'i32, ' * 100}i32>", 5000))
    lists = "".join(f"#b{i + 1} = [#b{i}, #b{i}]\n" for i in range(60))
    for key in ("function_type", "sym_name", "arg_attrs"):
        text = (
            f"#b0 = 1\n{lists}".encode()
            + b'module {\n  "func.func"() <{%s = #b60}> ({\n  }) : () -> ()\n}\n' % key.encode()
        )
        yield f"heir, doubled lists, {key}", text
    yield "heir, doubled lists, a callee", f"#b0 = 1\n{lists}".encode() + heir(
        main=['%q = "func.call"(%x) <{callee = #b60}> : (tensor<1x!ct>) -> tensor<1x!ct>'])  # fmt: skip
    yield (
        "heir, doubled lists, a role",
        f"#b0 = 1\n{lists}".encode() + heir().replace(b'func_name = "p"', b"func_name = #b60"),
    )
    yield "heir, a constant", heir(main=["%m = arith.constant dense<0> : tensor<1099511627776xi32>"])
    yield (
        "heir, a constant of no size",
        heir(main=["%m = arith.constant dense<0> : tensor<0x4611686018427387904x4611686018427387904xi32>"]),
    )
    yield "heir, a constant of hex", heir(main=['%m = arith.constant dense<"0x00"> : tensor<1099511627776xi32>'])
    yield (
        "heir, wide integers",
        heir(main=["%m = arith.constant 1 : i9999999999", "%k = arith.addi %m, %m : i9999999999"]),
    )
    yield "heir, many digits", heir(main=[f"%m = arith.constant {'9' * 1_000_000} : index"])
    yield "heir, many digits in a shape", heir(main=[f"%m = tensor.empty() : tensor<{'9' * 100_000}xf32>"])
    yield "heir, many results", heir(main=['%m:999999999999 = "func.call"() : () -> ()'])
    for sign, name in (("(", "parentheses"), ("[", "brackets"), ("{a = ", "braces"), ("<", "angles")):
        yield f"heir, deep {name}", b"#a = " + sign.encode() * 100_000
    yield "heir, deep types", b"!a = " + b"(" * 100_000
    yield "heir, deep groups", heir(aliases=f"!a = tuple<{'<' * 100_000}\n")
    yield "heir, deep regions", heir(main=["scf.if %x {"] * 5000)
    yield "heir, deep regions, generic", heir(main=['"scf.if"(%x) ({'] * 5000)
    yield "heir, a string without end", b'module { "' + b"a" * 1_000_000
    yield "heir, comments", b"//" * 1_000_000 + b"\n%"
    yield "heir, no text", bytes(range(256)) * 100


# skops


def skops_zip(schema, files=(), method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("schema.json", schema)
        for name, data in files:
            archive.writestr(name, data)
    return buffer.getvalue()


def skops_of(fitted):
    from skops import io as skops_io

    return skops_io.dumps(fitted)


def changed(data, change):
    """A file of skops with its arrays and its schema changed by a function of name and bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return buffer.getvalue()


def huge_header(name, data, shape="(1099511627776,)"):
    if not name.endswith(".npy"):
        return data
    return npy(shape)


def npy(shape, dtype="'<f8'", body=b""):
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def in_schema(old, new):
    return lambda name, data: data.replace(old, new) if name == "schema.json" else data


def lying(data, size):
    """An archive whose directory declares another size of its last entry, in both places."""
    entries = data.rindex(b"PK\x01\x02")
    local = struct.unpack_from("<I", data, entries + 42)[0]
    made = bytearray(data)
    struct.pack_into("<I", made, entries + 24, size)
    struct.pack_into("<I", made, local + 22, size)
    return bytes(made)


def zeros(count):
    return skops_zip("{}", [("bomb", b"\0" * count)], zipfile.ZIP_DEFLATED)


def overlapping(count):
    """Entries of a directory that all lie at one place."""
    data = zeros(1 << 20)
    start, end = data.rindex(b"PK\x01\x02"), data.rindex(b"PK\x05\x06")
    entry = data[start:end]
    entries = b"".join(entry[:46] + entry[46:].replace(b"bomb", b"%04x" % i) for i in range(count))
    first = data.index(b"PK\x01\x02")
    tail = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(entries), first, 0)
    return data[:first] + entries + tail


class Payload:
    """What a pickle runs when it is read."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (self.place,)


def fitted_tree():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    return DecisionTreeRegressor(max_leaf_nodes=12).fit(rng.normal(size=(64, 4)), rng.normal(size=64))


def with_children(change):
    """A tree in a file of skops whose lists of children are changed."""

    def changing(name, data):
        if not name.endswith(".npy"):
            return data
        array = np.load(io.BytesIO(data))
        if array.dtype.names and "left_child" in array.dtype.names:
            change(array)
            buffer = io.BytesIO()
            np.save(buffer, array)
            return buffer.getvalue()
        return data

    return changed(skops_of(fitted_tree()), changing)


def _shared(array):
    inner = np.flatnonzero(array["left_child"] >= 0)
    for a, b in itertools.pairwise(inner):
        array["left_child"][a] = array["right_child"][a] = b


def _cycle(array):
    array["right_child"][0] = 0


def _far(array):
    array["left_child"][0] = 2**40


def _feature(array):
    array["feature"][0] = 2**40


def skops_files(folder):
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import PolynomialFeatures

    rng = np.random.default_rng(0)
    ridge = skops_of(Ridge().fit(rng.normal(size=(9, 4)), rng.normal(size=9)))
    yield "skops, a bomb", zeros(878 << 20)
    yield "skops, a bomb that lies", lying(zeros(600 << 20), 100)
    yield "skops, a stored entry that lies", lying(skops_zip("{}", [("a", b"\0" * 5000)]), 100)
    yield "skops, an entry that says more", lying(zeros(1 << 20), (1 << 20) + 5)
    yield "skops, entries in one place", overlapping(60_000)
    yield "skops, entries in one place, fewer", overlapping(500)
    yield "skops, many entries", skops_zip("{}", [(f"e{i}", b"") for i in range(60_000)])
    yield "skops, one name", _twice()
    yield "skops, archives in archives", _nested(9)
    yield "skops, bzip2", skops_zip("{}", [("bomb", b"\0" * (64 << 20))], zipfile.ZIP_BZIP2)
    yield "skops, lzma", skops_zip("{}", [("bomb", b"\0" * (64 << 20))], zipfile.ZIP_LZMA)
    yield "skops, no schema", skops_zip("")
    yield "skops, a deep schema", skops_zip('{"a":' * 100_000)
    yield "skops, a deep list", skops_zip("[" * 100_000)
    yield "skops, a long number", skops_zip("9" * 1_000_000)
    yield "skops, cut off", ridge[: len(ridge) // 2]
    yield "skops, huge arrays", changed(ridge, huge_header)
    yield (
        "skops, huge arrays of nothing",
        changed(ridge, lambda n, d: huge_header(n, d, "(0, 4611686018427387904, 4611686018427387904)")),
    )
    yield "skops, arrays of negative shape", changed(ridge, lambda n, d: huge_header(n, d, "(-1,)"))
    yield "skops, arrays of many axes", changed(ridge, lambda n, d: huge_header(n, d, "(" + "1," * 2000 + ")"))
    yield (
        "skops, arrays of objects",
        changed(ridge, lambda n, d: npy("(1,)", "'|O'", pickle.dumps([Payload(folder)])) if n.endswith(".npy") else d),
    )
    yield "skops, a header that is deep", changed(ridge, lambda n, d: huge_header(n, d, "(" * 2000))
    yield "skops, many features", changed(ridge, in_schema(b'"4"', b'"1152921504606846976"'))
    poly = skops_of(PolynomialFeatures(2).fit(rng.normal(size=(9, 4))))
    yield "skops, a high degree", changed(poly, in_schema(b'"content": "2"', b'"content": "100000000"'))
    yield "skops, a foreign type", changed(ridge, in_schema(b'"Ridge"', b'"system"'))
    yield "skops, a foreign module", changed(ridge, in_schema(b"sklearn.linear_model._ridge", b"os"))
    yield "skops, a foreign loader", changed(ridge, in_schema(b'"ObjectNode"', b'"FunctionNode"'))
    yield "skops, a pickle", pickle.dumps(Payload(folder))
    yield (
        "skops, a pickle in an archive",
        skops_zip('{"__loader__": "x"}', [("data.pkl", pickle.dumps(Payload(folder)))]),
    )
    for name, change in (("a DAG", _shared), ("a cycle", _cycle), ("a far child", _far), ("a far feature", _feature)):
        yield f"skops, trees, {name}", with_children(change)


def _twice():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return skops_zip("{}", [("a", b"1"), ("a", b"2")])


def _nested(depth):
    data = b"\0" * (200 << 20)
    for _ in range(depth):
        data = skops_zip("{}", [("inner.zip", data)], zipfile.ZIP_DEFLATED)
    return data


# PyTorch's files, and arrays


def torch_files(folder):
    import torch

    buffer = io.BytesIO()
    torch.save({"a": torch.zeros(4)}, buffer)
    saved, run = buffer.getvalue(), pickle.dumps(Payload(folder))
    yield "pt, weights", saved
    yield "pt, cut off", saved[:-100]
    yield "pt, a pickle", run
    yield "pt, a pickle in an archive", skops_zip("", [("archive/data.pkl", run), ("archive/version", b"3")])
    yield "pt, a bomb", zeros(600 << 20)
    yield "pt, a bomb that lies", lying(zeros(600 << 20), 100)
    yield "pt, entries in one place", overlapping(60_000)
    yield "pt, nested", pickle.dumps(_lists(150))
    yield "pt, no file of any kind", b"\0" * 1000
    yield (
        "pt, a graph that is deep",
        skops_zip("", [("serialized_exported_program.json", "[" * 100_000), ("version", "7.3")]),
    )
    yield "pt, a graph that is none", skops_zip("", [("serialized_exported_program.json", "{}"), ("version", "7.3")])


def _lists(depth):
    made = []
    for _ in range(depth):
        made = [made]
    return made


def array_files(folder):
    objects = io.BytesIO()
    np.save(objects, np.array([Payload(folder)], object), allow_pickle=True)
    yield "npy, objects", objects.getvalue()
    yield "npy, a pickle", pickle.dumps(Payload(folder))
    for shape in ("(1099511627776,)", "(0, 4611686018427387904, 4611686018427387904)", "(-1,)", "(2, -3)", "(" * 5000, "(9" * 50, "(1,) * 9",
                  "(" + "9" * 8000 + ",)"):  # fmt: skip
        yield f"npy, shape {shape[:20]}", npy(shape)
    for dtype in ("'O'", "'V0'", "'S0'", "'|O8'", "[('a', 'O')]", "'V1000000000'", "'x'"):
        yield f"npy, dtype {dtype}", npy("(1,)", dtype)
    yield "npy, a long header", b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b"("
    yield "npz, a bomb", zeros(878 << 20)
    yield "npz, a bomb that lies", lying(zeros(600 << 20), 100)
    yield "npz, an array of a huge shape", skops_zip("", [("a.npy", npy("(1099511627776,)"))])
    yield "npz, many entries", skops_zip("", [(f"e{i}", b"") for i in range(60_000)])
    yield "npz, objects", skops_zip("", [("a.npy", objects.getvalue())])


# Reading them


def read_onnx(data, folder):
    os.mkfifo(folder / "pipe")
    with (folder / "sparse").open("wb") as file:
        file.truncate(2**32)
    (folder / "w").write_bytes(bytes(16))
    (folder / "net.onnx").write_bytes(data)
    lw.from_onnx(folder / "net.onnx")


def read_trees(data, _folder):
    width = onnx_import(data).graph.input[0].type.tensor_type.shape.dim[1].dim_value
    samples = np.arange(8.0 * width).reshape(8, width) + 0.37
    kind = onnx_import(data).graph.input[0].type.tensor_type.elem_type
    lw.from_onnx(io.BytesIO(data), trees="sign", samples=np.rint(samples) if kind == INT else samples, gap=2**-14)


def read_heir(data, folder):
    (folder / "program.mlir").write_bytes(data)
    program = lw.from_heir(folder / "program.mlir")
    if max(np.prod(p.kind.shape, dtype=object) for p in program.inputs) < 2**20:
        try:
            program(*(np.ones(p.kind.shape) for p in program.inputs))
        except lw.UserError:
            pass
        else:
            return
    assert program.code


def read_skops(data, _folder):
    loaded = lw.load_skops(data)
    lw.from_sklearn(loaded, trees="sign", samples=np.random.default_rng(0).normal(size=(20, 4)), gap=2**-12)


def read_torch(data, folder):
    from latticework.models.pytorch.exported_files import load_exported

    (folder / "net.pt2").write_bytes(data)
    for trust in (False, *([True] if not data.count(b"mkdir") else [])):  # whoever trusts a file lets it run
        try:
            load_exported(folder / "net.pt2", trust)
        except lw.UserError:
            continue
        return
    lw.from_torch(folder / "net.pt2")


def read_array(data, folder):
    from latticework.commands.array_files import read_values

    (folder / "array.npz").write_bytes(data)
    read_values(folder / "array.npz")


def hostile_files(folder):
    """All of them: name, how to read it, its bytes."""
    for read, made in ((read_onnx, onnx_files()), (read_trees, tree_files()), (read_heir, heir_files()),
                       (read_skops, skops_files(folder)), (read_torch, torch_files(folder)), (read_array, array_files(folder))):  # fmt: skip
        for name, data in made:
            yield name, read, data


def tried(read, data):
    """What comes of a file in a process of its own: the error, seconds and megabytes."""
    receiving, sending = os.pipe()
    started = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        addresses = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_CPU, (30, 31))
        resource.setrlimit(resource.RLIMIT_AS, (addresses + (4 << 30),) * 2)
        said, before = "imported", time.process_time()
        try:
            with tempfile.TemporaryDirectory() as folder:
                read(data, Path(folder))
        except lw.UserError as error:
            said = f"{type(error).__name__}: {error}"
        except BaseException as error:
            said = f"FAULT {type(error).__name__}: {error}"
        told = said[:300], time.process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        os.write(sending, json.dumps(told).encode())
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    if not told:
        return "FAULT killed", 30.0, 0.0
    said, seconds, peak = json.loads(told)
    return said, seconds, (peak - started) / 2**20


def main(wanted):
    warnings.simplefilter("ignore")
    import skops.io  # noqa: F401
    import torch
    import torch.export  # noqa: F401

    import latticework.commands.array_files  # noqa: F401

    lw.from_onnx(long_chain(3))  # loads what is loaded when it is first used
    lw.from_sklearn(lw.load_skops(skops_of(fitted_tree())), trees="sign", samples=np.eye(4) + 0.1, gap=2**-12)
    assert lw.from_heir(heir()).code
    with tempfile.TemporaryDirectory() as folder:
        marker = str(Path(folder) / "was run")
        for name, read, data in hostile_files(marker):
            if wanted and not any(part in name for part in wanted):
                continue
            said, seconds, megabytes = tried(read, data)
            if Path(marker).exists():
                said = "FAULT a pickle was run"
                Path(marker).rmdir()
            told = {
                "name": name,
                "bytes": len(data),
                "said": said,
                "seconds": round(seconds, 2),
                "megabytes": round(megabytes),
            }
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
