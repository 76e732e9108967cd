"""Images read one pixel at a time (RBN section 5.1, Le et al. 2015)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from pydantic import Field

from normcore.spec.methods.method import Method
from normcore.spec.metric import ACCURACY, Metric
from normcore.spec.models.model import Cost, Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import Misfit
from normcore.spec.task import Need, Profile, ProfileName
from normcore.spec.tasks.benchmark import Benchmark, Best, LastMean, count_taken
from normcore.spec.tasks.images import TEST_IMAGES

STEPS = {"digits": 64, "mnist": 784}
TRAINING_IMAGES = {"digits": 1_197, "mnist": 50_000}
RBN = "Cooijmans et al. 2017, arXiv:1603.09025, section 5.1"
SPREAD_BIASES = {"bias_init": 1.0}
"""Options of layer norm and RMSNorm on MNIST. Biases start up to 1, which is a deviation: no paper has these methods on
pixels, and biases start at 0 elsewhere (LN section 6).

On blank pixels, units that start alike stay alike, and both methods multiply their gradients by 1/sqrt(eps) per step.
Random biases make the units differ. Without them the first gradient on permuted MNIST is nan (seeds 0, 1, 2). After 60
updates of profile ``small``, the test accuracy was .346, .309 and .292 with biases up to 1.0, and .282, .260 and .185
with biases up to 0.1. On the digits nothing overflows without.
"""
NOISE = {"initial_state_noise": 0.1}
"""In-order images begin with a constant border. Noise is in RBN section 5.1; its 0.1 is in the authors' code alone."""

ORDER = "Expected order, seen in seeds 0, 1 and 2: recurrent_batch_norm, layer_norm, none."
IN_ORDER = (
    "Expected order, seen in seeds 0, 1 and 2: recurrent_batch_norm, none. Either layer_norm or none may be first."
)


class PixelSequence(Benchmark):
    """Classify an image that is read one pixel at each step. The label is predicted after the last step."""

    home: ClassVar[str] = "normcore.tasks.pixel_sequences:PixelSequences"
    metrics: ClassVar[tuple[Metric, ...]] = (ACCURACY,)
    selection: ClassVar[Best | LastMean] = Best(ACCURACY)
    images: ClassVar[Literal["digits", "mnist"]]

    examples: int | None = Field(
        None,
        ge=100,
        description="Use at most the first N images of each: training, validation and test; null uses all.",
    )

    def needs(self) -> tuple[Need, ...]:
        return (Need(self.images),)

    def pointless(self, model: Model, norm: Method) -> Misfit | None:
        there_are = TRAINING_IMAGES[self.images]
        if self.examples is None or self.examples < there_are:
            return None
        return Misfit("examples", f"{self.images} has {there_are:,} training images; use fewer, or null for all")

    def least_examples(self) -> int:
        return count_taken(TRAINING_IMAGES[self.images], self.examples)

    def test_items(self, metric: str) -> int | None:
        return count_taken(TEST_IMAGES[self.images], self.examples) if metric == ACCURACY.name else None

    def cost(self, model: Model) -> Cost | None:
        return model.with_readout(1, STEPS[self.images], 10, read=1) if isinstance(model, RecurrentModel) else None


class PermutedPixels(PixelSequence):
    """Classify an image whose pixels are read in one fixed random order."""

    permutation_seed: int = Field(0, ge=0, lt=2**32, description="Draws the order, which all runs share.")
    legacy_index_map: bool = Field(
        False, description="Draw indices with replacement, as the RBN authors' code does; repeats some pixels."
    )


def _profile(
    description: str,
    norm: Mapping[str, Mapping[str, Any]],
    *,
    hidden_size: int,
    recurrent_init: str,
    lr: float,
    task: Mapping[str, Any] = MappingProxyType({}),
    **training: Any,
) -> Profile:
    """Make a profile with one LSTM layer, and with RMSProp and clipping as in RBN section 5.1. ``training`` holds the
    options that depend on the profile.

    The paper has RMSProp with "0.9 momentum". The authors' code has a decay and no momentum, so 0.9 is the decay here.
    """
    return Profile(
        description=description,
        task=task,
        model={
            "cell": "lstm",
            "hidden_size": hidden_size,
            "num_layers": 1,
            "bidirectional": False,
            "recurrent_init": recurrent_init,
            "forget_bias": 1.0,
        },
        training={
            "optimizer": {"name": "rmsprop", "lr": lr, "decay": 0.9, "momentum": 0.0},
            "clip_norm": 1.0,
            **training,
        },
        norm=norm,
    )


def mnist_profiles(order: str = "", **norm: Mapping[str, Any]) -> Mapping[ProfileName, Profile]:
    """Make the profiles of an MNIST task. ``order`` is a sentence on the expected order of methods at ``small``;
    ``norm`` holds more default options, by method."""
    norm = {"layer_norm": SPREAD_BIASES, "rms_norm": SPREAD_BIASES, **norm}
    paper: dict[str, Any] = {"hidden_size": 100, "recurrent_init": "identity", "lr": 1e-3, "batch_size": 100}
    return {
        "paper": _profile(
            "RBN section 5.1: 784 steps, 100 units; batches of 100 and 200 epochs, as in the authors' code.",
            norm,
            **paper,
            max_steps=100_000,
            eval_every=500,
            target=0.90,
        ),
        "small": _profile(
            f"The first 300 updates of the paper's run: 4 to 18 minutes a run on one core. {order}".rstrip(),
            norm,
            **paper,
            max_steps=300,
            eval_every=75,
            target=0.30,
        ),
        "smoke": _profile(
            "Seconds; checks that everything runs.",
            norm,
            task={"examples": 500},
            **{**paper, "hidden_size": 4, "batch_size": 20},
            max_steps=2,
            eval_every=2,
            target=0.05,
        ),
    }


def digits_profiles(order: str = "", **norm: Mapping[str, Any]) -> Mapping[ProfileName, Profile]:
    """Make the profiles of a digits task. ``order`` is a sentence on the expected order of methods at ``small``;
    ``norm`` holds default options, by method."""
    own: dict[str, Any] = {"recurrent_init": "orthogonal", "lr": 2e-3}
    return {
        "paper": _profile(
            "The hyperparameters of RBN section 5.1 on 64 steps instead of 784.",
            norm,
            hidden_size=100,
            recurrent_init="identity",
            lr=1e-3,
            batch_size=100,
            max_steps=2400,
            eval_every=12,
            target=0.90,
        ),
        "small": _profile(
            f"Under half a minute a run on one core. {order}".rstrip(),
            norm,
            **own,
            hidden_size=100,
            batch_size=64,
            max_steps=200,
            eval_every=20,
            target=0.50,
        ),
        "smoke": _profile(
            "Seconds; checks that everything runs, and 40 updates can be told from 10.",
            norm,
            **own,
            hidden_size=32,
            batch_size=32,
            max_steps=40,
            eval_every=10,
            target=0.20,
        ),
    }


class SequentialMNIST(PixelSequence):
    """Classify MNIST digits from 784 pixels, read one by one from top left to bottom right."""

    title: ClassVar[str] = "Sequential MNIST"
    citation: ClassVar[str] = RBN
    images: ClassVar[Literal["digits", "mnist"]] = "mnist"
    profiles: ClassVar = mnist_profiles(IN_ORDER, recurrent_batch_norm=NOISE)

    name: Literal["sequential_mnist"] = "sequential_mnist"


class PermutedMNIST(PermutedPixels):
    """Classify MNIST digits from 784 pixels, read one by one in one fixed random order."""

    title: ClassVar[str] = "Permuted MNIST"
    citation: ClassVar[str] = RBN
    images: ClassVar[Literal["digits", "mnist"]] = "mnist"
    profiles: ClassVar = mnist_profiles(ORDER)

    name: Literal["permuted_mnist"] = "permuted_mnist"


class SequentialDigits(PixelSequence):
    """Classify the 8x8 digits of scikit-learn from 64 pixels, read one by one from top left to bottom right."""

    title: ClassVar[str] = "Sequential digits"
    citation: ClassVar[str] = RBN + ", on the UCI digits (Alpaydin and Kaynak 1998)"
    images: ClassVar[Literal["digits", "mnist"]] = "digits"
    profiles: ClassVar = digits_profiles(ORDER, recurrent_batch_norm=NOISE)

    name: Literal["sequential_digits"] = "sequential_digits"


class PermutedDigits(PermutedPixels):
    """Classify the 8x8 digits of scikit-learn from 64 pixels, read one by one in one fixed random order."""

    title: ClassVar[str] = "Permuted digits"
    citation: ClassVar[str] = RBN + ", on the UCI digits (Alpaydin and Kaynak 1998)"
    images: ClassVar[Literal["digits", "mnist"]] = "digits"
    profiles: ClassVar = digits_profiles(ORDER)

    name: Literal["permuted_digits"] = "permuted_digits"
