"""Transposes: 2-D of every pitch and element size, layout changes, attention, ranks 3 to 14, odd sources."""

from __future__ import annotations

import itertools
import math

from benchmarks.case import ONE_MB, Case, Source, dtype_of, show

LARGE = 16 * ONE_MB  # bytes of the output from which source and output no longer fit into an ordinary L3
SIZES = {1: "i1", 2: "i2", 4: "f4", 8: "f8", 16: "c16", 3: "V3", 12: "V12"}


def pitch_class(src_pitch: int, dst_pitch: int) -> str:
    """The target table's three kinds of row pitch (bytes)."""
    if src_pitch % 64 or dst_pitch % 64:
        return "odd"
    return "power of two" if src_pitch % 4096 == 0 or src_pitch & (src_pitch - 1) == 0 else "ordinary"


def two_d(rows: int, columns: int, dtype: str, **more) -> Case:
    """A 2-D transpose, with the target that its size, pitch and element size give it."""
    itemsize = dtype_of(dtype).itemsize
    targets = []
    if rows * columns * itemsize >= LARGE and itemsize in (1, 2, 4, 8):
        width = "1 byte" if itemsize == 1 else "2-8 bytes"
        targets = [f"large transpose, {width}, {pitch_class(columns * itemsize, rows * itemsize)} pitch"]
    name = f"transpose/2d/{rows}x{columns}/{dtype}"
    return Case(name, "transpose", (rows, columns), dtype, {"order": (1, 0)}, targets=tuple(targets), **more)


def permute(family: str, shape: tuple[int, ...], order: tuple[int, ...], dtype: str, suffix: str = "", **more) -> Case:
    """Any other transpose."""
    text = "".join(map(str, order)) if len(order) <= 10 else "-".join(map(str, order))
    name = f"transpose/{family}/{show(shape)}/{text}/{dtype}" + (f"/{suffix}" if suffix else "")
    return Case(name, "transpose", shape, dtype, {"order": order}, **more)


def squares() -> list[Case]:
    """512 to 8192, one more and one less, and primes, for every element size; up to about 256 MB."""
    lengths = [n + d for n in (512, 1024, 2048, 4096, 8192) for d in (0, -1, 1)] + [1361, 2801, 5003]
    quick = {
        (4096, "f4"),
        (4096, "i1"),
        (4095, "f4"),
        (4097, "i1"),
        (2048, "i2"),
        (2048, "f8"),
        (5003, "f4"),
        (1024, "f4"),
    }
    quick |= {(5003, "i1"), (2048, "c16"), (2048, "V3")}
    cases = []
    for dtype, n in itertools.product(SIZES.values(), lengths):
        odd_itemsize = dtype in ("V3", "V12")
        if n * n * dtype_of(dtype).itemsize > 280 * ONE_MB or (odd_itemsize and n not in (1024, 1361, 2048, 4095)):
            continue
        cases.append(two_d(n, n, dtype, quick=(n, dtype) in quick))
    return cases


def rectangles() -> list[Case]:
    """Ordinary pitches, and matrices that are all rows or all columns."""
    shapes = [(6000, 4000), (4000, 6000), (3008, 5056), (100000, 64), (64, 100000), (1000000, 8), (8, 1000000)]
    shapes += [(1000003, 3), (3, 1000003), (200000, 31), (17, 300000), (12288, 4096), (5000, 1234)]
    quick = {(3008, 5056), (1000003, 3), (64, 100000)}
    cases = [
        two_d(*shape, dtype, quick=shape in quick and dtype == "f4")
        for shape in shapes
        for dtype in ("i1", "i2", "f4", "f8")
    ]
    # Destination rows that lie in one set of a first-level cache, and such that do not.
    cases += [two_d(4096, 256, "f4"), two_d(257, 4000, "f4"), two_d(2048, 512, "i2"), two_d(4096, 1000, "i1")]
    big = [(16320, 8000, "i1"), (8128, 8000, "i2"), (6080, 5952, "f4"), (4160, 4032, "f8")]
    return cases + [two_d(*shape, quick=True) for shape in big]


def sizes() -> list[Case]:
    """The line of the plot: one f32 transpose at 1 KB to 512 MB."""
    shapes = [(16, 16), (64, 128), (256, 512), (1024, 2048), (3008, 5568), (9600, 13952)]
    return [
        two_d(*shape, "f4", series=True, quick=math.prod(shape) < 40_000_000, small=math.prod(shape) < 1000)
        for shape in shapes
    ]


def cubes() -> list[Case]:
    """Rank 3 and 4."""
    orders = [o for o in itertools.permutations(range(3)) if o != (0, 1, 2)]
    cases = [permute("3d", (256, 256, 256), o, "f4", quick=o == (2, 0, 1)) for o in orders]
    cases += [permute("3d", (256, 256, 256), (2, 0, 1), d) for d in ("i1", "i2", "f8")]
    cases += [permute("3d", (201, 255, 323), o, "f4") for o in ((2, 0, 1), (2, 1, 0), (0, 2, 1))]
    cases += [permute("batches", (2000, 50, 130), (0, 2, 1), "f4"), permute("batches", (3000, 33, 77), (0, 2, 1), "f8")]
    cases += [permute("4d", (96, 75, 75, 96), (3, 2, 1, 0), d, quick=d == "f4") for d in ("i1", "f4", "f8")]
    cases += [permute("4d", (64, 48, 80, 33), (2, 0, 3, 1), d) for d in ("i2", "f4")]
    return cases


def layouts() -> list[Case]:
    """NHWC <-> NCHW: images of few channels, activations of many, and odd channel counts."""
    cases = []
    for channels, dtype in itertools.product((1, 2, 3, 4), ("i1", "i2", "f4")):
        few = ("layout change, C <= 4",)
        quick = channels == 3 and dtype != "i2"
        cases.append(permute("nhwc-nchw", (32, 224, 224, channels), (0, 3, 1, 2), dtype, targets=few, quick=quick))
        cases.append(permute("nchw-nhwc", (32, channels, 224, 224), (0, 2, 3, 1), dtype, targets=few, quick=quick))
    for channels, dtype in itertools.product((64, 65, 256), ("i1", "i2", "f4")):
        quick = (channels, dtype) in {(64, "f4"), (65, "i1")}
        cases.append(permute("nhwc-nchw", (32, 56, 56, channels), (0, 3, 1, 2), dtype, quick=quick))
        cases.append(permute("nchw-nhwc", (32, channels, 56, 56), (0, 2, 3, 1), dtype, quick=quick))
    for dtype in ("f4", "i1"):
        cases.append(permute("nchw-nhwc", (32, 64, 112, 112), (0, 2, 3, 1), dtype))
        cases.append(permute("nhwc-nchw", (32, 112, 112, 64), (0, 3, 1, 2), dtype))
        cases.append(permute("nchw-nhwc", (64, 512, 7, 7), (0, 2, 3, 1), dtype))
        cases.append(permute("nhwc-nchw", (64, 7, 7, 512), (0, 3, 1, 2), dtype))
    cases.append(permute("ncdhw-ndhwc", (4, 32, 16, 56, 56), (0, 2, 3, 4, 1), "f4"))
    return cases


def attention() -> list[Case]:
    """[B, S, H, D]: heads out, heads back, and the transposed keys."""
    cases = []
    for shape, dtype in [
        ((8, 512, 12, 64), "f4"),
        ((4, 2048, 32, 128), "i2"),
        ((16, 197, 12, 64), "f4"),
        ((8, 1024, 16, 40), "i2"),
    ]:
        rows = ("rows",)
        batch, tokens, heads, depth = shape
        quick = depth != 40
        cases.append(permute("attention", shape, (0, 2, 1, 3), dtype, targets=rows, quick=quick))
        cases.append(permute("attention", (batch, heads, tokens, depth), (0, 2, 1, 3), dtype, targets=rows))
        cases.append(permute("attention", shape, (0, 2, 3, 1), dtype, quick=depth == 64))
    return cases


def rows() -> list[Case]:
    """Whole rows of 2 to 48 bytes that change places."""
    return [
        permute("rows", (512, 2048, length), (1, 0, 2), "i1", quick=length in (3, 8, 24))
        for length in (2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 31, 32, 40, 48)
    ]


def high_ranks() -> list[Case]:
    """Rank 6 to 14, beyond the L3 and inside it."""
    beyond, inside = ("rank 6-14, beyond L3",), ("rank 6-14, inside L3",)
    p6 = (5, 3, 1, 0, 2, 4)
    cases = [
        permute("rank6", (16,) * 6, p6, "f4", targets=beyond, quick=True),
        permute("rank6", (16,) * 6, p6, "i1", targets=beyond),
        permute("rank6", (16,) * 6, p6, "f8", targets=beyond),
        permute("rank6", (16,) * 6, (5, 4, 3, 2, 1, 0), "f4", targets=beyond),
        permute("rank6", (17, 15, 18, 13, 16, 14), (2, 5, 0, 3, 1, 4), "f4", targets=beyond),
        permute("rank6", (10,) * 6, p6, "f4", targets=inside, quick=True),
        permute("rank6", (7, 12, 9, 11, 5, 13), (3, 5, 1, 0, 4, 2), "f4", targets=inside),
        permute("rank6", (7, 12, 9, 11, 5, 13), (3, 5, 1, 0, 4, 2), "i1"),
        permute("rank6", (8, 64, 12, 10, 5, 32), (0, 2, 4, 1, 3, 5), "f4", targets=beyond),
        permute("rank8", (8,) * 8, (7, 1, 5, 3, 0, 6, 2, 4), "f4", targets=beyond),
        permute("rank8", (6,) * 8, (7, 1, 5, 3, 0, 6, 2, 4), "f4", targets=inside),
    ]
    p14 = (13, 5, 2, 8, 0, 11, 3, 9, 6, 1, 12, 4, 10, 7)
    p12 = (11, 4, 7, 0, 9, 2, 5, 10, 1, 8, 3, 6)
    cases += [
        permute("rank12", (4,) * 12, p12, "f4", targets=beyond, quick=True),
        permute("rank12", (4,) * 12, p12, "i1", targets=beyond),
        permute("rank12", (3,) * 12, p12, "f4", targets=inside),
        permute("rank12", (2, 3) * 6, tuple(reversed(range(12))), "f8"),
        permute("rank13", (3,) * 13, (12, 4, 7, 0, 9, 2, 5, 10, 1, 8, 3, 6, 11), "f4", targets=inside),
        permute("rank14", (3,) * 14, p14, "f4", targets=beyond),
        permute("rank14", (2, 3, 4, 2, 3, 2, 4, 2, 3, 2, 2, 3, 2, 4), p14, "f4", targets=inside, quick=True),
    ]  # fmt: skip
    return cases


def outer_extents() -> list[Case]:
    """An outer loop of 1, 2 and 3: too few steps to be shared by the threads."""
    cases = []
    for n in (1, 2, 3):
        cases.append(permute("outer", (n, 2000, 3000), (0, 2, 1), "f4", quick=n == 3))
        cases.append(permute("outer", (n, 300, 200, 100), (0, 2, 1, 3), "f4", targets=("rows",)))
        cases.append(permute("outer", (2000, 3000, n), (2, 0, 1), "i2"))
    return cases


def sources() -> list[Case]:
    """Inputs that begin inside a line, are pitched, misaligned, reversed, or every second element."""
    cases = []
    for dtype in ("i1", "f4"):
        itemsize = dtype_of(dtype).itemsize
        pitch = 4096 * 4 // itemsize
        square = (3000, 3000)
        for order in ((1, 0), (0, 1)):

            def add(
                suffix: str, source: Source, shape=square, quick=False, rows=False, order=order, dtype=dtype, **more
            ):
                targets = ("rows",) if rows and order == (0, 1) else ()
                cases.append(
                    permute("source", shape, order, dtype, suffix, source=source, quick=quick, targets=targets, **more)
                )

            add("pitch-4096", Source(parent=(3000, pitch)), rows=True, quick=order == (1, 0))
            add("misaligned", Source(offset=1), rows=True, quick=dtype == "f4")
            add("misaligned-both", Source(offset=itemsize), rows=True, out_offset=itemsize)
            add("negative-rows", Source(steps=(-1, 1)), rows=True)
            add("negative-columns", Source(steps=(1, -1)), quick=dtype == "f4")
            add("negative-both", Source(steps=(-1, -1)))
            add("every-second-row", Source(steps=(2, 1)), rows=True)
            add("every-second-column", Source(steps=(1, 2)), quick=dtype == "f4")
            add("minus-two", Source(steps=(1, -2)))
    # Large arrays of NumPy begin 16 bytes into a line.
    for shape, dtype in (
        ((1500, 512), "f4"),
        ((1024, 1024), "f4"),
        ((4000, 4000), "f4"),
        ((1008, 1008), "f8"),
        ((6016, 6016), "i2"),
        ((1000, 1024), "i1"),
        ((2100, 2048), "c16"),
    ):
        cases.append(permute("source", shape, (1, 0), dtype, "numpy", source=Source(offset=16), out_offset=16))
    cases.append(permute("source", (32, 256, 32, 32), (0, 2, 3, 1), "f4", "stride-4096"))
    cases.append(permute("source", (64, 128, 64, 64), (1, 0, 2, 3), "f4", "stride-16384", targets=("rows",)))
    return cases


def bands() -> list[Case]:
    """Images of some spectral bands, pixel by pixel to band by band and back."""
    cases = []
    for bands, dtype in itertools.product((5, 6, 7, 9, 12, 15), ("i1", "i2")):
        for side in (224, 1024):
            cases.append(permute("bands", (side, side, bands), (2, 0, 1), dtype))
            cases.append(permute("bands", (bands, side, side), (1, 2, 0), dtype))
    return cases


def cases(threads: int) -> list[Case]:
    families = (sizes, squares, rectangles, cubes, layouts, bands, attention, rows, high_ranks, outer_extents, sources)
    return [case for family in families for case in family()]
