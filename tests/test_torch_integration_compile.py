"""dnnmove.torch under torch.library's checks, torch.compile, torch.export, fx and DataLoader."""

import shutil

import pytest

import dnnmove as dm

torch = pytest.importorskip("torch")

from torch.fx import symbolic_trace  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch_cases import FUNCTIONS, OPERATORS, assert_same, built_for, parts, some  # noqa: E402

import dnnmove.torch as dt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
each = pytest.mark.parametrize("name", FUNCTIONS)
# Inductor compiles C++ of its own.
BACKENDS = ["eager", "aot_eager"] + ["inductor"] * (shutil.which("g++") is not None)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@each
def test_opcheck(name):
    operator = getattr(torch.ops.dnnmove, name).default
    for x in (
        some(),
        some(requires_grad=True),
        some().contiguous(memory_format=torch.channels_last),
        some((2, 6, 4, 6))[..., ::2],
        some((4, 6, 4, 3))[::2].requires_grad_(),
    ):
        torch.library.opcheck(operator, OPERATORS[name](x))


@each
@pytest.mark.parametrize("backend", BACKENDS)
def test_compile(name, backend):
    ours, torchs = FUNCTIONS[name]
    if name == "chain":
        chain = dt.chain(dm.Chain.of(some()).shuffle_channels(1, 3).split(1, 2).build())
        ours = chain
        torchs = lambda x: tuple(y.contiguous() for y in torch.channel_shuffle(x, 3).chunk(2, 1))  # noqa: E731
    compiled = torch.compile(lambda x: [y * 2 for y in parts(ours(x + 1))], backend=backend, fullgraph=True)
    for memory_format in (torch.contiguous_format, torch.channels_last):
        x = some().contiguous(memory_format=memory_format).requires_grad_()
        z = x.detach().clone().requires_grad_()
        results, expected = compiled(x), [y * 2 for y in parts(torchs(z + 1))]
        for a, b in zip(results, expected, strict=True):
            assert torch.equal(a, b)
        sum(y.sin().sum() for y in results).backward()
        sum(y.sin().sum() for y in expected).backward()
        torch.testing.assert_close(x.grad, z.grad)
        with torch.no_grad():
            assert all(torch.equal(a, b) for a, b in zip(compiled(x), expected, strict=True))


@each
@pytest.mark.parametrize("backend", BACKENDS)
def test_dynamic_shapes(name, backend):
    ours, torchs = FUNCTIONS[name]
    if name == "chain":
        ours = dt.chain(
            dm.Chain.of(some()).shuffle_channels(1, 3).variadic_split(1, [2, 4]).transpose((0, 2, 3, 1)).build()
        )
    compiled = torch.compile(ours, backend=backend, fullgraph=True, dynamic=True)
    for batch in (2, 5, 3, 7):
        x = some((batch, 6, 4, 3))
        assert_same(compiled(x), torchs(x))


def test_one_graph_for_all_sizes():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    def function(x):
        a, b = dt.variadic_split(dt.channel_shuffle(x, x.shape[1] // 2), 1, [x.shape[1] // 2, -1])
        return dt.transpose(a, (0, 2, 1)), dt.broadcast(b[:, :1], b.shape)

    compiled = torch.compile(function, backend=backend, dynamic=True, fullgraph=True)
    for n, c, w in ((2, 6, 4), (3, 8, 5), (7, 10, 9)):
        x = some((n, c, w))
        assert_same(compiled(x), function(x))
    assert len(graphs) == 1


def test_errors_while_compiling_are_the_same():
    for call, words in (
        (lambda x: dt.channel_shuffle(x, 4), r"groups \(4\) must divide x.shape\[1\] \(6\)"),
        (lambda x: dt.transpose(x, (0, 1)), r"input_order \(0, 1\)"),
        (lambda x: dt.variadic_split(x, 1, [2, 3]), "split_lengths"),
        (lambda x: dt.broadcast(x, (2, 2)), "target_shape"),
    ):
        with pytest.raises(Exception, match=words):
            torch.compile(call, backend="eager", fullgraph=True)(some())


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.shuffle = dt.ChannelShuffle(3)
        self.move = dt.chain(dm.Chain(dm.MemoryDesc((2, 6, 4, 3), "float64")).flip(3).split(1, 2).build())

    def forward(self, x):
        a, b = self.move(self.shuffle(x))
        first, last = dt.variadic_split(dt.concat([b, b], 2), 1, [1, -1])
        return dt.transpose(a, (0, 2, 3, 1)), last, dt.broadcast(x[:1], x.shape), dt.stack([first, first], 1)


@pytest.mark.parametrize("strict", [True, False])
def test_export(strict, tmp_path):
    net, x = Net(), some()
    program = torch.export.export(net, (x,), strict=strict)
    targets = {node.target for node in program.graph.nodes if node.op == "call_function"}
    assert {getattr(torch.ops.dnnmove, name).default for name in OPERATORS} <= targets
    torch.export.save(program, tmp_path / "net.pt2")
    again = torch.export.load(tmp_path / "net.pt2").module()
    for module in (program.module(), again):
        for a, b in zip(module(x), net(x), strict=True):
            assert torch.equal(a, b)


def test_an_exported_program_runs_in_another_process(tmp_path, run_python):
    net, x = Net(), some()
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    torch.save([x, *net(x)], tmp_path / "tensors.pt")
    run_python(
        "import torch, dnnmove.torch\n"
        f"x, *expected = torch.load({str(tmp_path / 'tensors.pt')!r})\n"
        f"got = torch.export.load({str(tmp_path / 'net.pt2')!r}).module()(x)\n"
        "assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))"
    )


def test_export_with_a_dynamic_batch():
    class Shuffles(torch.nn.Module):
        def forward(self, x):
            return dt.transpose(dt.channel_shuffle(x, 3), (1, 0))

    shapes = ({0: torch.export.Dim("batch", min=1, max=64)},)
    module = torch.export.export(Shuffles(), (some((4, 6)),), dynamic_shapes=shapes).module()
    for batch in (1, 5, 64):
        x = some((batch, 6))
        assert torch.equal(module(x), Shuffles()(x))


@each
def test_make_fx(name):
    ours, torchs = FUNCTIONS[name]
    x = some()
    traced = make_fx(lambda x: list(parts(ours(x))))(x)
    assert getattr(torch.ops.dnnmove, name).default in {node.target for node in traced.graph.nodes}
    y = some(seed=4)
    for a, b in zip(traced(y), parts(torchs(y)), strict=True):
        assert torch.equal(a, b)


def test_symbolic_trace():
    net = torch.nn.Sequential(dt.ChannelShuffle(3), torch.nn.Tanh())
    traced = symbolic_trace(net)
    assert dt.channel_shuffle in {node.target for node in traced.graph.nodes}
    assert torch.equal(traced(some()), net(some()))


@pytest.mark.filterwarnings("ignore")
def test_jit_trace_records_the_operator():
    traced = torch.jit.trace(dt.ChannelShuffle(3), some())
    assert "dnnmove::channel_shuffle" in str(traced.inlined_graph)
    assert torch.equal(traced(some(seed=5)), dt.channel_shuffle(some(seed=5), 3))


@each
def test_compiled_autograd(name):
    function = FUNCTIONS[name][0]
    if name == "chain":
        function = dt.chain(built_for(some()))  # once, not while its backward is traced

    def gradient():
        x = some(requires_grad=True)
        sum(y.sin().sum() for y in parts(function(x))).backward()
        return x.grad

    expected = gradient()
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
        assert torch.equal(gradient(), expected)


class Shuffled(torch.utils.data.Dataset):
    """Items computed by dnnmove.torch in a worker, with the number of threads there."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        x = dt.channel_shuffle(torch.arange(24.0).reshape(1, 6, 4) + i, 3)
        return x, dm.get_num_threads(), torch.get_num_threads()


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_a_dataloader(context):
    dt.channel_shuffle(some(), 3)
    before = dm.get_num_threads()
    with_threads = 2 if before == 1 else before
    dm.set_num_threads(with_threads)
    try:
        loader = torch.utils.data.DataLoader(Shuffled(), num_workers=2, multiprocessing_context=context, timeout=100)
        for i, (x, ours, torchs) in enumerate(loader):
            assert torch.equal(x[0], torch.channel_shuffle(torch.arange(24.0).reshape(1, 6, 4) + i, 3))
            assert ours.item() == torchs.item() == 1
        assert dm.get_num_threads() == with_threads
    finally:
        dm.set_num_threads(before)
