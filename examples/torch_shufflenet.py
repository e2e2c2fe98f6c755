"""A small ShuffleNet v2 trained on real images: the same losses bit for bit with dnnmove's shuffle as with torch's."""

import time

import torch
from sklearn.datasets import load_digits
from torch import nn

from dnnmove.torch import ChannelShuffle


def convolution(
    ins: int, outs: int, size: int, stride: int = 1, groups: int = 1, activate: bool = True
) -> nn.Sequential:
    layers = [nn.Conv2d(ins, outs, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(outs)]
    return nn.Sequential(*layers, nn.ReLU()) if activate else nn.Sequential(*layers)


class Unit(nn.Module):
    """The unit of ShuffleNet v2 (Ma et al., ECCV 2018): half of the channels pass by, then the halves are shuffled."""

    def __init__(self, ins: int, outs: int, stride: int, shuffle: nn.Module) -> None:
        super().__init__()
        half = outs // 2
        self.stride = stride
        self.beside = nn.Sequential(
            convolution(ins, ins, 3, stride, groups=ins, activate=False), convolution(ins, half, 1)
        )
        self.through = nn.Sequential(
            convolution(ins if stride == 2 else half, half, 1),
            convolution(half, half, 3, stride, groups=half, activate=False),
            convolution(half, half, 1),
        )
        self.shuffle = shuffle

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.stride == 2:
            passed, taken = self.beside(x), x
        else:
            passed, taken = x.chunk(2, 1)
        return self.shuffle(torch.cat([passed, self.through(taken)], 1))


class ShuffleNet(nn.Module):
    def __init__(self, shuffle: nn.Module, width: int = 24, classes: int = 10) -> None:
        super().__init__()
        units = []
        for stage in range(2):
            ins, outs = width << max(stage - 1, 0) if stage else width, width << stage
            units += [Unit(ins, outs, 2, shuffle), Unit(outs, outs, 1, shuffle)]
        self.layers = nn.Sequential(convolution(1, width, 3), *units)
        self.classify = nn.Linear(width << 1, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classify(self.layers(x).mean((2, 3)))


class Timed(nn.Module):
    """Adds up what the module takes, in its forward."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module, self.seconds = module, 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        start = time.perf_counter()
        y = self.module(x)
        self.seconds += time.perf_counter() - start
        return y


def train(shuffle: Timed, images: torch.Tensor, labels: torch.Tensor, steps: int = 12, batch: int = 32) -> list[float]:
    torch.manual_seed(0)
    model = ShuffleNet(shuffle)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(steps):
        chosen = torch.arange(step * batch, (step + 1) * batch) % len(images)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


torch.use_deterministic_algorithms(True)
digits = load_digits()  # 1797 scanned digits of 8 x 8 pixels
images = nn.functional.interpolate(torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16, scale_factor=2)
labels = torch.tensor(digits.target)

seconds, losses = {}, {}
for name, module in (("torch", nn.ChannelShuffle(2)), ("dnnmove", ChannelShuffle(2))):
    train(Timed(module), images, labels, steps=1)  # whoever comes first wakes torch's threads
    shuffle = Timed(module)
    losses[name] = train(shuffle, images, labels)
    seconds[name] = shuffle.seconds
assert losses["torch"] == losses["dnnmove"]
assert losses["dnnmove"][-1] < losses["dnnmove"][0]
print(f"loss {losses['dnnmove'][0]:.4f} -> {losses['dnnmove'][-1]:.4f}, the same bit for bit with both")
for name, value in seconds.items():
    print(f"forward shuffles by {name:7}: {value * 1e3:7.1f} ms")
