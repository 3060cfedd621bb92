"""lifting: regular circuits as programs on arrays, which the layout engine then places.

In:  a graph as it was traced, its arguments and results.
Out: tensor IR with an input for every argument and an output for every result, of the same meaning.

The loop nests come from `circuit.lift`; here they become slices, windows, matrix products and sums. What was built is
then compared with the circuit on random numbers, so that a wrong guess is never used.
"""

from latticework.compiler.lifting.lift_circuit import LiftedProgram, lift

__all__ = ["LiftedProgram", "lift"]
