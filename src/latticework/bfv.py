"""The public name of `latticework.schemes.bfv`: the same module, wherever it lies."""

import sys

from latticework.schemes import bfv
from latticework.schemes.bfv import *  # noqa: F403  (for type checkers)

sys.modules[__name__] = bfv
