"""concat and stack of dnnmove.torch where several tensors differ: in gradients, batches, tangents, lengths."""

import itertools

import pytest

torch = pytest.importorskip("torch")

from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch_cases import assert_same, some  # noqa: E402

import dnnmove as dm  # noqa: E402
import dnnmove.torch as dt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
# name: (ours, torch's, shapes, axis)
JOINS = {
    "concat": (dt.concat, torch.cat, [(2, 3, 4), (2, 1, 4), (2, 0, 4)], 1),
    "concat from behind": (dt.concat, torch.cat, [(2, 3), (2, 1)], -1),
    "stack": (dt.stack, torch.stack, [(2, 3)] * 3, 1),
    "stack from behind": (dt.stack, torch.stack, [(2, 3)] * 2, -1),
    "scalars": (dt.stack, torch.stack, [()] * 3, 0),
    "one": (dt.concat, torch.cat, [(2, 3)], 0),
}
each = pytest.mark.parametrize("name", JOINS)


def tensors(shapes, wanted=(True,) * 9):
    return [
        some(shape, seed=i).requires_grad_(want) for i, (shape, want) in enumerate(zip(shapes, wanted, strict=False))
    ]


@each
def test_some_require_gradients(name):
    ours, torchs, shapes, axis = JOINS[name]
    for wanted in itertools.product([False, True], repeat=len(shapes)):
        gradients = []
        for function in (ours, torchs, lambda xs, axis: getattr(torch.ops.dnnmove, ours.__name__)(xs, axis)):
            xs = tensors(shapes, wanted)
            y = function(xs, axis)
            assert y.requires_grad == any(wanted)
            if y.requires_grad:
                y.backward(some(y.shape, seed=9))
            gradients.append([x.grad for x in xs])
            assert [x.grad is not None for x in xs] == list(wanted)
        for a, b, c in zip(*gradients, strict=True):
            assert a is b is c is None or (torch.equal(a, b) and torch.equal(a, c) and a.stride() == b.stride())


@each
def test_gradcheck(name):
    ours, _, shapes, axis = JOINS[name]
    for function in (ours, getattr(torch.ops.dnnmove, ours.__name__)):
        call = lambda *xs, function=function: function(list(xs), axis)  # noqa: E731
        assert gradcheck(call, tensors(shapes), check_forward_ad=True)
        assert gradgradcheck(call, tensors(shapes), check_fwd_over_rev=True, check_rev_over_rev=True)


@each
def test_opcheck(name):
    ours, _, shapes, axis = JOINS[name]
    for wanted in (False, True):
        operator = getattr(torch.ops.dnnmove, ours.__name__).default
        torch.library.opcheck(operator, (tensors(shapes, [wanted] * len(shapes)), axis))


@each
def test_vmap_of_some(name):
    """Of each batch at another axis, and of tensors that all samples share."""
    ours, torchs, shapes, axis = JOINS[name]
    for dims in itertools.product([None, 0, -1], repeat=len(shapes)):
        if set(dims) == {None}:
            continue
        shaped = zip(shapes, dims, strict=True)
        xs = [
            some(shape) if dim is None else some((5, *shape)) if dim == 0 else some((*shape, 5))
            for shape, dim in shaped
        ]
        results = [torch.func.vmap(lambda *each, f=f: f(list(each), axis), in_dims=dims)(*xs) for f in (ours, torchs)]
        assert torch.equal(*results)


@each
def test_tangents_of_some(name):
    ours, torchs, shapes, axis = JOINS[name]
    xs = tensors(shapes, [False] * len(shapes))
    results = []
    for function in (ours, torchs):
        with torch.autograd.forward_ad.dual_level():
            first = torch.autograd.forward_ad.make_dual(xs[0], some(shapes[0], seed=5))
            results.append(torch.autograd.forward_ad.unpack_dual(function([first, *xs[1:]], axis)))
    assert torch.equal(results[0].primal, results[1].primal)
    assert torch.equal(results[0].tangent, results[1].tangent)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@each
def test_compile_of_all_lengths(name, backend):
    ours, torchs, shapes, axis = JOINS[name]
    torch._dynamo.reset()
    call = torch.compile(lambda *xs: ours(xs, axis), backend=backend, fullgraph=True, dynamic=True)
    for more in (0, 1, 2):
        xs = tensors([tuple(n + more if n > 1 else n for n in shape) for shape in shapes])
        assert_same(call(*xs), torchs(xs, axis))
        again = [x.detach().requires_grad_() for x in xs]
        call(*xs).square().sum().backward()
        torchs(again, axis).square().sum().backward()
        assert all(torch.equal(a.grad, b.grad) for a, b in zip(xs, again, strict=True))
    torch._dynamo.reset()


def test_gradients_are_views():
    """The backward moves nothing: each gradient lies in that of the result."""
    a, b = tensors([(2, 3), (2, 1)])
    y = dt.concat([a, b], 1)
    gradient = some((2, 4))
    parts = torch.autograd.grad(y, (a, b), gradient)
    assert [part.untyped_storage().data_ptr() for part in parts] == [gradient.untyped_storage().data_ptr()] * 2
    with dm.profile() as p:
        dt.stack([a, a]).sum().backward()
    assert len(p.records) == 1


def test_mixed_kinds():
    x = some((2, 6))
    channels = some().contiguous(memory_format=torch.channels_last)
    assert dt.concat([channels, channels]).is_contiguous()
    assert torch.equal(dt.concat([x.to(torch.complex128) * 1j, (x * 1j).conj()]), torch.cat([x * 1j, (x * 1j).conj()]))
    parameter = torch.nn.Parameter(x)
    assert torch.equal(dt.stack([parameter, x]), torch.stack([parameter, x]))
    with torch.no_grad():
        assert not dt.stack([parameter, x]).requires_grad
    with torch.inference_mode():
        assert dt.concat([parameter, x]).is_inference()
    meta = dt.stack([x.to("meta"), x.to("meta")], 1)
    assert (meta.shape, meta.device.type) == ((2, 2, 6), "meta")
    y = dt.concat([x.to(torch.float8_e5m2)] * 2)
    assert y.dtype is torch.float8_e5m2
    assert dt.concat((x, x), axis=-1).shape == (2, 12)


def test_errors_while_compiling_are_the_same(errors_name):
    for call in (lambda x: dt.concat([x, x[:1]], 1), lambda x: dt.stack([x, x.float()])):
        with pytest.raises((ValueError, TypeError)) as plain:
            call(some((2, 3)))
        torch._dynamo.reset()
        with pytest.raises(Exception, match=r"tensors\[1\]") as compiled:
            torch.compile(call, backend="eager", fullgraph=True)(some((2, 3)))
        assert str(plain.value) in str(compiled.value)


def test_results_from_autograd_do_not_share_their_tensors():
    """One tensor alone is copied too: a view of it would be written to by in-place operations."""
    x = some((2, 3), requires_grad=True)
    y = dt.concat([x])
    y.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2
    assert torch.equal(x.detach(), some((2, 3)))
