"""Operators of PyTorch by family: functions of a few tensors, each a case of its own."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from latticework.functions.table import RECORDS

Case = Callable[..., Tensor | tuple[Tensor, ...]]

POSITIVE = "positive"  # a family whose inputs are between 0.5 and 2
OF_TABLE = "functions of one number"  # and one whose inputs are between 0 and 1


def weight(*shape: int, seed: int = 1) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape) / 2)


W, B, M = weight(4, 4), weight(4), torch.tensor([[True, False, True, False]])
NUMBERS = torch.tensor([2, 0, 3])

ARITHMETIC: dict[str, Case] = {
    "add": lambda x, y: x + y,
    "add alpha": lambda x, y: torch.add(x, y, alpha=2.5),
    "add number": lambda x, y: torch.add(x, 3, alpha=2),
    "sub": lambda x, y: x - y,
    "sub alpha": lambda x, y: torch.sub(x, y, alpha=0.5),
    "rsub": lambda x, y: torch.rsub(x, y, alpha=3) + (1 - x),
    "mul": lambda x, y: x * y * 2,
    "div": lambda x, y: x / 3 + x / W.abs().add(1),
    "neg": lambda x, y: -x + torch.negative(y),
    "degrees": lambda x, y: torch.deg2rad(x) + torch.rad2deg(y),
    "square": lambda x, y: torch.square(x) + x**2 + x**3,
    "public base": lambda x, y: 2.0**x,
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.5),
    "addcdiv": lambda x, y: torch.addcdiv(x, y, W.abs() + 1, value=0.5),
    "lerp": lambda x, y: torch.lerp(x, y, 0.25) + torch.lerp(x, y, W),
    "clamp": lambda x, y: x.clamp(-0.5, 0.75) + x.clamp(min=0) + x.clamp(max=W),
    "clamp_min": lambda x, y: torch.clamp_min(x, 0.1) + torch.clamp_max(x, 0.1),
    "maximum": lambda x, y: torch.maximum(x, y) - torch.minimum(x, W),
    "where": lambda x, y: torch.where(M, x, y) + torch.where(M, x, 0.0) + torch.where(W > 0, 1.0, y),
    "masked_fill": lambda x, y: x.masked_fill(M, 2.0),
}
POSITIVES: dict[str, Case] = {
    "div by a secret": lambda x, y: x / y + 1 / x,
    "sqrt": lambda x, y: x.sqrt() + x**0.5,
    "rsqrt": lambda x, y: x.rsqrt() + x**-0.5,
    "reciprocal": lambda x, y: x.reciprocal() + x**-2,
    "norm": lambda x, y: torch.linalg.vector_norm(x, dim=1) + x.norm(dim=1) + torch.norm(y, 1, 1),
    "norm of all": lambda x, y: torch.linalg.norm(x) + torch.linalg.norm(x[0]) + torch.norm(x),
    "normalize": lambda x, y: F.normalize(x, dim=1),
    "cdist": lambda x, y: torch.cdist(x, y + 2),
    "pairwise_distance": lambda x, y: F.pairwise_distance(x, y + 2) + F.pairwise_distance(x, y, 1.0, 0.1, True),
    "lp_pool of odd p": lambda x, y: F.lp_pool1d(x[None], 3, 2) + F.lp_pool1d(y[None], 1.5, 2),
    "std": lambda x, y: x.std(1) + x.var(1) + x.var(1, correction=0) + x.std(),
    "logsumexp": lambda x, y: torch.logsumexp(x, 1),
    "cosine": lambda x, y: F.cosine_similarity(x, y),
}


def _of_table(name: str, low: float, high: float) -> Case:
    return lambda x, y: getattr(torch.ops.aten, name).default(low + (high - low) * x)


FUNCTIONS = {name: _of_table(name, *record.arguments) for record in RECORDS for name in record.aten_names}
LINEAR: dict[str, Case] = {
    "linear": lambda x, y: F.linear(x, W, B) + F.linear(x, W),
    "matmul": lambda x, y: x @ W + W @ x + x @ y,
    "mv": lambda x, y: x @ B + torch.mv(x, B) + torch.dot(x[0], y[1]),
    "bmm": lambda x, y: torch.bmm(x.view(2, 2, 4), y.view(2, 4, 2)),
    "addmm": lambda x, y: torch.addmm(x, y, W, beta=0.5, alpha=2) + torch.addmv(B, x, B),
    "baddbmm": lambda x, y: torch.baddbmm(W.view(2, 2, 4), x.view(2, 2, 4), weight(2, 4, 4), beta=0.5, alpha=2),
    "addbmm": lambda x, y: torch.addbmm(x[:2], x.view(2, 2, 4), weight(2, 4, 4)),
    "einsum": lambda x, y: torch.einsum("ij,kj->ik", x, W) + torch.einsum("ij,jk", x, y),
    "bilinear": lambda x, y: F.bilinear(x, y, weight(3, 4, 4), weight(3)),
    "outer": lambda x, y: torch.outer(x[0], y[0]),
    "tensordot": lambda x, y: torch.tensordot(x, y, dims=([0], [1])),
    "kron": lambda x, y: torch.kron(x[:2, :2], W[:2]),
    "matrix_power": lambda x, y: torch.linalg.matrix_power(x, 3),
}
ACTIVATIONS: dict[str, Case] = {
    "relu": lambda x, y: F.relu(x) + torch.relu_(x * 2),
    "relu6": lambda x, y: F.relu6(4 * x) + F.hardtanh(x, -0.5, 0.5),
    "leaky_relu": lambda x, y: F.leaky_relu(x, 0.2) + F.rrelu(x, 0.1, 0.3),
    "prelu": lambda x, y: F.prelu(x, B) + F.prelu(x, B[:1]),
    "elu": lambda x, y: F.elu(x, 0.5) + F.selu(x) + F.celu(x, 0.5),
    "silu": lambda x, y: F.silu(x) + F.mish(x),
    "softplus": lambda x, y: F.softplus(x) + F.softplus(x, 2, 1),
    "gelu": lambda x, y: F.gelu(x) + F.gelu(x, approximate="tanh"),
    "hardswish": lambda x, y: F.hardswish(x) + F.hardsigmoid(x),
    "sigmoid": lambda x, y: torch.sigmoid(x) + F.logsigmoid(x),
    "tanh": lambda x, y: torch.tanh(x) + F.tanhshrink(x) + F.softsign(x),
    "threshold": lambda x, y: F.threshold(x, 0.5, 0.5) + F.threshold(x, 0, 0),
    "glu": lambda x, y: F.glu(x),
    "softshrink": lambda x, y: F.softshrink(x) + nn.Softshrink(0.25)(y) + F.softshrink(x, 0),
    "softmax": lambda x, y: F.softmax(x, -1) + F.log_softmax(x, 0) + F.softmin(x, 1),
}
SHAPES: dict[str, Case] = {
    "view": lambda x, y: x.view(2, 8) + y.reshape(2, -1),
    "flatten": lambda x, y: torch.flatten(x.view(2, 2, 2, 2), 1, 2),
    "unflatten": lambda x, y: x.unflatten(1, (2, 2)),
    "permute": lambda x, y: x.view(2, 2, 4).permute(2, 0, 1) + y.T.reshape(4, 2, 2).mT,
    "transpose": lambda x, y: x.transpose(0, 1) + x.t() + x.swapaxes(0, 1) + torch.movedim(y, 0, 1),
    "numpy_T": lambda x, y: x.view(2, 2, 4).permute(2, 1, 0),
    "squeeze": lambda x, y: x[:, None].squeeze(1) + y.unsqueeze(0).squeeze() + x[None, :, None].squeeze((0, 2)),
    "expand": lambda x, y: x[:, :1].expand(4, 3) + x[0, 0].expand(4, 3) + y[:, :1].expand(-1, 3),
    "select": lambda x, y: x[1] + y[:, -1],
    "slice": lambda x, y: x[1:, ::2] + y[:3, 2:],
    "narrow": lambda x, y: x.narrow(0, 1, 2),
    "index_select": lambda x, y: x.index_select(1, NUMBERS) + y[:, NUMBERS],
    "index": lambda x, y: x[NUMBERS, NUMBERS] + y[NUMBERS][:, 0] + x[M[0]].sum(),
    "gather": lambda x, y: x.gather(1, torch.tensor([[0, 1], [3, 2]])),
    "embedding": lambda x, y: F.embedding(NUMBERS, x),
    "unbind": lambda x, y: torch.add(*x[:2].unbind(0)),
    "split": lambda x, y: x.split(3)[1] + y.split([1, 3], 1)[1][:1, :1] + torch.chunk(x, 2, 1)[1].sum(),
    "tensor_split": lambda x, y: torch.tensor_split(x, 3)[1] + torch.tensor_split(y, (1, 2))[1],
    "flip": lambda x, y: x.flip(0) + y.flip((0, 1)),
    "roll": lambda x, y: x.roll(1) + y.roll((1, 2), (0, 1)),
    "repeat": lambda x, y: x.repeat(2, 1) + y.tile(2, 1) + torch.repeat_interleave(x, 2, 0),
    "diagonal": lambda x, y: torch.diagonal(x) + y.diag(),
    "unfold": lambda x, y: x.unfold(1, 2, 1),
    "tril": lambda x, y: x.tril() + y.triu(1),
    "several": lambda x, y: (x[0], y[1:]),
}
JOINING: dict[str, Case] = {
    "cat": lambda x, y: torch.cat([x, y, W], 1),
    "stack": lambda x, y: torch.stack([x, y], -1),
    "pad": lambda x, y: F.pad(x, (1, 2)) + F.pad(y, (1, 2), value=0.5) + F.pad(x, (2, 2, 0, 0))[:, :7],
    "reflect": lambda x, y: F.pad(x, (1, 2), mode="reflect") + F.pad(x, (2, 1), mode="replicate"),
    "reflect images": lambda x, y: (
        F.pad(x[None], (1, 1, 2, 1), mode="reflect") + F.pad(y[None], (1, 1, 2, 1), mode="replicate")
    ),
    "circular": lambda x, y: F.pad(x, (1, 2), mode="circular") + F.pad(y[None], (1, 2, 0, 0), mode="circular")[0],
    "pixel_shuffle": lambda x, y: F.pixel_shuffle(x.view(4, 2, 2), 2),
    "pixel_unshuffle": lambda x, y: F.pixel_unshuffle(x[None], 2),
    "channel_shuffle": lambda x, y: F.channel_shuffle(x[None, :, :, None], 2),
}
REDUCTIONS: dict[str, Case] = {
    "sum": lambda x, y: x.sum() + y.sum(1) + x.sum((0, 1)),
    "mean": lambda x, y: x.mean() + y.mean(0, keepdim=True) + x.mean((0, 1), dtype=torch.float64),
    "prod": lambda x, y: x[:, :2].prod(1) + x[0, :3].prod(),
    "amax": lambda x, y: x.amax(1) - y.amin((0, 1)) + x.max(),
    "max": lambda x, y: x.max(1)[0] + torch.min(y, 1).values + torch.min(x, y)[0],
    "var": lambda x, y: x.var() + torch.var(x, 1, unbiased=False) + x.var((0, 1), keepdim=True)[0],
    "cumsum": lambda x, y: x.cumsum(1),
}
COPIES: dict[str, Case] = {
    "identity": lambda x, y: nn.Identity()(x).clone().contiguous().detach() + F.dropout(y, 0.5, training=False),
    "conversions": lambda x, y: x.double().to(torch.float64).type_as(y) + y.to(y.dtype),
    "new": lambda x, y: torch.zeros_like(x) + torch.ones_like(x) + torch.full_like(x, 2.0) + x + x.new_zeros(4),
    "new full": lambda x, y: x + x.new_full((4,), 2.0) + x.new_ones(4),
    "masks": lambda x, y: x + torch.tril(torch.ones(4, 4)) + torch.arange(4) * (torch.arange(4) > 1),
}


def _assigned(x: Tensor, y: Tensor) -> Tensor:
    made = torch.zeros(4, 4, dtype=x.dtype)
    made[0] = x[1]
    made[:, 1] = 2.0
    made[2:, 2:] = y[:2, :2]
    made[torch.tensor([0, 3]), torch.tensor([3, 3])] = y[0, :2]
    return made + x


COPIES["assignment"] = _assigned

IMAGE = (2, 4, 6, 6)
IMAGES: dict[str, Case] = {
    "conv2d": lambda x: (
        F.conv2d(x, weight(3, 4, 3, 3), weight(3), 2, 1) + F.conv2d(x, weight(3, 4, 2, 2), stride=(2, 2))
    ),
    "conv2d padding": lambda x: F.conv2d(x, weight(2, 4, 3, 2), padding="same"),
    "conv2d valid": lambda x: F.conv2d(x, weight(4, 2, 3, 3), padding="valid", dilation=2, groups=2),
    "conv1d": lambda x: F.conv1d(x[:, 0], weight(4, 3, 3), weight(4), 1, 1, 1, 2),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, weight(4, 2, 3, 3), weight(2), 2, 1, 1),
    "conv_transpose1d": lambda x: F.conv_transpose1d(x[:, 0], weight(6, 2, 3), None, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2) + F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "avg_pool2d sizes": lambda x: (
        F.avg_pool2d(x, (3, 2), (2, 1), 1, True) + F.avg_pool2d(x, (2, 2), divisor_override=3)[..., :1, :1]
    ),
    "avg_pool1d": lambda x: F.avg_pool1d(x[:, 0], 3, 1, 1),
    "lp_pool2d": lambda x: (
        F.lp_pool2d(x, 2, (3, 2)) + F.lp_pool2d(x, 4, (3, 2), 2)[..., :1] + F.lp_pool2d(x, 1, 2)[..., :2, :]
    ),
    "unfold": lambda x: F.unfold(x, (2, 3), 2, 1, (1, 2)),
    "fold": lambda x: (
        F.fold(x[:, :, 0], (3, 7), 2, padding=(0, 1), stride=(1, 3))[..., :2, :2]
        + F.fold(x.flatten(2)[..., :9], (5, 5), 2, 2)[..., :2, :2]
    ),
    "max_pool2d": lambda x: F.max_pool2d(x, 2) + F.max_pool2d(x, 3, 2, 1),
    "max_pool1d": lambda x: F.max_pool1d(x[:, 0], 2),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, 1) + F.adaptive_avg_pool2d(x, (None, 3))[..., :1, :],
    "adaptive sizes": lambda x: F.adaptive_avg_pool2d(x, (4, 5)),
    "adaptive 1d": lambda x: F.adaptive_avg_pool1d(x[:, 0], 4),
    "adaptive max": lambda x: F.adaptive_max_pool2d(x, (2, 4)),
}

FAMILIES: dict[str, tuple[dict[str, Case], tuple[tuple[int, ...], ...]]] = {
    "arithmetic": (ARITHMETIC, ((4, 4), (4, 4))),
    POSITIVE: (POSITIVES, ((4, 4), (4, 4))),
    OF_TABLE: (FUNCTIONS, ((4, 4), (4, 4))),
    "linear": (LINEAR, ((4, 4), (4, 4))),
    "activations": (ACTIVATIONS, ((4, 4), (4, 4))),
    "shapes": (SHAPES, ((4, 4), (4, 4))),
    "joining": (JOINING, ((4, 4), (4, 4))),
    "reductions": (REDUCTIONS, ((4, 4), (4, 4))),
    "copies": (COPIES, ((4, 4), (4, 4))),
    "images": (IMAGES, (IMAGE,)),
}
NORMS: dict[str, Case] = {
    "batch_norm": lambda x: F.batch_norm(x, B, B.abs() + 1, B, weight(4, seed=2)) + F.batch_norm(x, B, B.abs()),
    "layer_norm": lambda x: F.layer_norm(x, (3, 3), weight(3, 3), weight(3, 3)) + F.layer_norm(x, (3,), eps=0.1),
    "group_norm": lambda x: F.group_norm(x, 2, B, B + 1) + F.group_norm(x, 4),
    "instance_norm": lambda x: F.instance_norm(x, weight=B, bias=B + 1) + F.instance_norm(x),
    "instance_norm by statistics": lambda x: F.instance_norm(x, B, B.abs() + 1, use_input_stats=False),
    "rms_norm": lambda x: F.rms_norm(x, (3,), weight(3)) + F.rms_norm(x, (3, 3), eps=0.1),
    "local_response_norm": lambda x: F.local_response_norm(x, 3, 0.5),
}
RESIZING: dict[str, Case] = {
    "nearest": lambda x: F.interpolate(x, scale_factor=2) + F.interpolate(x, (6, 6)),
    "nearest factor": lambda x: F.interpolate(x, scale_factor=1.7) + F.interpolate(x, (5, 5)),
    "nearest-exact": lambda x: F.interpolate(x, scale_factor=1.7, mode="nearest-exact"),
    "nearest 1d": lambda x: F.interpolate(x[:, 0], 7),
    "bilinear": lambda x: (
        F.interpolate(x, (5, 7), mode="bilinear") + F.interpolate(x, (5, 7), mode="bilinear", align_corners=True)
    ),
    "bilinear factor": lambda x: F.interpolate(x, scale_factor=2.5, mode="bilinear"),
    "linear": lambda x: F.interpolate(x[:, 0], scale_factor=2, mode="linear"),
    "bicubic": lambda x: F.interpolate(x, (5, 7), mode="bicubic"),
    "antialiased": lambda x: (
        F.interpolate(x, (2, 5), mode="bilinear", antialias=True)
        + F.interpolate(x, (2, 5), mode="bicubic", antialias=True)
    ),
}
HIDDEN = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)
ATTENTION: dict[str, Case] = {
    "plain": lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
    "causal": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
    "mask": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=~HIDDEN),
    "addends": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=W.masked_fill(HIDDEN, -torch.inf)),
    "filled": lambda q, k, v: torch.softmax((q @ k.mT).masked_fill(HIDDEN, -torch.inf), -1) @ v,
    "filled far": lambda q, k, v: F.softmax((q @ k.mT).masked_fill(HIDDEN, torch.finfo(torch.float64).min), 1) @ v,
    "added": lambda q, k, v: F.softmax(q @ k.mT + torch.full((4, 4), -torch.inf).triu(1), dim=-1) @ v,
    "chosen": lambda q, k, v: F.softmax(torch.where(HIDDEN, -1e9, q @ k.mT), dim=-1) @ v,
}
FAMILIES["attention"] = (ATTENTION, ((2, 4, 4),) * 3)
FAMILIES["norms"] = (NORMS, ((2, 4, 3, 3),))
FAMILIES["resizing"] = (RESIZING, ((2, 4, 3, 3),))

NOT_OF_CORE = {
    "bilinear",
    "leaky_relu",
    "prelu",
    "elu",
    "silu",
    "mish",
    "sinc",
    "special_sinc",
    "softplus",
    "threshold",
    "fold",
    "logsumexp",
    "instance_norm",
    "plain",
    "causal",
    "mask",
    "addends",
}  # fmt: skip; PyTorch takes them apart into steps


class Family(nn.Module):
    """All cases of a family at once, by name: one export takes as long as one of each."""

    def __init__(self, cases: dict[str, Case]) -> None:
        super().__init__()
        self.cases = cases

    def forward(self, *given: Tensor) -> dict[str, Tensor | tuple[Tensor, ...]]:
        return {name: case(*given) for name, case in self.cases.items()}


def inputs_of(family: str, seed: int = 0) -> list[Tensor]:
    rng = np.random.default_rng(seed)
    ends = {POSITIVE: (0.5, 2.0), OF_TABLE: (0.0, 1.0)}.get(family)
    draw = (lambda s: rng.uniform(*ends, s)) if ends else (lambda s: rng.normal(size=s))
    return [torch.from_numpy(draw(shape)) for shape in FAMILIES[family][1]]
