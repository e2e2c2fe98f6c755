"""OpenCV: transpose of matrices and transposeND of everything else that is dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.contestants.strided import permutation
from benchmarks.operations import Problem

TYPES = {1: np.uint8, 2: np.uint16, 4: np.int32, 8: np.float64}
_cv2: Any = None


def start(threads: int) -> None:
    global _cv2
    import cv2

    _cv2 = cv2
    cv2.setNumThreads(threads)


def version() -> str:
    return str(_cv2.__version__)


def contestants(problem: Problem) -> list[Contestant]:
    case = problem.case
    if case.op not in ("transpose", "pipeline") or problem.pairs is None or len(problem.pairs) > 1 or case.small:
        raise UnsupportedError("not compared")
    dst, src = problem.pairs[0]
    if src.itemsize not in TYPES:
        raise UnsupportedError(f"no elements of {src.itemsize} bytes")
    found, dtype = permutation(dst, src), TYPES[src.itemsize]
    sizes = tuple(found.sizes[axis] for axis in found.order)
    flat = np.lib.stride_tricks.as_strided(src, (src.size,), (src.itemsize,))
    names = {
        "src": flat.view(dtype).reshape(found.sizes),
        "dst": problem.outs[0].reshape(-1).view(dtype).reshape(sizes),
        "order": found.order,
        "transpose": _cv2.transpose,
        "transpose_nd": _cv2.transposeND,
    }
    if found.order == (1, 0):
        return [Contestant("cv2", "transpose(src, dst)", names)]
    return [Contestant("cv2", "transpose_nd(src, order, dst)", names)]
