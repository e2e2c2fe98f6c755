"""Differentiable data movement for PyTorch: dnnmove's operations on CPU tensors, with gradients, under every transform.

The eager functions of `dnnmove` take tensors too, but give results without gradients. These know autograd,
``torch.compile``, ``torch.export`` and ``torch.func``, through the operators ``torch.ops.dnnmove``; a plain eager call
goes to the engine directly. `import dnnmove` does not import this module, nor torch.
"""

from dnnmove.torch._backend import backend
from dnnmove.torch._chain import ChainFunction, chain
from dnnmove.torch._compiled import build_extension, load
from dnnmove.torch._functions import broadcast, channel_shuffle, transpose, variadic_split
from dnnmove.torch._joins import concat, stack
from dnnmove.torch._modules import ChannelShuffle

__all__ = [
    "ChainFunction",
    "ChannelShuffle",
    "backend",
    "broadcast",
    "build_extension",
    "chain",
    "channel_shuffle",
    "concat",
    "stack",
    "transpose",
    "variadic_split",
]

load()
