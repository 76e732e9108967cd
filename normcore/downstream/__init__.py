"""Quality of sentence vectors for other tasks: the five evaluations of skip-thoughts (LN section 6.3).

Each evaluation takes vectors as numpy arrays and trains a small model on them. The global random generators of torch
and numpy are not used. scikit-learn and scipy.stats are imported inside functions: their import takes seconds, and few
trainings need them.
"""

from normcore.downstream.classification import nested_accuracy, plain_accuracy
from normcore.downstream.relatedness import Relatedness, relatedness

__all__ = ["Relatedness", "nested_accuracy", "plain_accuracy", "relatedness"]
