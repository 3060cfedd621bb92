"""Groups of things that belong together: sets that are joined and told apart (union-find)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Member = TypeVar("Member", bound=Hashable)


class Groups(Generic[Member]):
    """Every member is alone until it is joined with others."""

    def __init__(self) -> None:
        self.parents: dict[Member, Member] = {}

    def of(self, member: Member) -> Member:
        """One member of its group, the same for all of them."""
        while (parent := self.parents.get(member, member)) is not member:
            member = parent
        return member

    def join(self, a: Member, b: Member) -> None:
        """Their groups are one."""
        self.parents[self.of(a)] = self.of(b)
