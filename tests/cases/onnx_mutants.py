"""Altered copies of ONNX models, imported in a process of its own.

    python onnx_mutants.py FIRST COUNT

Byte flips, cut-offs, pieces of one model in another, numbers of the file made absurd. Whatever is no error of ours, takes
long, or takes much more memory than the file, is told in the JSON that is printed: counts of outcomes, faults with their
number, and the megabytes that the process grew by.
"""

import json
import random
import resource
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import helper
from onnx_graphs import array, convolutional, model, perceptron

import latticework as lw
from latticework.errors import UserError

SECONDS = 20.0  # of processor time, for one file
SPARE_BYTES = 300 << 20  # of address space, beyond what the models as they are needed
ABSURD = (0, 1, -1, 2**31, 2**40, 2**60, -(2**60), 2**63 - 1, 7, 255)


def wide(rng):
    """Operators whose attributes and arrays say how large results are."""
    node = helper.make_node
    return model(
        [node("Pad", ["x", "pads"], ["p"]), node("MaxPool", ["p"], ["m"], kernel_shape=[2, 2], pads=[0, 0, 1, 1], strides=[1, 1]),
         node("ConvTranspose", ["m", "w"], ["t"], strides=[2, 2], output_padding=[1, 1]), node("Tile", ["t", "reps"], ["r"]),
         node("Resize", ["r", "", "scales"], ["z"], mode="nearest"), node("Slice", ["z", "s0", "s1", "axes"], ["c"]),
         node("Expand", ["c", "shape"], ["e"]), node("Range", ["zero", "end", "one"], ["n"]), node("Cast", ["n"], ["f"], to=1),
         node("Add", ["e", "f"], ["y"]), node("ConstantOfShape", ["four"], ["k"]), node("Conv", ["y", "k"], ["o"], dilations=[1, 2])],
        {"x": [1, 1, 4, 4]}, ["o"],
        [array("pads", np.array([0, 0, 1, 1, 0, 0, 1, 1])), array("w", rng.normal(size=(1, 1, 2, 2))), array("reps", np.array([1, 1, 1, 2])),
         array("scales", np.array([1.0, 1.0, 2.0, 1.0])), array("s0", np.array([0])), array("s1", np.array([8])), array("axes", np.array([2])),
         array("shape", np.array([1, 1, 8, 1])), array("zero", np.array(0)), array("end", np.array(26)), array("one", np.array(1)),
         array("four", np.array([1, 1, 2, 2]))],
    )  # fmt: skip


def originals():
    """The models as they are, by their bytes."""
    rng = np.random.default_rng(0)
    return [m.SerializeToString() for m in (perceptron(rng, 1), convolutional(rng, 1), wide(rng))]


def mutant(number, sources):
    """An altered model; the same for the same number."""
    draw = random.Random(number)
    data = bytearray(draw.choice(sources))
    way = draw.choice(("flip", "flip", "cut", "splice", "number", "field", "field", "array"))
    if way == "flip":
        for _ in range(draw.randint(1, 8)):
            data[draw.randrange(len(data))] = draw.randrange(256)
    elif way == "cut":
        del data[draw.randrange(len(data)) :]
    elif way == "splice":
        other = draw.choice(sources)
        start, at, size = draw.randrange(len(other)), draw.randrange(len(data)), draw.randint(1, 200)
        data[at : at + draw.choice((0, size))] = other[start : start + size]
    elif way == "number":
        at = draw.randrange(len(data))
        data[at : at + 1] = varint(draw.choice(ABSURD))
    else:
        found = onnx.ModelProto.FromString(bytes(data))
        (_field if way == "field" else _array)(found, draw)
        return found.SerializeToString()
    return bytes(data)


def varint(value):
    """A whole number as protobuf writes it."""
    value &= 2**64 - 1
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def _field(found, draw):
    """A number or a name among nodes, attributes and shapes."""
    node = draw.choice(found.graph.node)
    what = draw.choice(("attribute", "input", "output", "type", "shape", "dims", "copy", "cycle"))
    if what == "attribute" and node.attribute:
        given = draw.choice(node.attribute)
        if given.ints:
            given.ints[draw.randrange(len(given.ints))] = draw.choice(ABSURD)
            if draw.random() < 0.2:
                given.ints.extend([draw.choice(ABSURD)] * draw.randint(1, 40))
        else:
            given.i, given.f, given.type = draw.choice(ABSURD), float("inf"), draw.randint(0, 15)
    elif what in ("input", "output") and getattr(node, what):
        names = getattr(node, what)
        other = draw.choice(found.graph.node)
        names[draw.randrange(len(names))] = draw.choice([*other.input, *other.output, "nothing"])
    elif what == "type":
        node.op_type = draw.choice(
            [n.op_type for n in found.graph.node] + ["Loop", "If", "Einsum", "Gather", "LSTM", "Attention"]
        )
    elif what == "shape":
        draw.choice(found.graph.input[0].type.tensor_type.shape.dim).dim_value = draw.choice(ABSURD)
    elif what == "dims":
        tensor = draw.choice(found.graph.initializer)
        if tensor.dims:
            tensor.dims[draw.randrange(len(tensor.dims))] = draw.choice(ABSURD)
        tensor.data_type = draw.choice((tensor.data_type, draw.randint(0, 30)))
    elif what == "copy":
        found.graph.node.append(node)
    else:
        found.graph.node[0].input[0] = found.graph.node[-1].output[0]


def _array(found, draw):
    """Numbers of an array, which say sizes, or are weights."""
    tensor = draw.choice(found.graph.initializer)
    values = np.array(onnx.numpy_helper.to_array(tensor))
    flat = values.reshape(-1)
    at = draw.randrange(flat.size)
    flat[at] = draw.choice(ABSURD) if values.dtype.kind == "i" else draw.choice((np.inf, np.nan, 1e30, 0.0, 2.0**40))
    tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))


def main(first, count):
    warnings.simplefilter("ignore")
    sources = originals()
    for data in sources:
        lw.from_onnx(data)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + SPARE_BYTES,) * 2)
    before, counts, faults = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, Counter(), []
    for number in range(first, first + count):
        data, started = mutant(number, sources), time.process_time()
        try:
            lw.from_onnx(data)
            outcome = "imported"
        except UserError as error:
            outcome = type(error).__name__
            if "MemoryError" in str(error):
                faults.append((number, str(error)[:200]))
        except BaseException as error:
            outcome = "fault"
            faults.append((number, f"{type(error).__name__}: {error}"[:200]))
        counts[outcome] += 1
        if time.process_time() - started > SECONDS:
            faults.append((number, f"{time.process_time() - started:.0f} s"))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({"counts": counts, "faults": faults[:20], "grown_mb": grown}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
