"""The pipelines with their shapes, and how NumPy and torch do each."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import dtype_of
from benchmarks.pipelines import chains, tools
from benchmarks.pipelines.pipeline import Arrays, Pipeline, Sources, partial

PATCH, MERGE, TEMPORAL = 14, 2, 2
WINDOW, SHIFT = 7, 3
HEADS, GROUPS = 12, 4


def _experts(experts: list[int], swap: Any, take: Any) -> Any:
    """Gate and up of some experts as vLLM's loader gets them: transpose, chunk, index."""

    def run(sources: list[Any]) -> list[Any]:
        turned = swap(sources[0])
        half = turned.shape[-2] // 2
        return [take(part, experts) for part in (turned[:, :half], turned[:, half:])]

    return run


def _some(array: Any, places: list[int]) -> Any:
    """Neighbouring places as a view; any others are copied."""
    first, last = places[0], places[-1]
    return array[first : last + 1] if places == list(range(first, last + 1)) else array[places]


def experts(some: list[int]) -> dict[str, Any]:
    turn = {"numpy": lambda x: x.swapaxes(-1, -2), "torch": lambda x: x.transpose(-1, -2)}
    return {library: _experts(some, swap, _some) for library, swap in turn.items()}


def _patch_shape(frames: Any) -> tuple[int, ...]:
    """The nine axes of a video, as in transformers' Qwen2-VL processor without its batch."""
    time, channels, height, width = frames.shape
    rows, columns = height // PATCH // MERGE, width // PATCH // MERGE
    return time // TEMPORAL, TEMPORAL, channels, rows, MERGE, PATCH, columns, MERGE, PATCH


def _video_rows(frames: Any, permute: str) -> list[Any]:
    cut = frames.reshape(_patch_shape(frames))
    return [getattr(cut, permute)(0, 3, 6, 4, 7, 2, 1, 5, 8)]


def _image_cut(images: Any) -> tuple[int, ...]:
    batch, channels, height, width = images.shape
    return batch, channels, height // PATCH // MERGE, MERGE, PATCH, width // PATCH // MERGE, MERGE, PATCH


def numpy_image_patches(sources: Arrays) -> Arrays:
    images = sources[0]
    cut = images.reshape(_image_cut(images)).transpose(0, 2, 5, 3, 6, 1, 4, 7)[:, :, :, :, :, :, None]
    return [np.broadcast_to(cut, (*cut.shape[:6], TEMPORAL, *cut.shape[7:]))]


def torch_image_patches(sources: list[Any]) -> list[Any]:
    images = sources[0]
    cut = images.reshape(_image_cut(images)).permute(0, 2, 5, 3, 6, 1, 4, 7).unsqueeze(6)
    return [cut.expand(-1, -1, -1, -1, -1, -1, TEMPORAL, -1, -1)]


def _windows(image: Any, permute: str) -> list[Any]:
    batch, height, width, channels = image.shape
    cut = image.reshape(batch, height // WINDOW, WINDOW, width // WINDOW, WINDOW, channels)
    return [getattr(cut, permute)(0, 1, 3, 2, 4, 5)]


def _image(windows: Any, height: int, width: int, permute: str) -> Any:
    channels = windows.shape[-1]
    cut = windows.reshape(-1, height // WINDOW, width // WINDOW, WINDOW, WINDOW, channels)
    return getattr(cut, permute)(0, 1, 3, 2, 4, 5).reshape(-1, height, width, channels)


# ImageNet's, of pixels from 0 to 1, as factor and offset of bytes.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SCALE = tuple(1 / (255 * std) for std in STD)
OFFSET = tuple(-mean / std for mean, std in zip(MEAN, STD, strict=True))


def numpy_collate(dtype: str) -> Any:
    factor, offset = (np.array(values, np.float32).reshape(3, 1, 1) for values in (SCALE, OFFSET))

    def run(images: Arrays) -> Arrays:
        batch = np.stack(images).transpose(0, 3, 1, 2) * factor
        batch += offset
        return [batch.astype(dtype_of(dtype), copy=False)]

    return run


def torch_collate(dtype: str) -> Any:
    def run(images: list[Any]) -> list[Any]:
        import torch

        factor, offset = (torch.tensor(values, dtype=torch.float32).view(3, 1, 1) for values in (SCALE, OFFSET))
        planes = torch.stack(images).permute(0, 3, 1, 2).contiguous()
        return [planes.to(torch.float32).mul(factor).add(offset).to(getattr(torch, dtype))]

    return run


def _collate(dtype: str, **more: Any) -> Pipeline:
    return Pipeline(
        f"collate-{dtype}",
        Sources((224, 224, 3), "uint8", count=128),
        Sources((224, 224, 3), "uint8", count=512),
        partial(chains.collate, dtype, list(SCALE), list(OFFSET)),
        numpy_collate(dtype),
        torch_collate(dtype),
        converts=True,
        tolerance=1e-5,
        **more,
    )


def _swapped(words: Any) -> Any:
    """The four bytes of each word in the other order: torch has no operator for it."""
    low = (words & 0xFF00) << 8 | words << 24
    return low | words >> 8 & 0xFF00 | words >> 24 & 0xFF


def _heads(fused: Any, permute: str) -> list[Any]:
    batch, sequence, width = fused.shape
    turned = getattr(fused.reshape(batch, sequence, 3, HEADS, width // 3 // HEADS), permute)(2, 0, 3, 1, 4)
    return [turned[0], turned[1], turned[2]]


def numpy_repeat_kv(sources: Arrays) -> Arrays:
    keys = sources[0].transpose(0, 2, 1, 3)
    batch, heads, sequence, width = keys.shape
    return [np.broadcast_to(keys[:, :, None], (batch, heads, GROUPS, sequence, width))]


def torch_repeat_kv(sources: list[Any]) -> list[Any]:
    """As transformers' repeat_kv."""
    keys = sources[0].transpose(1, 2)
    batch, heads, sequence, width = keys.shape
    return [keys[:, :, None].expand(batch, heads, GROUPS, sequence, width)]


def _cache(name: str, shape: tuple[int, ...], full: tuple[int, ...]) -> Pipeline:
    return Pipeline(
        name,
        Sources(shape, "bfloat16"),
        Sources(full, "bfloat16"),
        chains.swap_cache_layout,
        lambda xs: [xs[0].swapaxes(2, 3)],
        lambda xs: [xs[0].transpose(2, 3)],
    )


PIPELINES = (
    Pipeline(
        "llama4-experts",
        Sources((2, 5120, 16384), "float8_e4m3fn"),
        Sources((16, 5120, 16384), "float8_e4m3fn"),
        partial(chains.expert_weights, [1]),
        **experts([1]),
        read=1 / 2,
    ),
    Pipeline(
        "qwen2-vl-video",
        Sources((16, 3, 448, 672), "float32"),
        Sources((128, 3, 448, 672), "float32"),
        partial(chains.video_patches),
        lambda xs: _video_rows(xs[0], "transpose"),
        lambda xs: _video_rows(xs[0], "permute"),
    ),
    Pipeline(
        "qwen2-vl-images",
        Sources((8, 3, 672, 672), "float32"),
        Sources((64, 3, 672, 672), "float32"),
        partial(chains.image_patches),
        numpy_image_patches,
        torch_image_patches,
    ),
    Pipeline(
        "swin-windows",
        Sources((32, 56, 56, 96), "float32"),
        Sources((256, 56, 56, 96), "float32"),
        partial(chains.shifted_windows),
        lambda xs: _windows(np.roll(xs[0], (-SHIFT, -SHIFT), (1, 2)), "transpose"),
        lambda xs: _windows(xs[0].roll((-SHIFT, -SHIFT), (1, 2)), "permute"),
    ),
    Pipeline(
        "swin-windows-back",
        Sources((32 * 64, 49, 96), "float32"),
        Sources((256 * 64, 49, 96), "float32"),
        partial(chains.windows_back, 56, 56),
        lambda xs: [np.roll(_image(xs[0], 56, 56, "transpose"), (SHIFT, SHIFT), (1, 2))],
        lambda xs: [_image(xs[0], 56, 56, "permute").roll((SHIFT, SHIFT), (1, 2))],
    ),
    Pipeline(
        "split-heads",
        Sources((8, 1024, 3 * HEADS * 64), "float32"),
        Sources((64, 1024, 3 * HEADS * 64), "float32"),
        partial(chains.split_heads, HEADS),
        lambda xs: _heads(xs[0], "transpose"),
        lambda xs: _heads(xs[0], "permute"),
    ),
    Pipeline(
        "merge-heads",
        Sources((16, HEADS, 1024, 64), "float32"),
        Sources((128, HEADS, 1024, 64), "float32"),
        chains.merge_heads,
        lambda xs: [xs[0].transpose(0, 2, 1, 3)],
        lambda xs: [xs[0].transpose(1, 2)],
    ),
    _cache("kv-nhd-to-hnd", (2, 1024, 16, 8, 128), (2, 8192, 16, 8, 128)),
    _cache("kv-hnd-to-nhd", (2, 1024, 8, 16, 128), (2, 8192, 8, 16, 128)),
    Pipeline(
        "repeat-kv",
        Sources((2, 4096, 8, 128), "bfloat16"),
        Sources((16, 4096, 8, 128), "bfloat16"),
        partial(chains.repeat_kv, GROUPS),
        numpy_repeat_kv,
        torch_repeat_kv,
    ),
    Pipeline(
        "columns-to-rows",
        Sources((1_000_000, 100), "float32", "F"),
        Sources((1_000_000, 800), "float32", "F"),
        chains.columns_to_rows,
        lambda xs: [xs[0]],
        lambda xs: [xs[0]],
        tools={"pandas": tools.pandas_rows, "polars": tools.polars_rows},
    ),
)

PIPELINES += (
    _collate("float32", tools={"torchvision": tools.torchvision_batch, "cv2": tools.cv2_blob}),
    _collate("bfloat16"),
    Pipeline(
        "fits-to-native",
        Sources((4096, 4096), ">f4"),
        Sources((16384, 16384), ">f4"),
        chains.native_bytes,
        lambda xs: [xs[0]],
        lambda xs: [_swapped(xs[0])],
        words=True,
        tools={"numpy byteswap": tools.numpy_byteswap},
    ),
)

BY_NAME = {pipeline.name: pipeline for pipeline in PIPELINES}
