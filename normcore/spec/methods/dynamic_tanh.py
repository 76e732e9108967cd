r"""Dynamic tanh.

$$N(a) = \gamma \odot \tanh(\alpha a) + \beta$$
"""

from typing import ClassVar, Literal

from pydantic import Field, PositiveFloat

from normcore.spec.methods.method import SiteMethod


class DynamicTanh(SiteMethod):
    """Map the summed inputs a to weight tanh(alpha a) + bias. The result is bounded, like normalized inputs, without
    any statistics.

    Choose it if statistics of activations cost too much. Its alpha must fit the scale of the inputs.
    """

    title: ClassVar[str] = "Dynamic tanh"
    citation: ClassVar[str] = "Zhu, Chen, He, LeCun, Liu 2025, arXiv:2503.10622, section 4"

    method: Literal["dynamic_tanh"] = "dynamic_tanh"
    alpha_init: PositiveFloat = Field(0.5, description="Initial alpha; each site has one alpha (the paper: 0.5).")
    gain_init: float = Field(1.0, description="Initial gain at every site.")
