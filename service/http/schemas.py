"""Schemas of what several answers contain: specs, results, code and environment. Workers read them, too, so this module
does without FastAPI.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from normcore.events import Finding

NAMED = "x-schema"


class AnalysisResult(BaseModel):
    """Result of an analysis."""

    findings: list[Finding]
    seconds: float


class Code(BaseModel):
    """The code of a spec: version, commit, and digests of its own parts."""

    version: str | None = Field(description="Version of normbench.")
    commit: str | None = Field(description="Commit of the source; null outside a git work tree.")
    dirty: bool | None = Field(
        description="Whether the source differs from the commit, or has files that the commit lacks."
    )
    parts: dict[str, str | None] = Field(
        description="For each of the spec's own parts, SHA-256 over its sources without comments and docstrings."
    )


class Environment(BaseModel):
    """Packages, hardware, code and data of a run; null for fields that do not apply."""

    model_config = ConfigDict(extra="allow")

    python: str | None = Field(None, description="Version of Python.")
    torch: str | None = Field(None, description="Version of torch.")
    numpy: str | None = Field(None, description="Version of numpy.")
    normbench: str | None = Field(None, description="Version of normbench.")
    git: str | None = Field(None, description="Commit of the source, with `-dirty` if it was changed since.")
    code: Code | None = Field(None, description="Null in runs that are older than this field.")
    os: str | None = None
    cpu: str | None = None
    cores: int | None = None
    threads: int | None = Field(None, description="Threads of torch.")
    kernels: str | None = Field(
        None, description="Target and compiler of the fused kernels; null if the reference ran."
    )
    gpu: str | None = None
    cuda: str | None = Field(None, description="Version of CUDA.")
    driver: str | None = Field(None, description="Version of the GPU's driver.")
    method: str | None = Field(None, description="The package that the method comes from; null if it is ours.")
    task: str | None = Field(None, description="The package that the task comes from; null if it is ours.")
    cell: str | None = Field(None, description="The package that the cell comes from; null if it is ours.")
    data: dict[str, str] = Field({}, description="SHA-256 of each data set.")


def mark_type(name: str) -> WithJsonSchema:
    """Mark a type that a schema of this document describes, and that is not validated. Pydantic would look up a
    ``$ref`` among its own schemas, so ``service.http.openapi.complete`` turns the mark into a ``$ref``.
    """
    return WithJsonSchema({NAMED: name})


ResolvedSpec = Annotated[dict[str, Any], mark_type("ResolvedSpec")]
"""Type of a spec from the database: it is described, and not validated again."""
WrittenSpec = Annotated[dict[str, Any], mark_type("WrittenSpec")]
"""Type of a spec to be submitted, which the service itself has written."""
