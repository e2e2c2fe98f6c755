"""The tools that people use for a pipeline today, beside NumPy and torch: each gets the sources and gives a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.pipelines.pipeline import Arrays

Call = Callable[[], Any]


def pandas_rows(sources: Arrays) -> Call:
    """The values of a frame as a dense matrix of rows."""
    import pandas

    frame = pandas.DataFrame(sources[0], copy=False)
    return lambda: [np.ascontiguousarray(frame.to_numpy())]


def polars_rows(sources: Arrays) -> Call:
    """polars' own conversion of its columns, which share our memory."""
    import polars

    table = sources[0]
    frame = polars.DataFrame({f"c{i}": table[:, i] for i in range(table.shape[1])})
    return lambda: [frame.to_numpy(order="c")]


def torchvision_batch(sources: Arrays) -> Call:
    """ToTensor and Normalize of every image, stacked."""
    import torch
    from torchvision import transforms

    from benchmarks.pipelines.catalogue import MEAN, STD

    prepare = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    return lambda: [torch.stack([prepare(image) for image in sources]).numpy()]


def cv2_blob(sources: Arrays) -> Call:
    """OpenCV's blob of all images, with a mean and a factor for each channel."""
    import cv2

    from benchmarks.pipelines.catalogue import MEAN, SCALE

    parameters = cv2.dnn.Image2BlobParams(scalefactor=SCALE, mean=[255 * mean for mean in MEAN])
    return lambda: [cv2.dnn.blobFromImagesWithParams(sources, parameters)]


def numpy_byteswap(sources: Arrays) -> Call:
    """What pandas' manual recommends: the bytes swapped, then read as native numbers."""
    return lambda: [sources[0].byteswap().view(sources[0].dtype.newbyteorder())]
