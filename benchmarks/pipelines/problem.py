"""A case that is a pipeline, with its arrays: sources of any number and order, results of any dtype."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dnnmove as dm
from benchmarks.case import Case, dtype_of
from benchmarks.memory import Memory
from benchmarks.operations import Pairs, Problem
from benchmarks.pipelines.catalogue import BY_NAME
from benchmarks.pipelines.pipeline import Arrays, Pipeline, Sources


def pipeline_of(case: Case) -> Pipeline:
    return BY_NAME[case.params["pipeline"]]


def sources_of(case: Case) -> Sources:
    """The sources as the case has them, full or reduced."""
    return Sources(case.shape, case.dtype, case.params["order"], case.params["count"])


@dataclass
class PipelineProblem(Problem):
    """A problem with our built chain; the ceiling copies as much as the pipeline reads and writes."""

    pipeline: Pipeline
    built: dm.BuiltChain

    @property
    def bytes_read(self) -> int:
        return round(self.pipeline.read * sum(array.nbytes for array in self.inputs))

    @property
    def bytes_copied(self) -> int:
        return (self.bytes_read + self.bytes_written) // 2


def bytes_needed(case: Case) -> tuple[int, int]:
    """Bytes of the source's and of the destination's arena, with room for alignment."""
    sources = sources_of(case)
    descs = pipeline_of(case).build(sources).dst_descs
    slack = 4096 + 128 * (len(descs) + sources.count)
    read, written = sources.count * sources.size, sum(desc.size for desc in descs)
    return read + slack, max(written, (read + written) // 2) + slack


def make_finite(array: np.ndarray) -> None:
    """Clears a bit of the exponent of floats: HPTT multiplies by 1, which changes the bits of signalling NaNs."""
    words = {"float32": np.uint32(0xBFFFFFFF), "float64": np.uint64(0xBFFFFFFFFFFFFFFF)}
    mask = words.get(array.dtype.name)
    if mask is not None:
        dense = array if array.flags.c_contiguous else array.T
        dense.view(mask.dtype)[...] &= mask


def copies(inputs: Arrays, results: Arrays, outs: Arrays) -> Pairs | None:
    """The strided copies that do the job, if NumPy needs no copy before."""
    same = all(result.dtype == out.dtype for result, out in zip(results, outs, strict=True))
    if not (same and all(any(np.may_share_memory(result, x) for x in inputs) for result in results)):
        return None
    return [(out.reshape(result.shape), result) for out, result in zip(outs, results, strict=True)]


def build(case: Case, memory: Memory, threads: int) -> PipelineProblem:
    """Cuts the arrays from the arenas and computes what is expected."""
    memory.reset()
    pipeline, sources = pipeline_of(case), sources_of(case)
    inputs = sources.cut(memory.src.take)
    for array in inputs:
        make_finite(array)
    built = pipeline.build(sources)
    outs, expected = (
        [arena.take(desc.dims, dtype_of(str(desc.dtype))) for desc in built.dst_descs]
        for arena in (memory.dst, memory.expected)
    )
    memory.dst.poison()
    memory.expected.poison()
    results = pipeline.numpy(inputs)
    for want, result in zip(expected, results, strict=True):
        np.copyto(want.reshape(result.shape), result)
    pairs = copies(inputs, results, outs)
    return PipelineProblem(case, memory, threads, inputs, inputs[0], outs, expected, pairs, pipeline, built)
