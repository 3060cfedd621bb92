"""Modules that pages named by where they were: they are still found by those names.

`import latticework.analysis.noise` gives the module that is `latticework.plan.analysis.bfv_noise_domain` now.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # importlib.abc takes 7 ms to load, and a loader needs nothing of it

MOVED = {
    "latticework.analysis.noise": "latticework.plan.analysis.bfv_noise_domain",
    "latticework.codegen.bootstraps": "latticework.compiler.codegen.bootstrap_plans",
    "latticework.importers.torch_door.files": "latticework.models.pytorch.exported_files",
}
FOLDERS = {name.rsplit(".", up)[0] for name in MOVED for up in range(1, name.count("."))}


class MovedModules(Loader):
    """A finder and loader of such modules, and of the folders on the way to them."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The spec of a moved module, asked for where no file has its name."""
        return ModuleSpec(name, self, is_package=name in FOLDERS) if name in MOVED or name in FOLDERS else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """An empty folder; None: the usual module, which `exec_module` replaces."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module where it is now in the place of its old name."""
        if module.__name__ in MOVED:
            sys.modules[module.__name__] = import_module(MOVED[module.__name__])


def find_moved_modules() -> None:
    """Let imports find modules by their earlier names, after all others."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())
