"""Parameters in groups: a function of many operands and options names those that belong together as one record.

@dataclass(frozen=True, kw_only=True)
class WindowOptions:
    strides: Sequence[int] | None = None
    auto_pad: str = "NOTSET"

@group_parameters
def max_pool(x: Any, *, options: WindowOptions) -> Any: ...

max_pool(x, strides=[2, 2])
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter
from typing import Any, TypeVar, get_type_hints

Result = TypeVar("Result")


def group_parameters(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return `function` with each parameter that is a record replaced by the fields of the record.

    The fields of a positional record are arguments in their order; those of a keyword-only one are keywords. Where two
    records are of one class, their fields are called after the parameter too, as in `x_scale`. `inspect.signature` says
    what the result takes, and a call that does not fit is a TypeError.
    """
    hints = get_type_hints(function)
    given = inspect.signature(function).parameters.values()
    records = {p.name: hints[p.name] for p in given if isinstance(hints[p.name], type) and is_dataclass(hints[p.name])}
    count = Counter(records.values())
    parameters: list[Parameter] = []
    names: dict[str, dict[str, str]] = {}  # of records: their fields, by the name of the parameter that gives each
    for parameter in given:
        if parameter.name not in records:
            parameters.append(parameter)
            continue
        record = records[parameter.name]
        prefix = f"{parameter.name}_" if count[record] > 1 else ""
        names[parameter.name] = {prefix + field.name: field.name for field in fields(record)}
        parameters += [Parameter(prefix + f.name, parameter.kind, default=_default(f)) for f in fields(record)]
    signature = inspect.Signature(parameters)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Result:
        arguments = signature.bind(*args, **options).arguments
        for name, of_fields in names.items():
            own = {field: arguments.pop(key) for key, field in of_fields.items() if key in arguments}
            arguments[name] = records[name](**own)
        return function(**arguments)

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return Parameter.empty if field.default is MISSING else field.default
