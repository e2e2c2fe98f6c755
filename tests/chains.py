"""Random chains with what NumPy makes of them step by step, for the tests of Chain."""

import math

import numpy as np
from steps import call, further_step

DTYPES = [np.dtype(name) for name in ("u1", "i2", "V3", "f4", "f8", "c16", "S5", "M8[s]")]

MOST_AXES = 10  # of a random chain's arrays


def blocks(array):
    """The elements as opaque bytes, so that every bit counts."""
    return array.view(np.dtype((np.void, array.dtype.itemsize)))


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def random_shape(random, count, most=5):
    """A shape of `count` elements."""
    shape = []
    while count > 1 and len(shape) < most:
        shape.append(random.choice(divisors(count)))
        count //= shape[-1]
    shape.append(count)
    random.shuffle(shape)
    return tuple(shape)


def random_source(random):
    """An array in any memory order: dense, transposed, stepped, reversed, with gaps."""
    shape = random_shape(random, random.randint(1, 240), 4)
    dtype = random.choice(DTYPES)
    order = list(range(len(shape)))
    if random.random() < 0.5:
        random.shuffle(order)
    steps = [random.choice([1, 1, 1, 2, -1, -2]) if random.random() < 0.3 else 1 for _ in shape]
    laid = [shape[axis] * abs(steps[axis]) for axis in order]
    data = np.random.default_rng(random.randint(0, 2**32)).integers(0, 256, math.prod(laid) * dtype.itemsize, np.uint8)
    whole = data.view(dtype).reshape(laid).transpose(np.argsort(order))
    return whole[tuple(slice(None, None, step) for step in steps)]


def _shuffle(array, axis, low):
    if array.ndim == 0:
        raise IndexError("a 0-d array has no axis to shuffle")  # as the chain says
    axis %= array.ndim
    length = array.shape[axis]
    if length == 0:
        return array
    before, after = array.shape[:axis], array.shape[axis + 1 :]
    return array.reshape(*before, length // low, low, *after).swapaxes(axis, axis + 1).reshape(array.shape)


def _index(random, shape):
    key, used = [], 0
    for length in shape:
        kind = random.random()
        if kind < 0.15 and length:
            key.append(random.randint(-length, length - 1))
        elif kind < 0.6:
            bound = [None, *range(-length - 2, length + 3)]
            key.append(
                slice(random.choice(bound), random.choice(bound), random.choice([None, 1, 1, 2, 3, -1, -1, -2, -3]))
            )
        elif kind < 0.8:
            key.append(slice(None))
        else:
            break
        used += 1
    if random.random() < 0.3:
        key.insert(random.randint(0, len(key)), None)
    if random.random() < 0.3:
        position = random.randint(0, len(key))
        if position == len(key) or used == len(shape):
            key.insert(position, Ellipsis)
    return tuple(key)


def random_step(random, arrays):
    """(name, keyword arguments, what NumPy does to one array): fits one of `arrays`, perhaps not all."""
    array = random.choice(arrays)
    if random.random() < 0.35:
        return further_step(random, array)
    ndim, shape = array.ndim, array.shape
    axis = random.randint(0, ndim - 1) if ndim else 0
    spelled = axis - ndim if random.random() < 0.3 else axis
    kind = random.choice(
        [
            "shuffle",
            "shuffle_channels",
            "transpose",
            "transpose",
            "variadic_split",
            "split",
            "broadcast",
            "reshape",
            "reshape",
            "index",
            "index",
        ]
    )
    if ndim == 0 and kind in ("shuffle", "shuffle_channels", "variadic_split", "split"):
        kind = "reshape"
    if len(arrays) > 6 and "split" in kind:
        kind = "transpose"
    if kind in ("shuffle", "shuffle_channels"):
        count = random.choice(divisors(shape[axis]) or [1])
        if kind == "shuffle":
            return kind, {"axis": spelled, "group_size": count}, lambda a: [_shuffle(a, spelled, count)]
        return kind, {"axis": spelled, "group": count}, lambda a: [_shuffle(a, spelled, a.shape[spelled] // count or 1)]
    if kind == "transpose":
        order = random.sample(range(ndim), ndim) if random.random() < 0.8 else []
        order = [axis - ndim if random.random() < 0.2 else axis for axis in order]
        return kind, {"input_order": order}, lambda a: [a.transpose(order or None)]
    if kind == "variadic_split":
        cuts = sorted(random.randint(0, shape[axis]) for _ in range(random.randint(0, 2)))
        lengths = [b - a for a, b in zip([0, *cuts], [*cuts, shape[axis]], strict=True)]
        if random.random() < 0.4:
            lengths[random.randrange(len(lengths))] = -1

        def parts(a):
            rest = a.shape[spelled] - sum(length for length in lengths if length >= 0)
            ends = np.cumsum([rest if length == -1 else length for length in lengths])[:-1]
            return np.split(a, ends, spelled)

        return kind, {"axis": spelled, "split_lengths": lengths}, parts
    if kind == "split":
        count = random.choice((divisors(shape[axis]) or [1, 2])[:3])
        return kind, {"axis": spelled, "num_splits": count}, lambda a: np.split(a, count, spelled)
    if kind == "broadcast":
        target = [random.randint(1, 3) if length == 1 else length for length in shape]
        mode = random.choice(["numpy", "explicit", "bidirectional"])
        if mode == "explicit":
            mapping, wide = list(range(ndim)), list(target)
            if ndim < 5:
                at = random.randint(0, ndim)
                wide.insert(at, random.randint(1, 3))
                mapping = [i if i < at else i + 1 for i in mapping]

            def lay(a):
                laid = [1] * len(wide)
                for i, to in enumerate(mapping):
                    laid[to] = a.shape[i]
                return [np.broadcast_to(a.reshape(laid), wide)]

            return kind, {"target_shape": wide, "axes_mapping": mapping, "mode": "explicit"}, lay
        if ndim < 5 and random.random() < 0.5:
            target.insert(0, random.randint(1, 3))
        if mode == "numpy":
            return kind, {"target_shape": target}, lambda a: [np.broadcast_to(a, target)]
        target = [1 if random.random() < 0.3 else length for length in target]
        return (
            kind,
            {"target_shape": target, "mode": mode},
            lambda a: [np.broadcast_to(a, np.broadcast_shapes(a.shape, target))],
        )
    if kind == "reshape":
        new = list(random_shape(random, array.size)) if array.size else [0, random.randint(0, 3)]
        if array.size and random.random() < 0.4:
            new[random.randrange(len(new))] = -1
        return kind, {"shape": new}, lambda a: [a.reshape(new)]
    key = _index(random, shape)
    return kind, {"key": key}, lambda a: [a[key]]


def _turn(random, arrays):
    """A step that turns to one branch or to all, as random_step gives one, and the branches it turns to."""
    if random.random() < 0.3:
        return None, range(len(arrays))
    i = random.randrange(len(arrays))
    return (i - len(arrays) if random.random() < 0.5 else i), range(i, i + 1)


def random_chain(random, chain_of, most_steps=8):
    """(source, chain, the arrays that NumPy gets step by step, whether it splits).

    `chain_of(source)` starts the chain. A step that does not fit every branch is refused by the chain
    and by NumPy alike, and skipped.
    """
    source = random_source(random)
    chain, arrays, splits = random_steps(random, chain_of(source), blocks(source), most_steps)
    return source, chain, [part.view(source.dtype) for part in arrays], splits


def random_finish(random, chain, arrays):
    """(chain, arrays) with a step behind the last that changes what the elements are, where it can."""
    dtype = arrays[0].dtype
    if dtype == np.uint8:
        scale = random.choice([None, 0.5])
        numbers = [array.astype(np.float32) * np.float32(scale or 1) for array in arrays]
        return chain.convert("float32", scale=scale), numbers
    if dtype.kind in "SV":
        return chain, arrays
    return chain.branch(None).byteswap(), [array.byteswap().view(dtype.newbyteorder()) for array in arrays]


def _laid_again(random, array):
    """The same elements, perhaps in another memory order."""
    kind = random.random()
    if kind < 0.5:
        return np.ascontiguousarray(array).reshape(array.shape)
    if kind < 0.7:
        return np.asfortranarray(array)
    if kind < 0.85:
        return np.flip(np.flip(array).copy())
    return np.repeat(array[..., None], 2, -1)[..., 0]


def random_sources(random):
    """(arrays, name of the step that joins them, its axis): of one dtype, each in a memory order of its own."""
    first = random_source(random)
    count = random.choice([1, 2, 3, 4, 6, 9])
    name = random.choice(["stack", "concat"]) if first.ndim else "stack"
    axis = random.randrange(first.ndim + (name == "stack"))
    arrays = []
    for _ in range(count):
        array = first if random.random() < 0.3 else _laid_again(random, np.flip(first))
        if name == "concat" and random.random() < 0.3:
            array = array.swapaxes(0, axis)[: random.randint(0, first.shape[axis])].swapaxes(0, axis)
        arrays.append(array)
    return arrays, name, axis


def random_sources_chain(random, chain_of, most_steps=6):
    """As random_chain, of several sources: the first of the four is a list of them."""
    sources, name, axis = random_sources(random)
    joined = (np.stack if name == "stack" else np.concatenate)([blocks(source) for source in sources], axis)
    start = getattr(chain_of(sources), name)(axis=axis - joined.ndim if random.random() < 0.3 else axis)
    chain, arrays, splits = random_steps(random, start, joined, most_steps)
    return sources, chain, [part.view(sources[0].dtype) for part in arrays], splits


def random_steps(random, chain, array, most_steps):
    """(chain, arrays, whether it splits): `chain`, which gives `array`, and random steps."""
    arrays, splits = [array], False
    active, turned = range(1), False
    for _ in range(random.randint(1, most_steps)):
        if random.random() < (0.4 if len(arrays) > 1 else 0.03):
            i, active = _turn(random, arrays)
            chain, turned = chain.branch(i), i is not None
        taken = arrays[active.start : active.stop]
        if not taken:
            break
        name, keywords, apply = random_step(random, taken)
        try:
            parts = [part for array in taken for part in apply(array)]
        except (ValueError, IndexError):
            continue
        # More axes make every later step long: of 14 `pad` takes NumPy gigabytes, and 32 are its most.
        if sum(part.size for part in parts) > 4000 or any(part.ndim > MOST_AXES for part in parts):
            continue
        made = [np.ascontiguousarray(part).reshape(part.shape) for part in parts]
        try:
            chain = call(getattr(chain, name), name, keywords)
        except (ValueError, IndexError):
            # NumPy splits 5 rows at 7 without a word, and broadcasts more.
            if len(taken) == 1:
                raise
            continue
        arrays = arrays[: active.start] + made + arrays[active.stop :]
        active = range(active.start, active.start + len(made)) if turned else range(len(arrays))
        splits = splits or "split" in name
    return chain, arrays, splits
