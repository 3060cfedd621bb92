"""What users hold or call without importing it from a public module: objects that public ones give, events, and
functions that the documentation names inside the package.

The names here are those of the lists: they stay where a class moves, or gets another name inside the package.
"""

from latticework.compiler.codegen.bootstrap_plans import Precision, bits_of, predict_precision
from latticework.frontend.circuits.circuit_inputs import Input
from latticework.frontend.heir.heir_program import HeirProgram, PackedCode
from latticework.frontend.recording.annotations import Parameter
from latticework.functions.function_record import FunctionRecord
from latticework.ir import Loc, Module, PassEvent
from latticework.models.imported_program import ImportedProgram
from latticework.models.pytorch.exported_files import load_exported
from latticework.models.sklearn.method_program import SklearnProgram
from latticework.models.trees.tree_circuits import TreeCircuit
from latticework.models.trees.tree_program import TreeProgram
from latticework.plan.analysis.bfv_noise_domain import noise_of_outputs
from latticework.plan.client_steps.step import Bounded, UnfitValueError
from latticework.plan.cost.client_cost import ClientCosts, Costs
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.modulus_chain import BootstrapCircuit, Gadget, Track
from latticework.plan.schema.arguments import Link, OutputLanes
from latticework.plan.schema.schema import ClientSpec, Plan, Scores, SourceLocation
from latticework.report.accuracy_data import (
    AccuracyColumn,
    AccuracyLine,
    DegreeStep,
    FunctionAccuracy,
    LineOff,
    UnlikeData,
)
from latticework.report.accuracy_report import AccuracyReport
from latticework.report.blocks import Cell
from latticework.report.figure_labels import Column, Within
from latticework.report.report import Report
from latticework.report.tuning_curve import TuningCurve, TuningPoint
from latticework.runtime.client.input_check import InputCheck, Inputs
from latticework.runtime.devices.operation_names import during
from latticework.runtime.events import Event
from latticework.runtime.exchange.clipped import ClippedRows
from latticework.runtime.exchange.encrypted import EncryptedFile
from latticework.runtime.exchange.input_errors import Finding
from latticework.runtime.exchange.row_batches import Extent
from latticework.runtime.memory_use import KeyTraffic, MemoryUse
from latticework.schemes.rlwe.ciphertext import Ciphertext
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.pack import PackMap

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
    "(curve)": TuningCurve,
    "(curve).points[i]": TuningPoint,
    "(encrypted file)": EncryptedFile,
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
INNER = {
    BootstrapCircuit,
    Cell,
    Column,
    FunctionRecord,
    Gadget,
    Inputs,
    Loc,
    Module,
    PackMap,
    PackedCode,
    Track,
    Within,
    during,
}
