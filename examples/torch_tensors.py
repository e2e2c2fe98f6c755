"""PyTorch tensors in, PyTorch tensors out: the eager functions take anything with __dlpack__."""

import torch

import dnnmove as dm

x = torch.randn(8, 240, 28, 28)
images = x.to(memory_format=torch.channels_last)

# torch counts groups, as OpenVINO does.
assert torch.equal(dm.shuffle_channels(x, axis=1, group=3), torch.channel_shuffle(x, 3))

# The shuffles keep the memory format of a dense tensor.
shuffled = dm.shuffle_channels(images, axis=1, group=3)
assert shuffled.is_contiguous(memory_format=torch.channels_last)
assert torch.equal(shuffled, torch.channel_shuffle(x, 3))

# A real transpose: new, contiguous memory. bfloat16 works like any other type.
assert torch.equal(dm.transpose(x, (0, 2, 3, 1)), x.permute(0, 2, 3, 1).contiguous())
half = x.bfloat16()
a, b = dm.variadic_split(half, axis=1, split_lengths=[58, -1])
assert isinstance(a, torch.Tensor)
assert torch.equal(torch.cat([a, b], 1), half)

# Into a tensor that exists already.
out = torch.empty(8, 240, 28, 28)
dm.broadcast(torch.arange(240.0), out.shape, axes_mapping=[1], mode="explicit", out=out)
assert torch.equal(out, torch.arange(240.0).reshape(240, 1, 1).expand(8, 240, 28, 28))
print("torch tensors: exact")
