"""The functions as modules."""

from __future__ import annotations

import torch

from dnnmove.torch._functions import channel_shuffle
from dnnmove.torch._shapes import integer

__all__ = ["ChannelShuffle"]


class ChannelShuffle(torch.nn.Module):  # type: ignore[misc]
    """The module of `channel_shuffle`: takes the place of ``torch.nn.ChannelShuffle``.

    Parameters
    ----------
    groups : int
        The number of groups, at least 1; divides the number of channels.

    Raises
    ------
    TypeError
        `groups` is no integer.
    ValueError
        `groups` is smaller than 1.

    Examples
    --------
    >>> import torch
    >>> from dnnmove.torch import ChannelShuffle
    >>> shuffle = ChannelShuffle(2)
    >>> shuffle
    ChannelShuffle(groups=2)
    >>> x = torch.randn(1, 58, 7, 7)
    >>> torch.equal(shuffle(x), torch.channel_shuffle(x, 2))
    True
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = int(integer(groups, "groups"))
        if self.groups < 1:
            raise ValueError(f"groups ({groups}) must be at least 1")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shuffle the channels of a batch.

        Parameters
        ----------
        x : torch.Tensor
            Tensor of shape (N, C, ...) on the CPU.

        Returns
        -------
        torch.Tensor
            As `channel_shuffle` returns it.
        """
        return channel_shuffle(x, self.groups)

    def extra_repr(self) -> str:
        """Return what a repr of the module shows of it.

        Returns
        -------
        str
            The number of groups.
        """
        return f"groups={self.groups}"
