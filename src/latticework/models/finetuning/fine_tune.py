"""Fine-tune a prepared module on data, and judge it on rows that it was not trained on; the same for the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from latticework.errors import UserError
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.models.finetuning.prepare_module import PreparedModule
from latticework.models.finetuning.training import range_loss, recalibrate

HELD_OUT = 5  # one row of so many is held out
LEAST_ROWS = 20
BATCH = 64
STEP = 3e-3  # of Adam


@dataclass(frozen=True)
class TuningData:
    """Rows to train on and rows to judge by.

    targets      of all rows: classes, or numbers as the module gives them
    are_classes  which of both
    """

    train: Tensor
    held: Tensor
    train_targets: Tensor
    held_targets: Tensor
    are_classes: bool

    def some_rows(self, most: int) -> npt.NDArray[np.float64]:
        """Rows as programs take them."""
        rows: npt.NDArray[np.float64] = self.train[:most].double().numpy()
        return rows


def split_data(module: nn.Module, data: Any, labels: Any, seed: int, at: Loc) -> TuningData:
    """Split rows by chance; without labels, targets are what the module itself gives: its classes, if it has columns.

    raises  UserError for data that are no rows, too few, or not what the module takes, and for labels that do not fit
    """
    rows = torch.as_tensor(np.asarray(data)) if not isinstance(data, Tensor) else data.detach()
    dtype = next((p.dtype for p in module.parameters()), torch.float32)
    if rows.dim() < 1 or len(rows) < LEAST_ROWS or not (rows.is_floating_point() or rows.dtype == torch.uint8):
        raise UserError(
            f"prepare: data of shape {tuple(rows.shape)} and dtype {rows.dtype}; give at least {LEAST_ROWS} rows of "
            "real numbers, as forward takes them in a batch",
            at=at,
        )
    rows = rows.to(dtype)
    given = None if labels is None else torch.as_tensor(np.asarray(labels))
    if given is not None and len(given) != len(rows):
        raise UserError(f"prepare: {len(given)} labels for {len(rows)} rows of data; give one for each", at=at)
    with torch.no_grad():
        try:
            made = module(rows)
        except (RuntimeError, TypeError, ValueError) as error:
            told = str(error).splitlines()[0]
            raise UserError(
                f"prepare: {type(module).__name__} does not take data of shape {tuple(rows.shape)}: {told}; give rows "
                "as forward takes them in a batch",
                at=at,
            ) from None
    if not isinstance(made, Tensor) or not made.dim() or len(made) != len(rows):
        raise UserError(
            f"prepare: with budget= {type(module).__name__} has to return one tensor with a row for each of data; "
            "prepare it without budget=, and train it by a loop of your own",
            at=at,
        )
    are_classes = given is not None and not given.is_floating_point()
    targets = made.detach() if given is None else given.long() if are_classes else given.to(dtype).reshape(made.shape)
    if are_classes and (made.dim() != 2 or int(targets.min()) < 0 or int(targets.max()) >= made.shape[1]):
        raise UserError(
            f"prepare: labels are classes from {int(targets.min())} to {int(targets.max())}, and the module gives "
            f"{tuple(made.shape[1:])} numbers a row; give classes from 0 on, a column for each",
            at=at,
        )
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(rows)))
    held, train = order[: len(rows) // HELD_OUT], order[len(rows) // HELD_OUT :]
    return TuningData(rows[train], rows[held], targets[train], targets[held], are_classes)


def fine_tune(prepared: PreparedModule, data: TuningData, epochs: int, seed: int) -> None:
    """Train a module in place by Adam, with `range_loss`; then intervals are those that the data reach."""
    shuffled = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        optimizer = torch.optim.Adam(prepared.parameters(), STEP)
        prepared.train()
        for _ in range(epochs):
            order = torch.from_numpy(shuffled.permutation(len(data.train)))
            for batch in order.split(BATCH):
                if len(batch) < 2 <= len(order):
                    continue  # which has no statistics
                made, targets = prepared(data.train[batch]), data.train_targets[batch]
                loss = functional.cross_entropy(made, targets) if data.are_classes else _distance(made, targets)
                loss = loss + range_loss(prepared)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(prepared.parameters(), 1.0)
                optimizer.step()
    prepared.eval()
    recalibrate(prepared, torch.cat([data.train, data.held]))


def measure_accuracy(module: nn.Module, data: TuningData) -> float:
    """The part of held-out rows whose class is right; of numbers, the part of their variance that is explained."""
    with torch.no_grad():
        made = module(data.held)
    if data.are_classes:
        return float((made.argmax(1) == data.held_targets).double().mean())
    if made.dim() == 2 and made.shape[1] > 1:
        return float((made.argmax(1) == data.held_targets.argmax(1)).double().mean())
    return 1.0 - float(_distance(made, data.held_targets))


def _distance(made: Tensor, targets: Tensor) -> Tensor:
    """The mean squared distance in units of the variance of the targets."""
    spread = (targets - targets.mean(0)).square().mean().clamp_min(1e-12)
    return (made.reshape(targets.shape) - targets).square().mean() / spread
