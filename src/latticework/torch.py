"""The public name of `latticework.models.finetuning`: the same module, wherever it lies."""

import sys

from latticework.models import finetuning
from latticework.models.finetuning import *  # noqa: F403  (for type checkers)

sys.modules[__name__] = finetuning
