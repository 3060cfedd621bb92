"""What the zoo knows of a model, before it is here and when it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SEED = 0


@dataclass(frozen=True)
class ZooModel:
    """One model, imported.

    program   compiled with these options, on `calibrate`
    rows      others like these, and  labels  of them, if there are any
    itself    of circuits, what the model of which they were made says of rows
    encode    of circuits, rows as their input `encrypted_as` takes them, and  finish  decrypted results as `itself`
              gives them; of circuits made of trees these are the circuit's own
    """

    program: Any
    calibrate: Any
    rows: Any
    labels: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    itself: Callable[[Any], Any] | None = None
    encode: Callable[[Any], Any] | None = None
    finish: Callable[[Any], Any] | None = None
    encrypted_as: str = "digits"


@dataclass(frozen=True)
class ZooEntry:
    """What is known of a model before it is here.

    made      imports it; what it takes beyond importing, as training or fetching, is done in `prepare`, which is given
              the user's file of digits where the model is  of_digits
    seconds   that a run of one row, the second of a server on one core, is to take at most
    filled_seconds  that a row of a circuit is to take at most where rows fill the slots
    published a figure of others, as (seconds, source)
    rows      that are simulated with noise at most
    memory    of the server, whose keys stay in their file then; it runs once more after its first run
    is_priced whether it is compiled, priced and simulated only, unless everything is asked for
    """

    title: str
    prepare: Callable[..., Any]
    made: Callable[[Any], ZooModel]
    seconds: float | None = None
    published: tuple[float, str] | None = None
    rows: int = 256
    of_digits: bool = False
    memory: str | None = None
    filled_seconds: float | None = None
    is_priced: bool = False
