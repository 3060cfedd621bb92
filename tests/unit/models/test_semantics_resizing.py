"""Meanings of resizing: PyTorch's, and by way of its reference ONNX's, on arrays and of secrets."""

import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F
from meaning_cases import check, encrypted, refused, simulated
from onnx.reference import ReferenceEvaluator

from latticework.models.semantics import resizing

RNG = np.random.default_rng(9)
X = RNG.normal(size=(2, 3, 4, 5))
T = torch.from_numpy


@pytest.mark.parametrize("size", [(8, 10), (3, 7), (4, 5), (1, 2)])
def test_to_sizes_as_pytorch(size):
    check(resizing.upsample_nearest, (X,), F.interpolate(T(X), size), size=size)
    check(resizing.upsample_nearest, (X[:, :, 0],), F.interpolate(T(X[:, :, 0]), size[1]), size=size[1:])
    for corners in (True, False):
        for mode, meaning in (("bilinear", resizing.upsample_bilinear), ("bicubic", resizing.upsample_bicubic)):
            expected = F.interpolate(T(X), size, mode=mode, align_corners=corners)
            check(meaning, (X,), expected, size=size, align_corners=corners)
        lines = F.interpolate(T(X[:, :, 0]), size[1], mode="linear", align_corners=corners)
        check(resizing.upsample_bilinear, (X[:, :, 0],), lines, size=size[1], align_corners=corners)


@pytest.mark.parametrize("factor", [2, 1.5, (2.0, 0.7), 2.3])
def test_by_factors_as_pytorch(factor):
    """Factors that are not whole say where elements lie, not the rounded size."""
    check(resizing.upsample_nearest, (X,), F.interpolate(T(X), scale_factor=factor), scale_factor=factor)
    expected = F.interpolate(T(X), scale_factor=factor, mode="bilinear")
    check(resizing.upsample_bilinear, (X,), expected, scale_factor=factor)


@pytest.mark.parametrize("seed", range(12))
def test_antialiased_as_pytorch(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1, 2, *rng.integers(1, 12, 2)))
    to = {"size": rng.integers(1, 14, 2).tolist()} if seed % 2 else {"scale_factor": rng.uniform(0.2, 2, 2).tolist()}
    if seed % 2 == 0 and min(n * f for n, f in zip(x.shape[2:], to["scale_factor"], strict=True)) < 1:
        to = {"scale_factor": 1.0}
    for corners in (True, False):
        for mode, named in (("bilinear", "linear"), ("bicubic", "cubic")):
            expected = F.interpolate(T(x), mode=mode, align_corners=corners, antialias=True, **to)
            check(resizing.resize_antialiased, (x,), expected, mode=named, align_corners=corners, **to)


def by_onnx(x, sizes, scales, **attributes):
    """What the reference evaluator of the onnx package makes of Resize, with weights of 32 bits."""
    given = {"scales": np.array([1, 1, *scales], np.float32)} if scales else {"sizes": np.array([*x.shape[:2], *sizes])}
    names = ["x", "", "scales"] if scales else ["x", "", "", "sizes"]
    node = onnx.helper.make_node("Resize", names, ["y"], **attributes)
    kind = onnx.helper.make_tensor_value_info
    inputs = [kind("x", onnx.TensorProto.DOUBLE, x.shape)] + [
        kind(n, onnx.TensorProto.FLOAT if n == "scales" else onnx.TensorProto.INT64, [4]) for n in given
    ]
    graph = onnx.helper.make_graph([node], "g", inputs, [kind("y", onnx.TensorProto.DOUBLE, None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)])
    return ReferenceEvaluator(model).run(None, {"x": x, **given})[0]


@pytest.mark.parametrize("coordinates", resizing.COORDINATES)
@pytest.mark.parametrize("scales", [None, (1.5, 0.75), (2.0, 2.0)])
def test_as_onnx(coordinates, scales):
    if coordinates == "align_corners" and scales:
        scales = (1.5, 2.0)  # lengths are whole then: the evaluator does not round them here, as ONNX's text does
    sizes = tuple(int(np.floor(n * s)) for n, s in zip((4, 5), scales, strict=True)) if scales else (7, 3)
    options = {"coordinate_transformation_mode": coordinates}
    for rounding in resizing.ROUNDING:
        expected = by_onnx(X, sizes, scales, mode="nearest", nearest_mode=rounding, **options)
        check(resizing.resize, (X, sizes, "nearest", coordinates), expected, scales=scales, nearest_mode=rounding)
    for mode, excluded in (("linear", 0), ("cubic", 0), ("cubic", 1)):
        expected = by_onnx(X, sizes, scales, mode=mode, exclude_outside=excluded, **options)
        check(
            resizing.resize,
            (X, sizes, mode, coordinates),
            expected,
            scales=scales,
            exclude_outside=bool(excluded),
            atol=1e-5,
        )


def test_refused():
    refused("either size= or scale_factor=", resizing.upsample_nearest, (X,))
    refused("mode='area'", resizing.resize, (X, (2, 2), "area"))
    refused("mode='tf_crop_and_resize'", resizing.resize, (X, (2, 2), "linear", "tf_crop_and_resize"))
    refused("nearest_mode='up'", resizing.resize, (X, (2, 2)), nearest_mode="up")
    refused("lengths of at least 1", resizing.resize, (X, (0, 2)))


def test_compiled():
    simulated(resizing.upsample_bilinear, (X[:1, :1],), size=(6, 7))
    encrypted(resizing.upsample_nearest, (X[:1, :2],), scale_factor=2)
