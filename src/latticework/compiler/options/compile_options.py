"""`CompileOptions`: what `lw.compile` was asked for, as the compiler's stages take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latticework.compiler.options.option_records import (
    HOMES,
    Data,
    Expert,
    ParameterOptions,
    PrecisionOptions,
    Running,
)
from latticework.lazy_dataclass import dataclass
from latticework.plan.cost import CostModel
from latticework.plan.cost.networks import NETWORKS, ONLY_SENDING_COUNTS, SENDING_IS_FREE
from latticework.plan.parameters import BOOTSTRAP_SETS, BootstrapSet
from latticework.values.packing.key_manifest import KeySpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from latticework.compiler.options.techniques import Techniques
    from latticework.ir import PassEvent
    from latticework.model import Model

AUTO, NEVER = "auto", "never"
FILL = "fill"
LATENCY, THROUGHPUT, BYTES = "latency", "throughput", "bytes"


@dataclass(frozen=True)
class CompileOptions:
    """Options of a compilation: what users know by keywords, in records, and what follows from them.

    `option_checks.check_options` makes them of what users give; nothing is checked here.
    costs  what operations cost, and keys
    """

    data: Data = field(default_factory=Data)
    precision: PrecisionOptions = field(default_factory=PrecisionOptions)
    parameters: ParameterOptions = field(default_factory=ParameterOptions)
    running: Running = field(default_factory=Running)
    expert: Expert = field(default_factory=Expert)
    costs: CostModel = field(default_factory=CostModel.load)

    @staticmethod
    def of(given: Mapping[str, Any] | None = None, **keywords: Any) -> CompileOptions:
        """The options with these values, by the keywords of `lw.compile`, as a dictionary or one by one."""
        return CompileOptions().override(**(given or {}), **keywords)

    def override(self, **keywords: Any) -> CompileOptions:
        """The same with other values for some keywords of `lw.compile`; KeyError for what is none."""
        changes: dict[str, dict[str, Any]] = {}
        for name, value in keywords.items():
            changes.setdefault(HOMES[name], {})[name] = value
        records = {record: replace(getattr(self, record), **values) for record, values in changes.items()}
        return replace(self, **records)

    def of_keyword(self, name: str) -> Any:
        """The value of a keyword of `lw.compile`."""
        return getattr(getattr(self, HOMES[name]), name)

    @property
    def samples(self) -> Any:
        """Data for calibration: those given for it, else the example; None: there are none."""
        return self.data.calibrate if self.data.calibrate is not None else self.data.example

    @property
    def bits_a_second(self) -> float:
        """Bandwidth of the network between client and server."""
        network = self.expert.network
        return NETWORKS[network] if isinstance(network, str) else float(network)

    @property
    def objective(self) -> str:
        """The figure that is to be small: one of LATENCY, THROUGHPUT and BYTES."""
        return self.expert.objective

    @property
    def priced_bits_a_second(self) -> float:
        """Bandwidth by which sending is priced where layouts are chosen: that of the network, unless the objective
        leaves sending out, or the rest."""
        others = {THROUGHPUT: SENDING_IS_FREE, BYTES: ONLY_SENDING_COUNTS}
        return others.get(self.objective, self.bits_a_second)

    @property
    def rows(self) -> int | str | None:
        """Rows of a batch in a run, a power of two, or "fill"; None: there is no batch."""
        batch = self.running.batch
        return batch if batch is None or isinstance(batch, str) else 1 << (int(batch) - 1).bit_length()

    @property
    def bootstrap(self) -> str:
        """Whether there may be bootstraps, "auto" or "never"."""
        return self.running.bootstrap

    @property
    def like(self) -> Model | None:
        """The model whose parameters are taken over, if there is one; a file is read when options are checked."""
        like = self.expert.like
        assert not isinstance(like, str | Path)
        return like

    @property
    def chosen_set(self) -> BootstrapSet | None:
        """The only bootstrapping set, if the user named one."""
        given = self.expert.bootstrap_set
        return BOOTSTRAP_SETS[given] if isinstance(given, str) else given

    @property
    def allows_insecure(self) -> bool:
        """Whether the user asked for insecure parameters, here or of the model whose parameters are taken over."""
        like = self.like
        return self.parameters.insecure or (like is not None and like.allow_insecure)

    @property
    def held_keys(self) -> tuple[KeySpec, ...]:
        """Evaluation keys that servers of the model given as `like=` have."""
        like = self.like
        return () if like is None else like.plan.client.manifest.specs

    @property
    def precision_bits(self) -> float:
        """Bits that every output is to have, relative to the largest."""
        return self.precision.precision_bits

    @property
    def ring_degree(self) -> int | None:
        """N; None: the smallest that fits."""
        return self.parameters.ring_degree

    @property
    def techniques(self) -> Techniques:
        """Techniques that the compiler may use."""
        return self.expert.techniques

    @property
    def on_event(self) -> Callable[[PassEvent], None] | None:
        """Callback for the events of every pass."""
        return self.expert.on_event
