"""Built chains as differentiable functions of tensors, and the operator torch.ops.dnnmove.chain."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

from dnnmove import BuiltChain, MemoryDesc
from dnnmove.torch._adjoint import adjoint_of
from dnnmove.torch._direct import DIRECT, differentiable, readable, way
from dnnmove.torch._register import register
from dnnmove.torch._spec import built_for, read, spec_of, steps_on

__all__ = ["ChainFunction", "chain", "run_chain"]

_compiling = torch.compiler.is_compiling


def _run(x: Any, text: str) -> Any:
    try:
        result = built_for(text)(x)
    except ValueError:
        if tuple(x.shape[1:]) != read(text).shape[1:]:
            raise
        result = built_for(text, x.stride())(x)  # x lies in another way
    return list(result) if isinstance(result, tuple) else [result]


@functools.lru_cache(maxsize=256)
def _shapes_for(text: str, extent: int) -> list[tuple[int, ...]]:
    """The shapes of all results for a leading extent."""
    spec = read(text)
    shape = (extent, *spec.shape[1:]) if spec.shape else ()
    return [desc.dims for desc in steps_on(spec.calls, MemoryDesc(shape, spec.dtype)).dst_descs]


def _fake(x: Any, text: str) -> Any:
    readable(x)
    spec = read(text)
    if x.dtype is not getattr(torch, spec.dtype):
        raise ValueError(f"x has dtype {x.dtype}, but the chain was built for torch.{spec.dtype}")
    if x.ndim != len(spec.shape) or any(a != b for a, b in zip(x.shape[1:], spec.shape[1:], strict=True)):
        raise ValueError(
            f"x has shape {tuple(x.shape)}, but the chain was built for {spec.shape}, of which only the first length "
            "may differ"
        )
    extent = x.shape[0] if spec.shape else 1
    if isinstance(extent, torch.SymInt) and spec.shape[0] > 0:
        # Lengths that grow with the first one; where no other is possible, the compiled graph is for this one alone.
        shapes = _shapes_for(text, spec.shape[0])
        try:
            larger = _shapes_for(text, 2 * spec.shape[0])
        except ValueError:
            larger = shapes
        if larger != shapes:
            return [
                x.new_empty([a if a == b else a * extent // spec.shape[0] for a, b in zip(*pair, strict=True)])
                for pair in zip(shapes, larger, strict=True)
            ]
    return [x.new_empty(shape) for shape in _shapes_for(text, int(extent))]


def _adjoint(shape: Any, gradients: Any, text: str) -> Any:
    return adjoint_of(text, tuple(int(length) for length in shape))(gradients)


def _vmap(batch: Any, text: str) -> Any:
    # A chain is for one shape: the batch goes through it one by one.
    results = [run_chain(x, text) for x in batch.unbind(0)]
    if not results:
        shapes = _shapes_for(text, batch.shape[1] if batch.ndim > 1 else 1)
        return [batch.new_empty((0, *shape)) for shape in shapes]
    return [torch.stack(parts) for parts in zip(*results, strict=True)]


@functools.lru_cache(maxsize=256)
def _linear(text: str) -> tuple[str]:
    """The chain that maps tangents: borders of any constant have the tangent 0."""
    spec = read(text)
    calls = [
        call._replace(keywords={**call.keywords, "constant_value": 0}) if "constant_value" in call.keywords else call
        for call in spec.calls
    ]
    return (spec._replace(calls=tuple(calls)).text(),)


run_chain = register(
    "chain(Tensor x, str chain) -> Tensor[]", kernel=_run, fake=_fake, adjoint=_adjoint, vmap=_vmap, linear=_linear
)


@functools.lru_cache(maxsize=1024)
def _node(text: str, shape: tuple[int, ...]) -> Callable[[Any], Any]:
    adjoint = adjoint_of(text, shape)
    built = built_for(text)
    return differentiable("Chain", lambda ctx, x: built(x), lambda ctx, *gradients: adjoint(gradients))


class ChainFunction:
    """A built chain as a differentiable function of a tensor; made by `chain`.

    Parameters
    ----------
    built : dnnmove.BuiltChain
        The chain.

    Raises
    ------
    TypeError
        `built` is no built chain, or moves a dtype that torch does not have.
    """

    def __init__(self, built: BuiltChain) -> None:
        if not isinstance(built, BuiltChain):
            name = type(built).__name__
            raise TypeError(f"built must be a BuiltChain, as Chain.build() returns it, not {name}")
        spec = spec_of(built)
        self._built = built
        self._text = spec.text()
        self._splits = spec.splits

    @property
    def built(self) -> BuiltChain:
        """The chain that it runs."""
        return self._built

    def __call__(self, x: torch.Tensor) -> Any:
        """Run the chain on a tensor.

        Parameters
        ----------
        x : torch.Tensor
            Tensor on the CPU of the shape (the first length may differ where no step fixes it) and dtype that the chain
            was built for. It may lie in memory in another way: the chain is then planned for that, too.

        Returns
        -------
        torch.Tensor or tuple of torch.Tensor
            New and contiguous; a tuple where the chain splits.

        Raises
        ------
        TypeError
            `x` is no dense tensor.
        ValueError
            `x` has another shape or dtype or lies on another device, or requires grad and a step has no gradient.
        """
        if _compiling():
            results = run_chain(x, self._text)
            return tuple(results) if self._splits else results[0]
        taken = way(x)
        if taken:
            try:
                return self._built(x) if taken == DIRECT else _node(self._text, x.shape)(x)
            except (TypeError, ValueError):
                pass
        elif has_torch_function_unary(x):
            return handle_torch_function(ChainFunction.__call__, (x,), self, x)
        readable(x)
        if x.requires_grad and torch.is_grad_enabled():
            adjoint_of(self._text, tuple(x.shape))
        results = run_chain(x, self._text)
        return tuple(results) if self._splits else results[0]

    def __reduce__(self) -> Any:
        """Pickle as the call that made it."""
        return chain, (self._built,)

    def __repr__(self) -> str:
        """Show the chain."""
        return f"dnnmove.torch.chain({self._built!r})"


def chain(built: BuiltChain) -> ChainFunction:
    """Make a built chain a differentiable function of tensors.

    The gradient of permutations (shuffles, transposes, reshapes, flips, rolls, blocks) is the inverse chain; that of
    broadcasts and repeats a sum, that of slices puts zeros where nothing was taken, that of splits a concatenation.

    Parameters
    ----------
    built : dnnmove.BuiltChain
        What ``Chain.build()`` returned.

    Returns
    -------
    ChainFunction
        Call it with a tensor. It works under ``torch.compile``, ``torch.export`` and ``torch.func``, and pickles.

    Raises
    ------
    TypeError
        `built` is no built chain, or moves a dtype that torch does not have.

    Examples
    --------
    >>> import torch
    >>> import dnnmove as dm
    >>> import dnnmove.torch
    >>> x = torch.arange(6.0).reshape(1, 6).requires_grad_()
    >>> steps = dm.Chain.of(x).shuffle_channels(axis=1, group=2).split(axis=1, num_splits=2)
    >>> f = dnnmove.torch.chain(steps.build())
    >>> a, b = f(x)
    >>> a.tolist(), b.tolist()
    ([[0.0, 3.0, 1.0]], [[4.0, 2.0, 5.0]])
    >>> b.sum().backward()
    >>> x.grad.tolist()
    [[0.0, 0.0, 1.0, 0.0, 1.0, 1.0]]
    """
    return ChainFunction(built)
