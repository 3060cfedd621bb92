"""The public name of `latticework.plan.parameters`: the same module, wherever it lies."""

import sys

from latticework.plan import parameters
from latticework.plan.parameters import *  # noqa: F403  (for type checkers)

sys.modules[__name__] = parameters
