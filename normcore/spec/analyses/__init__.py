"""Registry of the analyses, which are tasks without training. Each analysis is a class of options in the module of its
tag; ``normcore/analyses/`` implements the analysis.
"""

from normcore.spec.analyses.analysis import Analysis
from normcore.spec.registry import Registry

ANALYSES = Registry("analyses", Analysis, __name__, tag="name", implemented_in="normcore.analyses")
