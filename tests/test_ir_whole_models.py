"""The movement of whole models as OpenVINO writes it: how many stages and passes it becomes, and the same bytes."""

import sys
from pathlib import Path

import numpy as np
import pytest
import strategies as some
from oracle import assert_same

from dnnmove import ir

pytest.importorskip("defusedxml")
ov = pytest.importorskip("openvino")

sys.path.append(str(Path(__file__).resolve().parent.parent))

from openvino import opset1  # noqa: E402
from openvino.passes import ConstantFolding, Manager  # noqa: E402

from benchmarks.ir_models import MODELS, counted, written  # noqa: E402  (behind the skip)

pytestmark = pytest.mark.unsanitized

PASSES = {
    "ShuffleNet v2, a unit": (1, 1),
    "ShuffleNet v2, four units": (8, 8),  # each Concat needs its inputs whole
    "Swin, shifted windows": (1, 1),
    "Swin, patch merging": (2, 2),
    "attention heads": (1, 1),
    "ESPCN, sub-pixels": (1, 1),
}


def computed(model, x):
    result = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x])
    return [np.array(result[i]) for i in range(len(model.outputs))]


def results(model, x):
    found = model(x)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", MODELS)
def test_published_architectures(name, tmp_path):
    path, theirs = written(name, tmp_path)
    model = ir.read_model(path)
    assert counted(model) == PASSES[name]
    x = some.dense(model.inputs[0].shape, "i4").astype("f4")
    for mine, right in zip(results(model, x), computed(theirs, x), strict=True):
        assert_same(mine, right)


def test_a_network_that_computes_is_refused_by_name(tmp_path):
    x = opset1.parameter([1, 4, 5, 5], ov.Type.f32)
    shuffled = ov.opset3.shuffle_channels(x, 1, 2)
    weights = opset1.constant(np.ones((2, 4, 1, 1), "f4"))
    node = opset1.convolution(shuffled, weights, [1, 1], [0, 0], [0, 0], [1, 1])
    node.set_friendly_name("conv1")
    ov.save_model(ov.Model([node], [x], "net"), tmp_path / "net.xml", compress_to_fp16=False)
    with pytest.raises(ir.IRError, match=r"layer 'conv1' \(type Convolution, id \d+\): this type is not supported"):
        ir.read_model(tmp_path / "net.xml")


CONVERTED = {
    "channel shuffle": lambda torch, x: torch.channel_shuffle(x, 2),
    "pixel shuffle": lambda torch, x: torch.pixel_shuffle(x, 2),
    "pixel unshuffle": lambda torch, x: torch.pixel_unshuffle(x, 2),
    "one channel": lambda torch, x: x[:, 3],
    "flip": lambda torch, x: torch.flip(x, (2,)),
    "heads": lambda torch, x: x.reshape(2, 8, 2, 2, 4).permute(2, 0, 3, 1, 4).unbind(0),
}


@pytest.mark.filterwarnings("ignore")  # torch's and OpenVINO's own, of the tracing
@pytest.mark.parametrize("name", CONVERTED)
def test_models_converted_from_torch(name, tmp_path):
    """Their shapes are computed by layers, until OpenVINO folds what is constant, as docs/ir.md says."""
    torch = pytest.importorskip("torch")

    class Movement(torch.nn.Module):
        def forward(self, x):
            return CONVERTED[name](torch, x)

    x = torch.arange(2 * 8 * 4 * 4, dtype=torch.float32).reshape(2, 8, 4, 4)
    theirs = ov.convert_model(Movement(), example_input=x, input=[list(x.shape)])
    manager = Manager()
    manager.register_pass(ConstantFolding())
    manager.run_passes(theirs)
    ov.save_model(theirs, tmp_path / "model.xml")
    model = ir.read_model(tmp_path / "model.xml")
    assert counted(model) == (1, 1)
    for mine, right in zip(results(model, x.numpy()), computed(theirs, x.numpy()), strict=True):
        assert_same(mine, right)
