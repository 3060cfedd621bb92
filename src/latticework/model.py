"""A compiled program: reports, clients, servers, simulation and debugging."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from latticework.debug import DebugReport, debug_run
from latticework.errors import DtypeError, IrError, RangeError, TraceError
from latticework.errors.shown import describe
from latticework.ir import Module, Value, interpret
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.estimate import estimate
from latticework.plan.analysis.output_lanes import output_lanes
from latticework.plan.analysis.simulate import simulate
from latticework.plan.cost import CostModel, Costs, client_costs
from latticework.plan.export import export_plan
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.machine.shown_prices import shown_costs
from latticework.plan.schema.arguments import OutputLanes, rebuild_result, scatter
from latticework.plan.schema.schema import ClientSpec, IndexInput, Plan, Scores, SecretInput
from latticework.report import AccuracyReport, Report, build_report
from latticework.report.as_text import section_text
from latticework.report.sections.circuit_section import circuit_sections
from latticework.runtime.client.client import Client
from latticework.runtime.client.input_check import Inputs
from latticework.runtime.client.postprocess import finished_arrays
from latticework.runtime.client.preprocess import prepared_inputs
from latticework.runtime.client.user_names import gather_inputs, inputs_by_name
from latticework.runtime.devices.device import Places
from latticework.runtime.events import OnEvent
from latticework.runtime.exchange.row_batches import Extent, extent_of, in_runs, of_run, put_together
from latticework.runtime.keys.key_sets import Keys, PublicKeys
from latticework.runtime.program_names import own_names, program_names_first
from latticework.runtime.server.prepared import prepare_constants
from latticework.runtime.server.server import Server
from latticework.values.inputs.public_numbers import real_array


@dataclass(frozen=True, slots=True)
class AccuracyRequest:
    """The arguments of `Model.accuracy`, with run-time integers `named` by the program's names."""

    data: Any
    labels: Any
    named: dict[str, Any]
    num_encrypted: Any
    num_simulated: Any
    seed: int
    progress: bool
    on_event: OnEvent | None
    server: Server | None


class Assessable(Protocol):
    """The part of a compilation that tells how accurate its program is."""

    def report(self, plan: Plan, costs: CostModel, client: Client, request: AccuracyRequest) -> AccuracyReport:
        """Measure accuracy as `Model.accuracy` does."""


@dataclass(frozen=True)
class Reference:
    """The program on cleartext tensors, to run beside the plan: tensor IR with layouts, and the values' positions.

    assessment  of programs on arrays, whose functions are approximated
    """

    module: Module
    positions: Mapping[Value, int]
    assessment: Assessable | None = None


class ProgramStages(Protocol):
    """The stages of a compilation as text."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the stages, in order."""

    def text(self, name: str) -> str:
        """The text of a stage."""

    def constants(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays that the texts name, by hash."""


class Model:
    """A compiled program.

    plan            the program as it is run; serialisable, self-contained
    allow_insecure  whether the user said that insecure parameters are wanted: compile(insecure=True) says so
    """

    def __init__(
        self,
        plan: Plan,
        reference: Reference | None = None,
        costs: CostModel | None = None,
        *,
        allow_insecure: bool = False,
    ) -> None:
        self.plan = plan
        self._stages: ProgramStages | None = None
        self.allow_insecure = allow_insecure
        self._reference = reference
        self._costs = costs

    def client(self, *, keys: Keys | None = None, threads: int = 0, allow_insecure: bool = False) -> Client:
        """A client: makes keys, encrypts, decrypts. Holds no weights.

        keys            of a client of another model with the same parameters, whose secret key is used: `public_keys()`
                        then makes what this program needs
        allow_insecure  accept insecure parameters of a loaded model; one compiled with insecure=True says so already
        raises          ParameterMismatchError if the keys are of other parameters; SecurityError for insecure ones
        """
        allowed = allow_insecure or self.allow_insecure
        client = Client(self.plan.client, threads=threads, allow_insecure=allowed)
        if keys is not None:
            client.share_keys(keys)
        return client

    def server(
        self,
        keys: PublicKeys | None = None,
        *,
        memory: str | int | None = None,
        runs: int = 1,
        device: Places = "cpu",
        threads: int = 0,
        prepared: str | Path | None = None,
    ) -> Server:
        """A server for one client's public keys, or for any client where no key is needed; the options are those of
        `Server`.

        raises  SecretKeyError if given a secret key; MissingKeyError if a key of the manifest is not there
        """
        return Server(self.plan, keys, memory=memory, runs=runs, device=device, threads=threads, prepared=prepared)

    @property
    def scores(self) -> Scores | None:
        """Agreement of results with `compile(labels=)`, of the program itself and with its functions approximated."""
        return self.plan.scores

    def report(self, *, memory: str | int | None = None) -> Report:
        """Layouts, levels, operations, keys, bytes and predicted time: `print` it, or `save` it as HTML.

        memory  a budget such as "2GB": then also what a server holds of its keys under it, over the time of a run, and
                what a run takes under others
        raises  BudgetError for a budget that is too small, with the smallest that is not
        """
        return build_report(self.plan, self._costs, memory=memory)

    def costs(self) -> Costs:
        """Predicted seconds and bytes of a run, at the server and at the client; `report()` breaks them down."""
        model = shown_costs(self._costs)
        cost = estimate(self.plan, model)
        return Costs(
            cost.warm_seconds, cost.first_seconds, cost.key_load_seconds, cost.memory.total,
            client_costs(self.plan.client, model),
        )  # fmt: skip

    @program_names_first(lambda model, inputs: model.plan.client.given_names[len(inputs) :])
    def simulate(
        self, /, *inputs: npt.ArrayLike | int, noise: np.random.Generator | bool | None = None, **named: Any
    ) -> Any:
        """Run the plan on cleartext slot vectors, levels and scales checked, with modelled noise if asked.

        inputs  by position or by name; any number of rows, or stacks (runs, ...), as `Client.encrypt` takes them: runs
                are simulated side by side
        noise   a generator to draw every step's noise from; True: a fresh one; None or False: exact arithmetic
        raises  TraceError, ShapeError, DtypeError or RangeError for inputs that are not those of the program
        """
        spec = self.plan.client
        values, extent = check_inputs(spec, inputs, own_names(named))
        outputs = simulate(self.plan, values, noise=_generator(noise))
        if extent is not None and extent.rows is not None:
            outputs = put_together(spec, extent, [list(stack) for stack in outputs])
        return self._rebuild_result(outputs)

    def plaintext(self, /, *inputs: npt.ArrayLike | int, **named: Any) -> Any:
        """The program on cleartext tensors in NumPy, its functions as polynomials: what encrypted results approach.

        A loaded model does not have the tensor program; then this is the noiseless simulation of its plan.
        inputs  as `simulate` takes them; raises as it does
        """
        spec, reference = self.plan.client, self._reference
        if reference is None:
            return self.simulate(*inputs, **named)
        values, extent = check_inputs(spec, inputs, named)
        runs = []
        for run in range(1 if extent is None else extent.runs):
            pairs = zip(spec.inputs, values, strict=True)
            one = [of_run(v, i.shape, run) if isinstance(i, SecretInput) else v for i, v in pairs]
            runs.append(interpret(reference.module, one))
        return self._rebuild_result(put_together(spec, extent, list(zip(*runs, strict=True))))

    def _rebuild_result(self, outputs: list[npt.NDArray[Any]]) -> Any:
        """A list of outputs, finished as the owner does; of a circuit what its function returned."""
        results = self.plan.client.results
        if not results:
            return finished_arrays(self.plan.client, outputs)
        modulus = self.plan.chain.plain_modulus
        if modulus and not self.plan.chain.has_wide_integers:
            outputs = [((array + modulus // 2) % modulus - modulus // 2).astype(np.int64) for array in outputs]
        ends = zip(outputs, self.plan.client.outputs, strict=True)
        flat = [np.reshape(array, (*array.shape[: array.ndim - len(o.shape)], -1)) for array, o in ends]
        arrays = dict(zip((r.name for r in results), scatter(results, flat), strict=True))
        return rebuild_result(results, lambda result: arrays[result.name])

    @program_names_first(lambda model, inputs: model.plan.client.given_names[len(inputs) :])
    def debug(self, /, *inputs: npt.ArrayLike | int, client: Client | None = None, **named: Any) -> DebugReport:
        """Run the program encrypted beside its plaintext; names the first line whose value is off beyond its bound.

        client  one that holds keys, made anew if not given: debugging decrypts intermediate values, so it is for
                the owner of the data
        raises  as `Client.encrypt` for inputs that are not those of the program
        """
        if client is None:
            client = self.client()
        elif not isinstance(client, Client):
            raise DtypeError(
                f"debug: client is a {type(client).__name__}; give a Client that holds keys, or leave it out for one "
                "with new keys"
            )
        reference = None if self._reference is None else (self._reference.module, self._reference.positions)
        return debug_run(self.plan, client, inputs, own_names(named), reference)

    @program_names_first(lambda model, data: model._open_integers(data))
    def accuracy(
        self,
        X: Any,
        y: Any = None,
        encrypted: int = 8,
        *,
        simulated: int = 1024,
        client: Client | None = None,
        server: Server | None = None,
        seed: int = 0,
        progress: bool = True,
        on_event: OnEvent | None = None,
        **integers: int,
    ) -> AccuracyReport:
        """Measure how accurate the program is on data, and where it loses.

        Four columns: the program itself, its functions as polynomials, that with modelled noise, and encrypted.

        X          what `Client.encrypt` takes: any number of rows, or a stack (runs, *shape); a tuple, or a dictionary
                   by name, of several inputs
        y          a label for each row, as `compile(labels=)` takes them: of a classifier those that it was fitted on
        encrypted  rows that a client and a server compute, evenly spaced; 0: none
        simulated  rows with modelled noise at most, evenly spaced;  seed  of the noise
        client     one that holds keys, made anew if not given
        server     that computes the encrypted rows, of this model and with keys of `client`; made anew, with new keys
                   in memory, if not given: where these are too large, one whose keys stay in their file
        progress   tell how far it is, as compiling does;  on_event  called as it goes
        integers   run-time integers (lw.Index)
        raises     TraceError for a model that holds no program; ShapeError, DtypeError or RangeError for data, or
                   labels, that are not of the program. Rows that clients refuse are left out, and named
        """
        kept = self._reference.assessment if self._reference is not None else None
        if kept is None:
            raise TraceError(self._why_not_assessed())
        chosen = self.client() if client is None else client
        if not isinstance(chosen, Client):
            raise DtypeError(
                f"accuracy: client is a {type(chosen).__name__}; give a Client that holds keys, or leave it out for "
                "one with new keys"
            )
        if server is not None and (client is None or not isinstance(server, Server)):
            raise DtypeError(
                f"accuracy: server is a {type(server).__name__}, client a {type(client).__name__}; "
                "give a Server of this model, and the Client whose keys it has"
            )
        costs = shown_costs(self._costs)
        request = AccuracyRequest(X, y, own_names(integers), encrypted, simulated, seed, progress, on_event, server)
        return kept.report(self.plan, costs, chosen, request)

    def _open_integers(self, data: tuple[Any, ...]) -> set[str]:
        """Run-time integers that data by name do not hold."""
        given = set(data[0]) if data and isinstance(data[0], Mapping) else set()
        return {i.name for i in self.plan.client.inputs if isinstance(i, IndexInput)} - given

    def _why_not_assessed(self) -> str:
        name = self.plan.client.name
        if self._reference is None and not self.plan.chain.plain_modulus:
            return (
                f"accuracy: the model of {name} was loaded from a file, which holds no program to compare results "
                "with; compile the program again, lw.compile(program, weights=..., calibrate=...), with the options of "
                "the first time, and ask that model"
            )
        return (
            f"accuracy: {name} computes what is written, its functions are not approximated here; debug() compares an "
            "encrypted run with it, value by value"
        )

    @property
    def ir_stages(self) -> tuple[str, ...]:
        """Names of the stages that the program has, in order; raises as `ir`."""
        return stages_of(self).names

    def ir_constants(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays that texts of stages name, by hash; raises as `ir`."""
        return stages_of(self).constants()

    def ir(self, stage: str) -> str:
        """The program at a stage, as text: `lw.compile_ir` goes on from it, edited or not. See docs/ir.md.

        stage   "traced", "polynomials", "layouts", "vectors", "levels", "ciphertexts" or "primitives"
        raises  IrError for a model that keeps no stages, or a program that has no such stage
        """
        return stages_of(self).text(stage)

    def lanes(self, name: str = "result") -> OutputLanes:
        """The lanes that hold a result of a circuit: `lanes=` of an input of another circuit that goes on with it.

        raises  TraceError if there is no such result; LayoutError if it lies in several ciphertexts
        """
        return output_lanes(self.plan, name)

    def schedule(self) -> str:
        """The vector instructions of a circuit, with the lanes that are read, as text.

        raises  TraceError if the program is no circuit
        """
        if self.plan.circuit is None:
            raise TraceError(f"program {self.plan.client.name} is no circuit: it has layouts, which report() tells")
        return section_text(*circuit_sections(self.plan.circuit))

    def save(self, path: str | Path) -> None:
        """Write the plan file, which a server needs; the client's part of it can be read too."""
        write_plan(self.plan, Path(path))

    def prepare(self, path: str | Path, *, threads: int = 0) -> None:
        """Encode the weights and write them to a file for `server(..., prepared=path)` on machines like this one.

        raises  UserError for a program without constants
        """
        prepare_constants(self.plan, path, threads=threads)

    def export(self, target: str, folder: str | Path) -> list[Path]:
        """Write the plan's program for another library to a folder, and return the files: docs/export.md.

        target  "openfhe": a Python program and its constants;  "heir": text that heir-opt reads and lowers
        raises  UnsupportedError for what the library cannot compute, FileExistsError for files that are there already;
                before anything is written
        """
        return export_plan(self.plan, target, folder)

    @classmethod
    def load(cls, path: str | Path, *, allow_insecure: bool = False) -> Model:
        """Read a plan file.

        allow_insecure  let its clients make keys for insecure parameters; without it they refuse to
        raises          FormatError if it is damaged or of another kind
        """
        return cls(read_plan(Path(path)), allow_insecure=allow_insecure)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Model is not pickled or copied; save(path) it, and read it with lw.load(path)")

    def __repr__(self) -> str:
        return describe("Model", *self.plan.client.facts())

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def keep_stages(model: Model, stages: ProgramStages) -> Model:
    """Let a model keep its stages."""
    model._stages = stages
    return model


def stages_of(model: Model) -> ProgramStages:
    """The stages that a model keeps; IrError where it keeps none."""
    if model._stages is None:
        raise IrError(
            f"ir: the model of {model.plan.client.name} keeps no stages: it was loaded from a file, which holds no "
            "program, or compiled without keep_ir=True; compile it again, lw.compile(..., keep_ir=True)"
        )
    return model._stages


load = Model.load


def check_inputs(
    program: ClientSpec, arrays: tuple[Any, ...], named: dict[str, Any]
) -> tuple[list[Any], Extent | None]:
    """The inputs in order, as float64 arrays and integers, cut into runs (`in_runs`).

    raises  TraceError for a wrong number or name, ShapeError, DtypeError, or RangeError for NaN and infinity
    """
    if len(arrays) == 1 and not named and isinstance(arrays[0], Inputs):  # that a client has checked
        return [arrays[0].values[spec.name] for spec in program.inputs], arrays[0].extent
    given = inputs_by_name(program, arrays, named, linked=True)
    if program.arguments:
        values: dict[str, Any] = dict(gather_inputs(program, given))
    else:
        given = prepared_inputs(program, given)
        values = {
            spec.name: _integer(program, spec, given[spec.name])
            if isinstance(spec, IndexInput)
            else _tensor(program, spec, given[spec.name])
            for spec in program.inputs
        }
    values, extent = in_runs(program, values)
    return [values[spec.name] for spec in program.inputs], extent


def _integer(program: ClientSpec, spec: IndexInput, value: Any) -> int:
    where = f"program {program.name}, input {spec.name}"
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise DtypeError(f"{where} is a {type(value).__name__}; give a whole number, such as a number of iterations")
    if not 0 <= number <= spec.limit:
        raise RangeError(f"{where} is {number}; the program was compiled for 0 to {spec.limit}")
    return number


def _tensor(program: ClientSpec, spec: SecretInput, value: Any) -> npt.NDArray[np.float64]:
    where = f"program {program.name}, input {spec.name}"
    try:
        array = real_array(value)
    except (DtypeError, RangeError) as error:
        raise type(error)(f"{where}: {error.message}") from None
    extent_of(program, spec, array.shape)
    return array


def _generator(noise: Any) -> np.random.Generator | None:
    if noise is None or isinstance(noise, np.random.Generator):
        return noise
    if isinstance(noise, bool):
        return np.random.default_rng() if noise else None
    raise DtypeError(
        f"simulate: noise is a {type(noise).__name__}; give True, or np.random.default_rng(seed) for noise that repeats"
    )
