"""Changes that came from outside while a program was compiled, and what its plan says of them.

Error bounds are found anew for changed code; but what functions were approximated to, and what a proof is about, is the
program before. So a plan names every change, its bounds include what tests saw results move, and none counts as proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from latticework.errors.escaping import plain_text
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.conditions import Condition
from latticework.plan.schema.schema import Output, Plan

FAR = 2.0  # times what tests saw results move, that bounds have room for


@dataclass(frozen=True)
class OutsideChange:
    """A pass, or an edit of a text.

    who    "pass drop_zeros", "an edited text"
    stage  after which it came
    moved  how far it moved elements of each output in tests; None: it may change results, and all that is said of them
           was found anew; (): it changed nothing
    """

    who: str
    stage: str
    moved: tuple[float, ...] | None

    def __str__(self) -> str:
        did = "and moved no result beyond what is allowed in tests" if self.moved else "and changed nothing"
        did = "and was allowed to change results" if self.moved is None else did
        who = plain_text(self.who)
        return f"{who[0].upper()}{who[1:]} came after stage {self.stage}, {did}."


def with_changes(plan: Plan, changes: Sequence[OutsideChange]) -> Plan:
    """The plan, which says what changed it."""
    if not changes:
        return plan
    outputs = list(plan.client.outputs)
    for change in changes:
        if change.moved:
            condition = Condition(change.who, f"stage {change.stage}", changed=True)
            outputs = [_mark_output(o, condition, moved) for o, moved in zip(outputs, change.moved, strict=True)]
    client = replace(plan.client, outputs=tuple(outputs))
    return replace(plan, client=client, changes=(*plan.changes, *map(str, changes)))


def _mark_output(output: Output, condition: Condition, moved: float) -> Output:
    more = FAR * moved
    return replace(
        output, conditions=(*output.conditions, condition), error_bound=output.error_bound + more,
        usual_error=output.usual_error + more,
    )  # fmt: skip
