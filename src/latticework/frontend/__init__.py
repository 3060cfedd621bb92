"""Programs as users write them: tracing, functions, loops, calibration."""

from latticework.frontend.calibration.calibrate import calibrate, input_ranges
from latticework.frontend.circuits.circuit import Circuit, TracedCircuit, circuit, trace_circuit
from latticework.frontend.circuits.circuit_inputs import Input, bits, matrix, scalar, vector
from latticework.frontend.circuits.integers.integer_functions import isin, maximum, minimum, select, table
from latticework.frontend.functions.array_functions import exp, gelu, polynomial, relu, sigmoid, square, tanh
from latticework.frontend.functions.images import avg_pool2d, conv1d, conv2d, conv_transpose2d, sum_pool2d
from latticework.frontend.programs.array_program import Program, program, trace
from latticework.frontend.programs.for_loop import for_loop
from latticework.frontend.programs.scanning import scan
from latticework.frontend.programs.traced_arrays import TracedArray
from latticework.frontend.recording.annotations import Index, Parameter, Secret
from latticework.frontend.recording.indices import TracedIndex
from latticework.frontend.recording.subscripts import public

__all__ = [
    "Circuit",
    "Index",
    "Input",
    "Parameter",
    "Program",
    "Secret",
    "TracedArray",
    "TracedCircuit",
    "TracedIndex",
    "avg_pool2d",
    "bits",
    "calibrate",
    "circuit",
    "conv1d",
    "conv2d",
    "conv_transpose2d",
    "exp",
    "for_loop",
    "gelu",
    "input_ranges",
    "isin",
    "matrix",
    "maximum",
    "minimum",
    "polynomial",
    "program",
    "public",
    "relu",
    "scalar",
    "scan",
    "select",
    "sigmoid",
    "square",
    "sum_pool2d",
    "table",
    "tanh",
    "trace",
    "trace_circuit",
    "vector",
]
