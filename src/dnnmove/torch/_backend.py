"""The backend "dnnmove" of torch.compile: movement by chains, the rest by inductor, or eagerly without a compiler."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import dnnmove
from dnnmove.torch import _fold

__all__ = ["backend"]


def _fold_pass() -> Any:
    """The pass as inductor's caches know it."""
    from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files

    class FoldMovement(CustomGraphPass):  # type: ignore[misc]
        def __call__(self, graph: Any) -> None:
            _fold.fold(graph, fuses=True)

        def uuid(self) -> Any:
            here = Path(__file__).parent
            files = tuple(str(here / name) for name in ("_fold.py", "_joined.py", "_movement.py", "_spec.py"))
            return get_hash_for_files(files, f"{dnnmove.__version__} {_fold.LEAST_BESIDE_INDUCTOR}")

    return FoldMovement()


def _by_inductor(module: Any, inputs: Any, options: dict[str, Any]) -> Any:
    from torch._inductor.compile_fx import compile_fx

    return compile_fx(module, inputs, config_patches={**options, "post_grad_custom_pre_pass": _fold_pass()})


def _eagerly(module: Any, inputs: Any) -> Any:
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    def compiler(graph: Any, _: Any) -> Any:
        _fold.fold(graph.graph, fuses=False)
        graph.recompile()
        return make_boxed_func(graph.forward)

    return aot_autograd(fw_compiler=compiler)(module, inputs)


def backend(module: Any, inputs: Any, *, mode: str | None = None, options: dict[str, Any] | None = None) -> Any:
    """Compile a graph: what ``torch.compile(model, backend="dnnmove")`` calls.

    Movement that torch would copy for (permutes, shuffles, rolls, flips, repeats, pads but circular ones, and
    slices that are made contiguous) becomes a chain, however many copies it was, where the chain is one pass over
    memory, writes at least 32 MiB, and stands where inductor could not take the copy into arithmetic beside it:
    between convolutions, matrix products, attention, inputs and results. It may begin with a concatenation or a
    stack of several tensors. Views stay views. The rest, concatenations alone and movement of dynamic lengths with
    it, goes to inductor. Graphs of the backward are treated alike. Where no C++ compiler is found, the rest runs
    eagerly, and movement of 64 KiB becomes a chain wherever it stands.

    Parameters
    ----------
    module : torch.fx.GraphModule
        The graph that dynamo captured.
    inputs : sequence of torch.Tensor
        Examples of its inputs.
    mode : str, optional
        inductor's mode, as ``torch.compile`` takes it.
    options : dict, optional
        inductor's options.

    Returns
    -------
    callable
        What runs the graph.

    Examples
    --------
    >>> import torch
    >>> import dnnmove.torch
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ChannelShuffle(2))
    >>> compiled = torch.compile(model, backend=dnnmove.torch.backend)  # by the first call
    """
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        return _eagerly(module, inputs)
    from torch._inductor import list_mode_options

    return _by_inductor(module, inputs, {**(list_mode_options(mode) if mode else {}), **(options or {})})
