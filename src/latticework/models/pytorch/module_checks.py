"""Refuse modules that would compute something else than they say, before they are exported."""

from __future__ import annotations

import os
from typing import Any

from latticework.errors import TraceError, UserError
from latticework.ir.location import Loc
from latticework.models.pytorch.example import check_example

_SHOWN = 5


def check_module(torch: Any, module: Any, at: Loc) -> None:
    """UserError unless this is a module in evaluation mode, with what to give instead."""
    instead = _instead(torch, module)
    if instead:
        raise UserError(f"from_torch: {instead}", at=at)
    training = [
        f"{path or type(part).__name__} ({type(part).__name__})"
        for path, part in module.named_modules()
        if part.training and _training_matters(torch, part)
    ]
    if training:
        names = ", ".join(training[:_SHOWN]) + (", ..." if len(training) > _SHOWN else "")
        raise TraceError(
            f"from_torch: {type(module).__name__} is in training mode, in which {names} compute with random numbers or "
            "the statistics of the batch; call module.eval() first",
            at=at,
        )


def check_exported(torch: Any, exported: Any, name: str, at: Loc, example: Any = None) -> None:
    """TraceError where a shape is not a number, or an example does not have the shapes that were exported."""
    users = set(exported.graph_signature.user_inputs)
    shapes: dict[str, tuple[Any, ...]] = {}
    for node in exported.graph.nodes:
        if node.op == "placeholder" and node.name in users and hasattr(node.meta.get("val"), "shape"):
            shapes[node.name] = tuple(node.meta["val"].shape)
    symbolic = [f"{key} {tuple(map(str, shape))}" for key, shape in shapes.items() if not _is_static(shape)]
    if symbolic:
        raise TraceError(
            f"from_torch: {name} was exported with sizes that are not fixed: {', '.join(symbolic)}; encrypted programs "
            "have fixed shapes: export it without dynamic_shapes",
            at=at,
        )
    if example is not None:
        check_example(shapes, example, name, at)


def _is_static(shape: tuple[Any, ...]) -> bool:
    return all(type(size) is int for size in shape)


def _instead(torch: Any, module: Any) -> str:
    """The reason why `module` is no module, and what to give instead; "" for modules."""
    if isinstance(module, str | os.PathLike):
        return (
            f"{os.fspath(module)!r} is a path; load the model yourself and give the module, or an exported program by "
            "latticework.models.pytorch.exported_files.load_exported(path, trust=True)"
        )
    if isinstance(module, dict):
        return "a dictionary is no module; make the module, call module.load_state_dict(...) and give the module"
    if isinstance(module, torch.jit.ScriptModule):
        return "a module of TorchScript cannot be exported; give the nn.Module that it was made of"
    if isinstance(module, type):
        return f"{module.__name__} is a class; give a trained module of it"
    if not isinstance(module, torch.nn.Module):
        return f"a {type(module).__name__} is no nn.Module and no ExportedProgram; functions go into a module's forward"
    if isinstance(module, torch.nn.DataParallel | torch.nn.parallel.DistributedDataParallel):
        return f"a {type(module).__name__} spreads a module over devices; give its .module"
    if hasattr(module, "_orig_mod"):
        return "a module of torch.compile; give the module that it was made of, which is its ._orig_mod"
    for path, part in module.named_modules():
        if ".quantized." in type(part).__module__:
            return f"{path or 'the module'} is quantised ({type(part).__name__}); give the module before quantisation"
    for path, weight in module.named_parameters():
        if isinstance(weight, torch.nn.parameter.UninitializedParameter) or weight.is_meta:
            return f"{path} has no numbers yet; load the weights of the module first, or call a lazy one once"
    return ""


def _training_matters(torch: Any, module: Any) -> bool:
    nn = torch.nn
    if isinstance(module, nn.modules.instancenorm._InstanceNorm):
        return bool(module.track_running_stats)
    if isinstance(module, nn.modules.batchnorm._NormBase | nn.RReLU):
        return True
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return bool(module.p > 0)
    if isinstance(module, nn.RNNBase | nn.MultiheadAttention):
        return bool(module.dropout > 0)
    return False
