"""The analyses one can ask for, tasks without training: a class of options each, in the module of its tag;
``normcore/analyses/`` implements them.
"""

from normcore.spec.analyses.analysis import Analysis
from normcore.spec.registry import Registry

ANALYSES = Registry("analyses", Analysis, __name__, tag="name", implemented_in="normcore.analyses")
