"""Quality of sentence vectors for other tasks: the five evaluations of skip-thoughts (LN section 6.3).

Each takes vectors as numpy arrays and trains a small model on them; of torch's and numpy's generators nothing is drawn.
scikit-learn and scipy.stats are imported where they are called: that takes seconds, which few trainings need.
"""

from normcore.downstream.classification import nested_accuracy, plain_accuracy
from normcore.downstream.relatedness import Relatedness, relatedness

__all__ = ["Relatedness", "nested_accuracy", "plain_accuracy", "relatedness"]
