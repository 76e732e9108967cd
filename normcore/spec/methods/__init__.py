"""The methods one can ask for: a class of options each, in the module of its tag; ``normcore/norms/`` implements them.

A package of yours adds a method by an entry point in the group ``normbench.methods``: see ``examples/``.
"""

from normcore.spec.methods.method import Method
from normcore.spec.registry import Registry

METHODS = Registry("methods", Method, __name__, tag="method", implemented_in="normcore.norms")
