r"""Query-key normalization.

$$\mathrm{score}(q, k) = g \, \frac{q \cdot k}{\lVert q \rVert \, \lVert k \rVert}$$
"""

from typing import ClassVar, Literal

from pydantic import Field, PositiveFloat

from normcore.spec.methods.method import Method
from normcore.spec.models.model import Place


class QueryKeyNorm(Method):
    """Compare queries and keys by their angle: all of them are scaled to length 1, and one gain scales all logits.

    Choose it for attention whose logits grow too large.
    """

    title: ClassVar[str] = "Query-key normalization"
    citation: ClassVar[str] = "Henry, Dachapally, Pawar, Chen 2020, arXiv:2010.04245, section 2"
    takes: ClassVar[frozenset[Place]] = frozenset({"attention"})

    method: Literal["query_key_norm"] = "query_key_norm"
    length: int = Field(
        100,
        ge=2,
        description="L, which 97.5 % of the training sequences do not exceed; the gain starts at log2(L^2 - L).",
    )
    eps: PositiveFloat = Field(1e-6, description="Smallest length that a query or key is divided by.")
