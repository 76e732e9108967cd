"""Imports that the fork server makes once for all processes that it forks: classes of options, and our implementations.
Otherwise the registries would import them in each process again. The fork server also reads the digests that each
process needs.
"""

import gc
from contextlib import suppress
from importlib import import_module
from typing import Any

from normcore.code_version import code_version
from normcore.kernels import reference_code
from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.models import MODELS
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.registry import Registry
from normcore.spec.tasks import BENCHMARKS
from workers.loaded_code import LOADED
from workers.quick_imports import USUAL

IMPLEMENTED: tuple[Registry[Any], ...] = (ANALYSES, BENCHMARKS, CELLS, METHODS, OPTIMIZERS)  # tasks implement models
for registry in (*IMPLEMENTED, MODELS):
    len(registry)  # reads the classes of packages, too, and tries them
for registry in IMPLEMENTED:
    for kind in registry.ours.values():
        with suppress(Exception):  # a module with a mistake fails the runs that need it, and no others
            import_module(registry.module_of(kind))
code_version()  # asks git
reference_code.present()  # reads the digests that a training compares
LOADED.add_imported()
gc.freeze()  # no process searches these modules for garbage
gc.set_threshold(*USUAL)
