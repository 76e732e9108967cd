"""The methods that come with normbench: one class each, its tag names the file in ``normcore/norms/``."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, NonNegativeFloat, PositiveFloat, model_validator
from pydantic_core import PydanticCustomError

from normcore.spec.part import Part

Site = Literal["input", "recurrent", "sum", "cell"]
SITES_OF_CELL: Mapping[str, tuple[Site, ...]] = {
    "rnn": ("input", "recurrent", "sum"),
    "lstm": ("input", "recurrent", "sum", "cell"),
    "gru": ("input", "recurrent"),
}
USUAL_SITES: Mapping[str, tuple[Site, ...]] = {
    "rnn": ("sum",),
    "lstm": ("input", "recurrent", "cell"),
    "gru": ("input", "recurrent"),
}
"""What both papers normalize: LN Eq. 4, 20-22, 26-28; RBN Eq. 14-16. RBN does not say where its RNN has its norm."""


class Method(Part):
    """A normalization: its options, and what the catalogue says of it.

    Attributes:
        cells: which recurrent cells take it.
        whole_sequences: whether statistics are taken over time, so that a minibatch must not come in pieces.
        home: the module with the class of the same name that takes these options; empty for the file in
            ``normcore/norms/`` that the tag names.
    """

    title: ClassVar[str]
    citation: ClassVar[str]
    cells: ClassVar[tuple[str, ...]] = tuple(SITES_OF_CELL)
    whole_sequences: ClassVar[bool] = False
    home: ClassVar[str] = ""

    method: str

    @classmethod
    def defaults(cls, cell: str) -> dict[str, Any]:
        """Options whose default depends on the cell; ``cell`` is ``rnn``, ``lstm`` or ``gru``."""
        return {}

    @property
    def needs_batch(self) -> bool:
        """Whether statistics are taken over the examples, so that one alone cannot be trained on."""
        return False

    def misfit(self, cell: str) -> tuple[str, str] | None:
        """The option that does not go with a cell, and what is wrong with it; None if all do."""
        if cell not in self.cells:
            return "method", f"{self.method} is not for {cell}; it takes {', '.join(self.cells) or 'no recurrent cell'}"
        return None


def _whole(sites: tuple[Site, ...]) -> tuple[Site, ...]:
    if "sum" in sites and {"input", "recurrent"} & set(sites):
        raise PydanticCustomError("contradiction", "sum is both terms together; name it or them")
    if len(set(sites)) < len(sites):
        raise PydanticCustomError("duplicate", "give every site once")
    return sites


Sites = Annotated[tuple[Site, ...], AfterValidator(_whole)]
SITES = Field(
    USUAL_SITES["lstm"],
    strict=False,
    description="What is normalized: the input's term W_x x, the recurrent term W_h h, their sum, the cell that an"
    " LSTM reads out. The RNN's default is the sum, the GRU has no other sites than its terms.",
)


class SiteMethod(Method):
    """A normalization of summed inputs, at sites that one can choose."""

    sites: Sites = SITES

    @classmethod
    def defaults(cls, cell: str) -> dict[str, Any]:
        return {"sites": USUAL_SITES.get(cell, ())}

    def misfit(self, cell: str) -> tuple[str, str] | None:
        for site in self.sites:
            if cell in self.cells and site not in SITES_OF_CELL[cell]:
                return "sites", f"{cell} has no site '{site}'; use some of {', '.join(SITES_OF_CELL[cell])}"
        return super().misfit(cell)


class NoNorm(Method):
    """The baseline: summed inputs are used as they are."""

    title: ClassVar[str] = "No normalization"
    citation: ClassVar[str] = "Hochreiter and Schmidhuber 1997, Neural Computation 9(8)"

    method: Literal["none"] = "none"


class LayerNorm(SiteMethod):
    """Standardize the summed inputs of one case over the features; the same in training and in use."""

    title: ClassVar[str] = "Layer normalization"
    citation: ClassVar[str] = "Ba, Kiros, Hinton 2016, arXiv:1607.06450, Eq. 4, 20-22, 26-28"

    method: Literal["layer_norm"] = "layer_norm"
    gain_init: float = Field(1.0, description="Initial gain at every site (LN section 6: 1; its appendix prints 0).")
    eps: PositiveFloat = Field(1e-5, description="Added to the variance, inside the root (the authors' Theano code).")
    affine: bool = Field(True, description="Gain and shift; without them it is the simple LN of Xu et al. 2019.")
    scope: Literal["joint", "per_gate"] = Field(
        "joint",
        description="Statistics over all gates that the paper takes together, or over each gate by itself, as"
        " TensorFlow's LayerNormBasicLSTMCell has it.",
    )
    conv_gain: Literal["per_unit", "per_channel"] = Field(
        "per_unit", description="In convolutional layers: a gain and a shift for each unit, or for each channel."
    )
    bias: Literal["outside", "inside", "both"] = Field(
        "outside",
        description="Where the cell's bias b enters: outside the norms (LN Eq. 4, 20), inside the input's norm"
        " (the authors' GRU), or in both places (their reader). Of a scalar input, only inside lets LN see the"
        " size: LN(w x) does not depend on |x|.",
    )
    bias_init: NonNegativeFloat = Field(
        0.0,
        description="The cell's bias starts with uniform values up to so far from its usual ones. While an input is"
        " blank, units that start alike stay alike, and LN multiplies gradients by 1 / sqrt(eps) at every step.",
    )

    @classmethod
    def defaults(cls, cell: str) -> dict[str, Any]:
        return {**super().defaults(cell), "bias": "inside" if cell == "gru" else "outside"}


class RMSNorm(SiteMethod):
    """Divide the summed inputs of one case by their root mean square; nothing is centred."""

    title: ClassVar[str] = "Root mean square layer normalization"
    citation: ClassVar[str] = "Zhang, Sennrich 2019, arXiv:1910.07467, Eq. 4"

    method: Literal["rms_norm"] = "rms_norm"
    gain_init: float = Field(1.0, description="Initial gain at every site.")
    eps: PositiveFloat = Field(1e-5, description="Added to the mean square, inside the root; ours, as LN's.")


class DynamicTanh(SiteMethod):
    """weight tanh(alpha a) + bias: bounded like a normalized input, without any statistics."""

    title: ClassVar[str] = "Dynamic tanh"
    citation: ClassVar[str] = "Zhu, Chen, He, LeCun, Liu 2025, arXiv:2503.10622, section 4"

    method: Literal["dynamic_tanh"] = "dynamic_tanh"
    alpha_init: PositiveFloat = Field(0.5, description="Initial alpha, one number a site (the paper: 0.5).")
    gain_init: float = Field(1.0, description="Initial gain at every site.")


class RecurrentBatchNorm(SiteMethod):
    """Standardize each feature over the batch, with statistics of its own for every time step."""

    title: ClassVar[str] = "Recurrent batch normalization"
    citation: ClassVar[str] = "Cooijmans et al. 2017, arXiv:1603.09025, Eq. 14-16"

    method: Literal["recurrent_batch_norm"] = "recurrent_batch_norm"
    gain_init: float = Field(0.1, description="Initial gain at every site (RBN sections 4 and 5: 0.1).")
    eps: PositiveFloat = Field(1e-5, description="Added to the variance, inside the root.")
    carry: Literal["raw", "normalized"] = Field(
        "raw", description="Which cell an LSTM carries on: c, or the normalized one (an ablation in the RBN code)."
    )
    statistics: Literal["per_step", "shared"] = Field(
        "per_step", description="Population statistics for each step (RBN section 3), or one average over the steps."
    )
    population: Literal["pass", "running"] = Field(
        "pass",
        description="Population statistics from one more pass over the training data (what RBN reports), or running"
        " averages of the minibatches' (what its code monitors).",
    )
    momentum: float = Field(
        0.1, gt=0, le=1, description="Weight of the newest minibatch in running averages (RBN's code: 0.01, 0.05)."
    )
    initial_state_noise: NonNegativeFloat = Field(
        0.0,
        description="Standard deviation of the noise added to h0 (RBN section 5.1: in-order pixels; 0.1 in its code).",
    )

    @property
    def needs_batch(self) -> bool:
        return bool(self.sites)

    @model_validator(mode="after")
    def what_is_carried_is_there(self) -> Self:
        if self.carry == "normalized" and "cell" not in self.sites:
            raise PydanticCustomError(
                "contradiction", "a normalized cell needs the site cell; add it, or use raw", {"loc": ["carry"]}
            )
        return self


class SequenceBatchNorm(Method):
    """Standardize each feature of the input's term over batch and time; the recurrent term stays as it is."""

    title: ClassVar[str] = "Sequence-wise batch normalization"
    citation: ClassVar[str] = "Laurent et al. 2015, arXiv:1510.01378; Amodei et al. 2015, arXiv:1512.02595"

    whole_sequences: ClassVar[bool] = True

    method: Literal["sequence_batch_norm"] = "sequence_batch_norm"
    gain_init: float = Field(1.0, description="Initial gain.")
    eps: PositiveFloat = Field(1e-5, description="Added to the variance, inside the root.")


class WeightNorm(Method):
    """Every row of W_x and W_h is g v / |v|: its length and its direction are trained apart."""

    title: ClassVar[str] = "Weight normalization"
    citation: ClassVar[str] = "Salimans, Kingma 2016, arXiv:1602.07868, Eq. 2"

    method: Literal["weight_norm"] = "weight_norm"
    mean_only_batch_norm: bool = Field(
        False, description="Subtract from every summed input its mean over the batch, for each step (section 4)."
    )

    @property
    def needs_batch(self) -> bool:
        return self.mean_only_batch_norm


class LayerMethod(Method):
    """A normalization of feed-forward and convolutional layers, which no recurrent cell takes."""

    cells: ClassVar[tuple[str, ...]] = ()

    gain_init: float = Field(1.0, description="Initial gain of every feature or channel.")
    eps: PositiveFloat = Field(1e-5, description="Added to the variance, inside the root.")


class BatchNorm(LayerMethod):
    """Standardize each feature or channel over the batch and, in images, over all places."""

    title: ClassVar[str] = "Batch normalization"
    citation: ClassVar[str] = "Ioffe, Szegedy 2015, arXiv:1502.03167, Algorithm 1"

    method: Literal["batch_norm"] = "batch_norm"
    variance: Literal["biased", "unbiased"] = Field(
        "biased", description="Which variance normalizes; LN section 6.6 takes the unbiased one with a batch of 4."
    )

    @property
    def needs_batch(self) -> bool:
        return True


class BatchRenorm(LayerMethod):
    """Training normalizes with the running statistics, as evaluation does, unless the corrections r and d reach their
    clipping limits."""

    title: ClassVar[str] = "Batch renormalization"
    citation: ClassVar[str] = "Ioffe 2017, arXiv:1702.03275, Algorithm 1"

    method: Literal["batch_renorm"] = "batch_renorm"
    r_max: float = Field(3.0, ge=1, description="Largest ratio of the two standard deviations (the paper's final 3).")
    d_max: NonNegativeFloat = Field(5.0, description="Largest distance of the two means (the paper's final 5).")
    momentum: float = Field(0.01, gt=0, le=1, description="Weight of the newest minibatch (the paper: 0.01).")

    @property
    def needs_batch(self) -> bool:
        return True


class GroupNorm(LayerMethod):
    """Standardize groups of channels of one case, over all places."""

    title: ClassVar[str] = "Group normalization"
    citation: ClassVar[str] = "Wu, He 2018, arXiv:1803.08494, Eq. 7"

    method: Literal["group_norm"] = "group_norm"
    groups: int = Field(32, ge=1, le=4096, description="How many groups the channels make (the paper: 32).")


class InstanceNorm(LayerMethod):
    """Standardize each channel of one case by itself, over all places."""

    title: ClassVar[str] = "Instance normalization"
    citation: ClassVar[str] = "Ulyanov, Vedaldi, Lempitsky 2016, arXiv:1607.08022"

    method: Literal["instance_norm"] = "instance_norm"


class QueryKeyNorm(Method):
    """Compare queries and keys by the angle between them: both have length 1, and one gain scales all logits."""

    title: ClassVar[str] = "Query-key normalization"
    citation: ClassVar[str] = "Henry, Dachapally, Pawar, Chen 2020, arXiv:2010.04245, section 2"
    cells: ClassVar[tuple[str, ...]] = ()

    method: Literal["query_key_norm"] = "query_key_norm"
    length: int = Field(
        100,
        ge=2,
        description="L, which 97.5 % of the training sequences do not exceed; the gain starts at log2(L^2 - L).",
    )
    eps: PositiveFloat = Field(1e-6, description="Smallest length that a query or key is divided by.")


BUILT_IN: tuple[type[Method], ...] = (
    NoNorm,
    LayerNorm,
    RecurrentBatchNorm,
    SequenceBatchNorm,
    WeightNorm,
    RMSNorm,
    DynamicTanh,
    BatchNorm,
    BatchRenorm,
    GroupNorm,
    InstanceNorm,
    QueryKeyNorm,
)
