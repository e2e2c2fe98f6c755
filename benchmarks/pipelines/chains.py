"""Pipelines that people complain about, each as one chain; docs/pipelines.md prints these functions as they are."""

from __future__ import annotations

import dnnmove as dm


def expert_weights(weights: dm.MemoryDesc, experts: list[int]) -> dm.Chain:
    """Fused FP8 weights of all experts, (experts, in, 2 * out), to gate and up of some, (experts, out, in) each."""
    return dm.Chain(weights).take(experts, axis=0).swapaxes(-1, -2).split(axis=-2, num_splits=2)


def video_patches(frames: dm.MemoryDesc, temporal: int = 2, merge: int = 2, patch: int = 14) -> dm.Chain:
    """Frames (time, channels, height, width) to Qwen2-VL's rows, one a patch, `merge` squared neighbours together."""
    return dm.Chain(frames).rearrange(
        "(t s) c (h m p) (w n q) -> (t h w m n) (c s p q)", s=temporal, m=merge, n=merge, p=patch, q=patch
    )


def image_patches(images: dm.MemoryDesc, temporal: int = 2, merge: int = 2, patch: int = 14) -> dm.Chain:
    """Images (batch, channels, height, width) to Qwen2-VL's rows; a still image is a video of equal frames."""
    return dm.Chain(images).repeat(
        "b c (h m p) (w n q) -> b (h w m n) (c s p q)", s=temporal, m=merge, n=merge, p=patch, q=patch
    )


def shifted_windows(image: dm.MemoryDesc, size: int = 7, shift: int = 3) -> dm.Chain:
    """Swin's shifted windows: (batch, height, width, channels) to (windows, size * size, channels)."""
    return (
        dm.Chain(image).roll((-shift, -shift), (1, 2)).rearrange("b (h p) (w q) c -> (b h w) (p q) c", p=size, q=size)
    )


def windows_back(windows: dm.MemoryDesc, height: int, width: int, size: int = 7, shift: int = 3) -> dm.Chain:
    """The reverse: (windows, size * size, channels) to (batch, height, width, channels)."""
    return (
        dm.Chain(windows)
        .rearrange("(b h w) (p q) c -> b (h p) (w q) c", h=height // size, w=width // size, p=size, q=size)
        .roll((shift, shift), (1, 2))
    )


def collate(images: list[dm.MemoryDesc], dtype: str, scale: list[float], shift: list[float]) -> dm.Chain:
    """Images of bytes (height, width, channels) to a normalised batch (batch, channels, height, width)."""
    return dm.Chain(images).stack().transpose((0, 3, 1, 2)).convert(dtype, scale, shift, axis=1)


def split_heads(fused: dm.MemoryDesc, heads: int) -> dm.Chain:
    """A fused projection (batch, sequence, 3 * heads * width) to q, k and v, (batch, heads, sequence, width) each."""
    return dm.Chain(fused).split(axis=-1, num_splits=3).rearrange("b s (h d) -> b h s d", h=heads)


def merge_heads(attended: dm.MemoryDesc) -> dm.Chain:
    """What attention gives, (batch, heads, sequence, width), to (batch, sequence, heads * width)."""
    return dm.Chain(attended).rearrange("b h s d -> b s (h d)")


def swap_cache_layout(cache: dm.MemoryDesc) -> dm.Chain:
    """A paged KV cache (2, blocks, tokens, heads, width), NHD, to (2, blocks, heads, tokens, width), HND; or back."""
    return dm.Chain(cache).swapaxes(2, 3)


def repeat_kv(keys: dm.MemoryDesc, times: int) -> dm.Chain:
    """Keys or values (batch, sequence, heads, width) to (batch, heads * times, sequence, width), each head repeated."""
    return dm.Chain(keys).repeat("b s h d -> b (h r) s d", r=times)


def columns_to_rows(table: dm.MemoryDesc) -> dm.Chain:
    """A table kept column by column, as polars and pandas do, to a matrix of rows."""
    return dm.Chain(table)


def native_bytes(data: dm.MemoryDesc) -> dm.Chain:
    """Big-endian numbers, as FITS keeps them, to native ones."""
    return dm.Chain(data).byteswap()
