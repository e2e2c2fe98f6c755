"""A built chain as text, which an operator's argument and an exported program can hold, and back."""

from __future__ import annotations

import functools
import json
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401  (np.dtype knows its names from here on)
import numpy as np
import torch

from dnnmove import BuiltChain, Chain, MemoryDesc

__all__ = ["Call", "Spec", "built_for", "call_from", "calls_as_text", "read", "spec_of", "steps_on", "taken_on"]


class Call(NamedTuple):
    """A step as it was called."""

    method: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]


class Spec(NamedTuple):
    """What a chain was built from."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]  # elements
    dtype: str
    calls: tuple[Call, ...]
    options: dict[str, Any]  # of Chain.build
    splits: bool

    def text(self) -> str:
        """JSON, equal for equal chains."""
        parts = [self.shape, self.strides, self.dtype, calls_as_text(self.calls), self.options, self.splits]
        return json.dumps(parts, separators=(",", ":"), sort_keys=True)

    def chain(self) -> Chain:
        """The chain; TypeError or ValueError where it knows no such step."""
        return steps_on(self.calls, MemoryDesc(self.shape, np.dtype(self.dtype), self.strides))


def spec_of(built: BuiltChain) -> Spec:
    """Read from what a pickle of the chain holds; TypeError where torch has no such dtype or gradient."""
    if not hasattr(built, "src_desc"):
        raise TypeError(f"built ({built!r}) must have one source, not a list of {len(built.src_descs)}")
    pickled: Any = built.__reduce__()
    chain, max_nests, tune = pickled[1]
    calls = tuple(Call(*call) for call in chain.__reduce__()[1][1])
    desc = built.src_desc
    if not desc.dtype.isnative or not isinstance(getattr(torch, desc.dtype.name, None), torch.dtype):
        raise TypeError(f"built ({built!r}) moves dtype {desc.dtype}, which torch does not have")
    changed = {call.method for call in calls} & {"byteswap", "convert"}
    if changed:
        raise TypeError(
            f"built ({built!r}) changes elements ({', '.join(sorted(changed))}), of which autograd has no gradient: "
            "call it by itself, and convert tensors in torch where a gradient is to flow"
        )
    options = {"max_nests": max_nests, "tune": tune}
    return Spec(desc.dims, desc.strides or (), desc.dtype.name, calls, options, not hasattr(built, "dst_desc"))


def _plain(value: Any) -> Any:
    """An argument as JSON can hold it."""
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if value is Ellipsis:
        return {"slice": []}
    if isinstance(value, np.generic):  # the constant of a pad, an element of the chain's dtype
        value = value.item()
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


def calls_as_text(calls: tuple[Call, ...]) -> list[Any]:
    """Steps as JSON can hold them."""
    return [[name, _plain(args), {k: _plain(v) for k, v in words.items()}] for name, args, words in calls]


def _argument(value: Any) -> Any:
    """An argument from what JSON holds."""
    if isinstance(value, dict) and "complex" in value:
        return complex(*value["complex"])
    if isinstance(value, dict):
        return slice(*value["slice"]) if value["slice"] else Ellipsis
    return tuple(_argument(entry) for entry in value) if isinstance(value, list) else value


def call_from(value: Any) -> Call:
    """A step from what JSON holds."""
    name, arguments, keywords = value
    return Call(name, _argument(arguments), {k: _argument(v) for k, v in keywords.items()})


@functools.lru_cache(maxsize=256)
def read(text: str) -> Spec:
    """The spec whose text that is."""
    shape, strides, dtype, calls, options, splits = json.loads(text)
    return Spec(tuple(shape), tuple(strides), dtype, tuple(map(call_from, calls)), options, splits)


def steps_on(calls: tuple[Call, ...], desc: MemoryDesc) -> Chain:
    """The steps, taken from another source."""
    return taken_on(calls, Chain(desc))


def taken_on(calls: tuple[Call, ...], chain: Chain) -> Chain:
    """The steps, taken on top of others."""
    for name, arguments, keywords in calls:
        chain = getattr(chain, name)(*arguments, **keywords)
    return chain


@functools.lru_cache(maxsize=256)
def built_for(text: str, strides: tuple[int, ...] | None = None) -> BuiltChain:
    """The chain of `text`; for a source of these strides (elements) where they are given."""
    spec = read(text)
    desc = MemoryDesc(spec.shape, np.dtype(spec.dtype), spec.strides if strides is None else strides)
    return steps_on(spec.calls, desc).build(**spec.options)
