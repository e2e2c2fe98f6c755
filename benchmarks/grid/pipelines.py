"""Pipelines that people complain about, as `benchmarks/pipelines` defines them."""

from __future__ import annotations

from benchmarks.case import Case, show
from benchmarks.pipelines.catalogue import PIPELINES
from benchmarks.pipelines.pipeline import Pipeline, Sources


def case_of(pipeline: Pipeline, sources: Sources | None = None) -> Case:
    """The case of one pipeline; other sources than its own may be given."""
    sources = sources or pipeline.sources
    several = f"{sources.count}x" if sources.count > 1 else ""
    name = f"pipeline/{pipeline.name}/{several}{show(sources.shape)}/{sources.dtype}"
    params = {"pipeline": pipeline.name, "order": sources.order, "count": sources.count}
    return Case(name, "pipeline", sources.shape, sources.dtype, params, targets=("pipelines",))


def cases(threads: int) -> list[Case]:
    return [case_of(pipeline) for pipeline in PIPELINES]
