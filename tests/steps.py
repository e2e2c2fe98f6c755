"""Random steps that are functions, too (flip to repeat), with what NumPy makes of them."""

import numpy as np


def _divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def _spelled(random, axis, ndim):
    """The axis, sometimes counted from the end."""
    return axis - ndim if random.random() < 0.3 else axis


def _some_axes(random, ndim):
    """An integer, a tuple of different axes or (None) all."""
    kind = random.random()
    if kind < 0.2 or ndim == 0:
        return None
    if kind < 0.6:
        return _spelled(random, random.randrange(ndim), ndim)
    chosen = random.sample(range(ndim), random.randint(0, ndim))
    return tuple(_spelled(random, axis, ndim) for axis in chosen)


def flip(random, array):
    axis = _some_axes(random, array.ndim)
    return {"axis": axis}, lambda a: np.flip(a, axis)


def roll(random, array):
    axis = _some_axes(random, array.ndim)
    shift = random.randint(-9, 9)
    if isinstance(axis, tuple) and random.random() < 0.5:
        shift = tuple(random.randint(-9, 9) for _ in axis)
    elif isinstance(axis, int) and random.random() < 0.2:
        axis, shift = (axis, axis), (shift, 3)
    return {"shift": shift, "axis": axis}, lambda a: np.roll(a, shift, axis)


def squeeze(random, array):
    ones = [axis for axis, length in enumerate(array.shape) if length == 1]
    axis = random.choice([None, *ones, tuple(random.sample(ones, random.randint(0, len(ones))))])
    return {"axis": axis}, lambda a: np.squeeze(a, axis)


def expand_dims(random, array):
    count = random.choice([1, 1, 2])
    ndim = array.ndim + count
    axes = tuple(_spelled(random, axis, ndim) for axis in random.sample(range(ndim), count))
    axis = axes[0] if count == 1 and random.random() < 0.7 else axes
    return {"axis": axis}, lambda a: np.expand_dims(a, axis)


def moveaxis(random, array):
    ndim = array.ndim
    count = random.randint(0, min(ndim, 3))
    source = [_spelled(random, axis, ndim) for axis in random.sample(range(ndim), count)]
    destination = [_spelled(random, axis, ndim) for axis in random.sample(range(ndim), count)]
    if count == 1 and random.random() < 0.7:
        source, destination = source[0], destination[0]
    return {"source": source, "destination": destination}, lambda a: np.moveaxis(a, source, destination)


def swapaxes(random, array):
    one, other = (_spelled(random, random.randrange(array.ndim), array.ndim) for _ in range(2))
    return {"axis1": one, "axis2": other}, lambda a: np.swapaxes(a, one, other)


def flatten(random, array):
    ndim = max(array.ndim, 1)
    start, end = (_spelled(random, axis, ndim) for axis in sorted(random.randrange(ndim) for _ in range(2)))

    def merge(a):
        if a.ndim == 0:
            return a.reshape(1)
        first, last = start % a.ndim, end % a.ndim
        merged = a.shape[first : last + 1]
        if not merged:
            raise ValueError("start lies behind end")
        return a.reshape((*a.shape[:first], int(np.prod(merged)), *a.shape[last + 1 :]))

    return {"start": start, "end": end}, merge


def unflatten(random, array):
    axis = random.randrange(array.ndim)
    length = array.shape[axis]
    first = random.choice(_divisors(length) or [1])
    sizes = [first, length // first]
    random.shuffle(sizes)
    if length and random.random() < 0.5:
        sizes[random.randrange(2)] = -1
    axis = _spelled(random, axis, array.ndim)

    def cut(a):
        if a.ndim == 0:
            raise ValueError("no axis to cut")
        at = axis % a.ndim
        known = int(np.prod([size for size in sizes if size != -1]))
        rest = a.shape[at] // known if known else 0
        lengths = [rest if size == -1 else size for size in sizes]
        if np.prod(lengths) != a.shape[at]:
            raise ValueError("the sizes do not fit")
        return a.reshape((*a.shape[:at], *lengths, *a.shape[at + 1 :]))

    return {"axis": axis, "sizes": sizes}, cut


def tile(random, array):
    reps = tuple(random.choice([1, 1, 1, 2, 3]) for _ in range(random.randint(0, min(array.ndim + 1, 4))))
    if random.random() < 0.1:
        reps = tuple(0 if random.random() < 0.5 else n for n in reps)
    reps = random.choice([1, 2, 3]) if random.random() < 0.2 else reps
    return {"reps": reps}, lambda a: np.tile(a, reps)


def repeat_elements(random, array):
    axis = _spelled(random, random.randrange(array.ndim), array.ndim)
    repeats = random.choice([0, 1, 2, 3])
    if random.random() < 0.4:
        repeats = [random.randint(0, 3) for _ in range(array.shape[axis])]
    return {"repeats": repeats, "axis": axis}, lambda a: np.repeat(a, repeats, axis)


def take(random, array):
    axis = _spelled(random, random.randrange(array.ndim), array.ndim)
    length = array.shape[axis]
    count = random.choice([0, 1, 3, 7, 20]) if length else 0
    indices = [random.randint(-length, length - 1) for _ in range(count)]
    if length and random.random() < 0.3:
        indices = random.sample(range(length), length)
    return {"indices": indices, "axis": axis}, lambda a: np.take(a, np.array(indices, int), axis)


def unfold(random, array):
    axis = _spelled(random, random.randrange(array.ndim), array.ndim)
    size, step = random.randint(1, max(array.shape[axis], 1)), random.randint(1, 4)

    def windows(a):
        all_windows = np.lib.stride_tricks.sliding_window_view(a, size, axis)
        return all_windows[(slice(None),) * (axis % a.ndim) + (slice(None, None, step),)]

    return {"axis": axis, "size": size, "step": step}, windows


def pad(random, array):
    most = 3 if array.ndim < 4 else 1
    width = [(random.randint(0, most), random.randint(0, most)) for _ in range(array.ndim)]
    if not array.ndim or random.random() < 0.3:
        width = random.choice([random.randint(0, 2), (random.randint(0, most), random.randint(0, most))])
    mode = random.choice(["constant", "edge", "reflect", "wrap"]) if 0 not in array.shape else "constant"

    def put(a):
        # (NumPy pads no arrays of opaque bytes.)
        places = np.arange(a.size).reshape(a.shape)
        keywords = {"constant_values": -1} if mode == "constant" else {}
        moved = np.pad(places, width, mode, **keywords)
        return np.append(np.ascontiguousarray(a).reshape(-1), np.zeros(1, a.dtype))[moved]

    return {"pad_width": width, "mode": mode}, put


def _to_depth(a, b, order):
    *lead, c, h, w = a.shape
    n = len(lead)
    blocks = a.reshape(*lead, c, h // b, b, w // b, b).transpose(*range(n), *(n + axis for axis in order))
    return blocks.reshape(*lead, c * b * b, h // b, w // b)


def _to_space(a, b, first):
    *lead, c, h, w = a.shape
    n = len(lead)
    if first:
        blocks = a.reshape(*lead, b, b, c // b // b, h, w).transpose(*range(n), n + 2, n + 3, n, n + 4, n + 1)
    else:
        blocks = a.reshape(*lead, c // b // b, b, b, h, w).transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return blocks.reshape(*lead, c // b // b, h * b, w * b)


def _block(random, *lengths):
    return random.choice([b for b in range(1, 5) if all(length % b == 0 for length in lengths)])


def space_to_depth(random, array):
    b = _block(random, *array.shape[2:])
    return {"block_size": b}, lambda a: _to_depth(a, b, (2, 4, 0, 1, 3))


def pixel_unshuffle(random, array):
    b = _block(random, *array.shape[-2:])
    return {"factor": b}, lambda a: _to_depth(a, b, (0, 2, 4, 1, 3))


def depth_to_space(random, array):
    b = random.choice([b for b in range(1, 5) if array.shape[1] % (b * b) == 0])
    mode = random.choice(["DCR", "CRD"])
    return {"block_size": b, "mode": mode}, lambda a: _to_space(a, b, mode == "DCR")


def pixel_shuffle(random, array):
    b = random.choice([b for b in range(1, 5) if array.shape[-3] % (b * b) == 0])
    return {"factor": b}, lambda a: _to_space(a, b, False)


def pattern(random, array, repeats):
    """A pattern of einops, the lengths it needs, and what it does: reshape, transpose, broadcast, reshape."""
    names = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    left, lengths, order, apart = [], {}, [], []
    hidden = range(*sorted(random.randint(0, array.ndim) for _ in range(2))) if random.random() < 0.3 else range(0)
    for axis, length in enumerate(array.shape):
        if axis in hidden:
            if axis == hidden[0]:
                left.append("...")
            order.append(("...", len(apart)))
            apart.append(length)
        elif length == 1 and random.random() < 0.5:
            left.append(random.choice(["1", "()"]))
        else:
            factors = [length]
            while len(factors) < 3 and random.random() < 0.3 and factors[-1] > 0:
                factors[-1:] = (d := random.choice(_divisors(factors[-1])), factors[-1] // d)
            group = [next(names) for _ in factors]
            open_name = random.choice([*group, None]) if length else None
            for name, factor in zip(group, factors, strict=True):
                order.append((name, len(apart)))
                apart.append(factor)
                if name != open_name:
                    lengths[name] = factor
            single = len(group) == 1 and random.random() < 0.8
            if single and random.random() < 0.8:
                lengths.pop(group[0], None)
            left.append(group[0] if single else f"({' '.join(group)})")
    groups = [list(entry) for entry in _grouped(order)]
    random.shuffle(groups)
    if repeats:
        for _ in range(random.randint(0, 2)):
            count = random.randint(1, 3)
            name = str(count) if count > 1 and random.random() < 0.5 else next(names)
            if name.isalpha():
                lengths[name] = count
            groups.insert(random.randint(0, len(groups)), [(name, -count)])
    right, shape, moved, fresh = [], [], [], []
    dense = array.size > 0 or all(n > 0 for n in array.shape)
    while groups or random.random() < 0.1:
        members = [groups.pop() for _ in range(min(len(groups), random.choice([0, 1, 1, 1, 2, 3])))]
        flat = [entry for group in members for entry in group]
        for _, place in flat:
            (fresh if place < 0 else moved).append((len(moved) + len(fresh), place))
        spelled = ["..." if group[0][0] == "..." else group[0][0] for group in members]
        sizes = [-place if place < 0 else apart[place] for _, place in flat]
        if len(members) == 1 and (random.random() < 0.8 or spelled == ["..."]):
            right.append(spelled[0])
            shape.extend(sizes)
        else:
            right.append(f"({' '.join(spelled)})" if spelled else random.choice(["1", "()"]))
            shape.append(int(np.prod(sizes, dtype=int)))
    if hidden == range(0) and random.random() < 0.1 and dense:
        left.insert(random.randint(0, len(left)), "...")
        right.insert(random.randint(0, len(right)), "...")

    def move(a):
        if a.shape != array.shape:
            raise ValueError("made for another shape")
        result = a.reshape(apart).transpose([place for _, place in moved])
        wide = list(result.shape)
        for at, place in fresh:
            result = np.expand_dims(result, at)
            wide.insert(at, -place)
        return np.broadcast_to(result, wide).reshape(shape)

    space = " " * random.choice([1, 1, 2])
    return f"{space.join(left)}{space}->{space}{space.join(right)}", lengths, move


def _grouped(order):
    """The axes of an ellipsis stay together."""
    hidden = [entry for entry in order if entry[0] == "..."]
    return [hidden] * bool(hidden) + [[entry] for entry in order if entry[0] != "..."]


def rearrange(random, array):
    text, lengths, move = pattern(random, array, repeats=False)
    return {"pattern": text} | lengths, move


def repeat(random, array):
    text, lengths, move = pattern(random, array, repeats=True)
    return {"pattern": text} | lengths, move


def call(function, name, keywords):
    """Calls a step by keyword, but for what is positional only."""
    keywords = dict(keywords)
    arguments = [keywords.pop("pattern")] if name in ("rearrange", "repeat") else []
    return function(*arguments, **keywords)


ANY = [flip, roll, pad, squeeze, expand_dims, moveaxis, tile, flatten, rearrange, repeat]
OF_AN_AXIS = [swapaxes, unflatten, repeat_elements, take, unfold]
OF_IMAGES = [space_to_depth, depth_to_space]
OF_PLANES = [pixel_shuffle, pixel_unshuffle]
ALL = ANY + OF_AN_AXIS + OF_IMAGES + OF_PLANES


def fitting(array):
    """The steps that an array can take."""
    steps = list(ANY)
    if array.ndim > 0:
        steps += OF_AN_AXIS
    if array.ndim > 0 and 0 in array.shape:
        steps.remove(unfold)
    if array.ndim >= 3:
        steps += OF_PLANES
    if array.ndim == 4:
        steps += OF_IMAGES
    return steps


def further_step(random, array):
    """(name, keyword arguments, what NumPy does to one array)."""
    step = random.choice(fitting(array))
    keywords, move = step(random, array)
    return step.__name__, keywords, lambda a: [move(a)]
