"""What users hold or call without importing it from a public module: objects that public ones give, events, and
functions that the documentation names inside the package.

The names here are those of the lists: they stay where a class moves, or gets another name inside the package.
"""

from latticework.analysis.noise import noise_of_outputs
from latticework.codegen.bootstraps import Precision, bits_of, predict_precision
from latticework.cost.client import ClientCosts, Costs
from latticework.devices.operations import during
from latticework.frontend.annotations import Parameter
from latticework.frontend.circuit_inputs import Input
from latticework.importers.program import ImportedProgram
from latticework.importers.sklearn_door.method_program import SklearnProgram
from latticework.importers.torch_door.files import load_exported
from latticework.importers.trees.circuits import TreeCircuit
from latticework.importers.trees.program import TreeProgram
from latticework.interop.heir.program import HeirProgram, PackedCode
from latticework.ir import Loc, Module, PassEvent
from latticework.owner.step import Bounded, UnfitValueError
from latticework.packing.keys import KeySpec
from latticework.packing.pack import PackMap
from latticework.params import ModulusChain
from latticework.params.chain import BootstrapCircuit, Track
from latticework.plan.arguments import Link, OutputLanes
from latticework.plan.schema import ClientSpec, Plan, Scores, SourceLocation
from latticework.report.accuracy_data import (
    AccuracyColumn,
    AccuracyLine,
    DegreeStep,
    FunctionAccuracy,
    LineOff,
    UnlikeData,
)
from latticework.report.accuracy_report import AccuracyReport
from latticework.report.report import Report
from latticework.rlwe.ciphertext import Ciphertext
from latticework.runtime.batches import Extent
from latticework.runtime.clipped import ClippedRows
from latticework.runtime.events import Event
from latticework.runtime.input_check import InputCheck, Inputs
from latticework.runtime.memory_use import KeyTraffic, MemoryUse
from latticework.runtime.misfits import Finding

HELD = {
    "(accuracy report)": AccuracyReport,
    "(accuracy report).columns[]": AccuracyColumn,
    "(accuracy report).columns[].first_off": LineOff,
    "(accuracy report).lines[]": AccuracyLine,
    "(accuracy report).lines[].function": FunctionAccuracy,
    "(accuracy report).lines[].function.step": DegreeStep,
    "(accuracy report).unlike[]": UnlikeData,
    "(chain)": ModulusChain,
    "(check of inputs)": InputCheck,
    "(check of inputs).findings[]": Finding,
    "(ciphertext)": Ciphertext,
    "(client spec)": ClientSpec,
    "(clipped rows)": ClippedRows,
    "(costs)": Costs,
    "(costs).client": ClientCosts,
    "(event of a pass)": PassEvent,
    "(event)": Event,
    "(extent)": Extent,
    "(input of a circuit)": Input,
    "(key spec)": KeySpec,
    "(key traffic)": KeyTraffic,
    "(lanes of outputs)": OutputLanes,
    "(lanes of outputs).link": Link,
    "(memory use)": MemoryUse,
    "(owner's numbers within bounds)": Bounded,
    "(owner's unfit value)": UnfitValueError,
    "(parameter of a program)": Parameter,
    "(plan)": Plan,
    "(precision of bootstraps)": Precision,
    "(program of HEIR)": HeirProgram,
    "(program of a model)": ImportedProgram,
    "(program of scikit-learn)": SklearnProgram,
    "(program of trees)": TreeProgram,
    "(circuit of trees)": TreeCircuit,
    "(report)": Report,
    "(scores)": Scores,
    "(source location)": SourceLocation,
}
# Functions that pages name inside the package.
TOLD = {
    "(told) bits_of": bits_of,
    "(told) load_exported": load_exported,
    "(told) noise_of_outputs": noise_of_outputs,
    "(told) predict_precision": predict_precision,
}
# Parts of these that nobody is told of: a plan's code, a program's IR, what reports are drawn from (the JSON has the
# figures).
CLOSED = {AccuracyReport, Plan, ClientSpec, Report}
INNER = {BootstrapCircuit, Inputs, Loc, Module, PackMap, PackedCode, Track, during}
