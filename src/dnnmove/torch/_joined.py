"""The operator torch.ops.dnnmove.joined: a chain that begins with a stack or a concat of several tensors."""

from __future__ import annotations

import functools
import json
from typing import Any, NamedTuple

import torch

from dnnmove import BuiltChain, Chain, MemoryDesc
from dnnmove.torch._register import ANY_STRIDES, LIBRARY
from dnnmove.torch._spec import Call, call_from, calls_as_text, taken_on

__all__ = ["Joined", "run_joined"]


class Joined(NamedTuple):
    """What such a chain is built from."""

    shapes: tuple[tuple[int, ...], ...]
    strides: tuple[tuple[int, ...], ...]  # elements
    dtype: str
    calls: tuple[Call, ...]

    def text(self) -> str:
        """JSON, equal for equal chains."""
        return json.dumps([self.shapes, self.strides, self.dtype, calls_as_text(self.calls)], separators=(",", ":"))

    def chain(self) -> Chain:
        """The chain; TypeError or ValueError where it knows no such step."""
        pairs = zip(self.shapes, self.strides, strict=True)
        return taken_on(self.calls, Chain([MemoryDesc(shape, self.dtype, strides) for shape, strides in pairs]))


def _read(text: str) -> Joined:
    shapes, strides, dtype, calls = json.loads(text)
    return Joined(tuple(map(tuple, shapes)), tuple(map(tuple, strides)), dtype, tuple(map(call_from, calls)))


@functools.lru_cache(maxsize=256)
def _built(text: str, strides: tuple[tuple[int, ...], ...]) -> BuiltChain:
    """For sources of these strides, which a compiler may have changed since."""
    return _read(text)._replace(strides=strides).chain().build()


@functools.lru_cache(maxsize=256)
def _shape(text: str) -> tuple[int, ...]:
    return _read(text).chain().dst_desc.dims


def _run(xs: list[Any], chain: str) -> Any:
    return _built(chain, tuple(x.stride() for x in xs))([x.detach() if x.requires_grad else x for x in xs])


def _fake(xs: list[Any], chain: str) -> Any:
    return xs[0].new_empty(_shape(chain))


# For graphs whose gradients are dealt with: it has none of its own.
LIBRARY.define("joined(Tensor[] xs, str chain) -> Tensor", tags=(torch.Tag.pt2_compliant_tag, ANY_STRIDES))
LIBRARY.impl("joined", _run, "CPU")
torch.library.register_fake("dnnmove::joined", _fake, lib=LIBRARY)
run_joined = torch.ops.dnnmove.joined.default
