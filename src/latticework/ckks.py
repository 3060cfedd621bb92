"""The public name of `latticework.schemes.ckks`: the same module, wherever it lies."""

import sys

from latticework.schemes import ckks
from latticework.schemes.ckks import *  # noqa: F403  (for type checkers)

sys.modules[__name__] = ckks
