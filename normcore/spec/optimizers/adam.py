"""Adam."""

from typing import Literal

from normcore.spec.optimizers.optimizer import Moments


class Adam(Moments):
    """Adam of Kingma and Ba 2015, with both bias corrections."""

    name: Literal["adam"] = "adam"
