"""Results of several runs, each of which went on from the encrypted results of the one before."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite

from latticework.plan.schema.schema import ClientSpec
from latticework.runtime.client.coding import is_usual
from latticework.runtime.exchange.decrypted import OwnerValue


def after_rounds(spec: ClientSpec, values: Mapping[str, OwnerValue], rounds: int) -> dict[str, OwnerValue]:
    """The outputs of the last of `rounds` runs, with the bounds of that many; of one run as they are.

    Nothing is proved of several. As of one run, where a result is too large no other is trusted.
    """
    if rounds == 1:
        return dict(values)
    errors = dict(zip((output.name for output in spec.outputs), spec.errors_after(rounds), strict=True))
    is_known = all(
        isfinite(values[output.name].error_bound)
        and is_usual(values[output.name].reveal(), output, errors[output.name])
        for output in spec.outputs
    )
    return {
        name: OwnerValue(
            value.reveal(),
            errors[name] if is_known else inf,
            usual_error=errors[name],
            is_followed=False,
            conditions=value.conditions,
            rounds=rounds,
        )
        for name, value in values.items()
    }
