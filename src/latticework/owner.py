"""The public name of `latticework.plan.client_steps`: the same module, wherever it lies."""

import sys

from latticework.plan import client_steps
from latticework.plan.client_steps import *  # noqa: F403  (for type checkers)

sys.modules[__name__] = client_steps
