"""Record of what a plan keeps of the model that it was compiled like, for reports."""

from __future__ import annotations

from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class KeptParts:
    """The parts of an old model that the owner of its keys goes on with.

    program     of the old model;  interface  names its client file: `interface_id`
    client      whether that client file is the one of this plan, byte for byte
    why         what is different, where it is not
    new_keys    evaluation keys that the old ones do not serve, of  num_keys  in all
    notes       on what was relaxed so that the program fits
    """

    program: str
    interface: bytes
    client: bool
    why: tuple[str, ...]
    new_keys: int
    num_keys: int
    notes: tuple[str, ...] = ()

    def list_kept(self) -> tuple[str, ...]:
        """Name what stays."""
        keys = ("evaluation keys",) if not self.new_keys else ()
        return ("secret key", *keys, *(("client file",) if self.client else ()))

    def __str__(self) -> str:
        said = [f"keeps: {', '.join(self.list_kept())}"]
        if self.new_keys:
            said.append(f"{self.new_keys} of {self.num_keys} evaluation keys are new")
        if not self.client:
            said.append("the client file is new")
        return "; ".join(said)
