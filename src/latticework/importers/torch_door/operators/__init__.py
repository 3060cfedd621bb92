"""What overloads of ATen's operators mean, by the meanings of all doors."""

from latticework.importers.converters import Converters
from latticework.importers.torch_door.operators import basic

CONVERTERS = Converters([*basic.CONVERTERS])
