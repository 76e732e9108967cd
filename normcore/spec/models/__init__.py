"""Registry of the models. Each model is a class of sizes and options in the module of its architecture;
``normcore/models/`` implements the model. A task says which model it trains.
"""

from normcore.spec.models.model import Model
from normcore.spec.registry import Registry

MODELS = Registry("models", Model, __name__, tag="architecture", implemented_in="normcore.models")
