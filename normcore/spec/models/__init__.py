"""The models one can ask for: a class of sizes and options each, in the module of its architecture;
``normcore/models/`` implements them. A task says which of them it trains.
"""

from normcore.spec.models.model import Model
from normcore.spec.registry import Registry

MODELS = Registry("models", Model, __name__, tag="architecture", implemented_in="normcore.models")
