"""Registry of the methods. Each method is a class of options in the module of its tag; ``normcore/norms/`` implements
the method.

A package of yours adds a method by an entry point in the group ``normbench.methods``: see ``examples/``.
"""

from normcore.spec.methods.method import Method
from normcore.spec.registry import Registry

METHODS = Registry("methods", Method, __name__, tag="method", implemented_in="normcore.norms")
