"""Splits into 2 to 93 parts, parts of one element, and concat, which is the same the other way round."""

from __future__ import annotations

from benchmarks.case import Case, show

# Records of fields of several types, as bytes: how many, and the fields.
RECORDS = [
    (100000, (2, 3, 4)),
    (120000, (1, 3, 4, 4)),
    (90000, (6, 7)),
    (90000, (10, 6)),
    (71000, (1, 1, 1, 2, 2, 2, 4, 4, 4)),
    (71100, (2, 3, 1, 5, 2, 2, 1, 1, 2, 2)),
    (1500000, (4, 4, 8, 8, 8)),
    (2000000, (2, 1, 1, 2, 1, 2, 1, 1, 1, 1)),
]


def split(shape: tuple[int, ...], axis: int, lengths: tuple[int, ...], dtype: str, op: str = "split", **more) -> Case:
    parts = "+".join(map(str, lengths)) if len(lengths) <= 4 else f"{len(lengths)}parts"
    params = {"axis": axis, "lengths": lengths}
    name = f"{op}/{show(shape)}/axis{axis}/{parts}/{dtype}"
    return Case(name, op, shape, dtype, params, targets=more.pop("targets", ("splits",)), **more)


def uneven(total: int, parts: int) -> tuple[int, ...]:
    """`parts` different lengths that sum to `total`."""
    lengths = [total // parts + (i % 7) - 3 for i in range(parts)]
    lengths[-1] += total - sum(lengths)
    return tuple(lengths)


def cases(threads: int) -> list[Case]:
    found = [
        split((100352, 240), 1, (60, 120, 60), "f4", quick=True),
        split((100352, 240), 1, (60, 120, 60), "i1"),
        split((100352, 240), 1, (120, 120), "f4"),
        split((1000000, 3), 1, (1, 1, 1), "f4", quick=True),
        split((1000000, 3), 1, (1, 1, 1), "i1", quick=True),
        split((1000000, 2), 1, (1, 1), "i2"),
        split((500000, 4), 1, (1, 2, 1), "f4"),
        split((500000, 5), 1, (2, 3), "i1"),
        split((50000, 64), 1, (1,) * 64, "f4", quick=True),
        split((50000, 64), 1, (1,) * 64, "i1"),
        split((20000, 640), 1, (10,) * 64, "i2"),
        split((5000, 93 * 16), 1, uneven(93 * 16, 93), "f4", quick=True),
        split((5000, 93 * 16), 1, uneven(93 * 16, 93), "i1"),
        split((20000, 93), 1, (1,) * 93, "f4"),
        split((32, 116, 56, 56), 1, (58, 58), "f4", quick=True),
        split((32, 56, 56, 116), 3, (58, 58), "f4", quick=True),
        split((32, 56, 56, 116), 3, (58, 58), "i1"),
        split((8, 512, 2304), 2, (768, 768, 768), "f4", quick=True),
        split((8, 512, 2304), 2, (768, 768, 768), "i2"),
        split((3, 2000, 1500), 0, (1, 1, 1), "f4"),
        split((4096, 4096), 1, (1024, 2048, 1024), "f4"),
        split((100000, 31), 1, (7, 24), "f8"),
        split((100000, 9), 1, (3, 3, 3), "i1"),
        split((20000, 144), 1, (48, 48, 48), "f4"),
        split((100000, 12), 1, (1,) * 12, "i1"),
        *(split((records, sum(fields)), 1, fields, "i1") for records, fields in RECORDS),
    ]
    for shape in ((8, 31), (128, 64), (1000, 131), (10000, 210), (70000, 240), (500000, 268)):
        third = shape[1] // 3
        lengths = (third, shape[1] - 2 * third, third)
        big = shape[0] == 500000
        small = shape[0] == 8
        found.append(split(shape, 1, lengths, "f4", series=True, quick=not big, small=small))
    for shape, axis, lengths, dtype in [
        ((100352, 240), 1, (60, 120, 60), "f4"),
        ((1000000, 3), 1, (1, 1, 1), "f4"),
        ((1000000, 3), 1, (1, 1, 1), "i1"),
        ((50000, 64), 1, (1,) * 64, "f4"),
        ((32, 116, 56, 56), 1, (58, 58), "f4"),
        ((8, 512, 2304), 2, (768, 768, 768), "i2"),
        ((50000, 21), 1, (7, 7, 7), "i1"),
        ((40000, 10), 1, (5, 5), "f4"),
        ((1000000, 30), 1, (12, 10, 8), "i2"),
        ((20000, 144), 1, (48, 48, 48), "f4"),
        ((100000, 12), 1, (1,) * 12, "i1"),
        *(((records, sum(fields)), 1, fields, "i1") for records, fields in RECORDS),
    ]:
        found.append(
            split(shape, axis, lengths, dtype, "concat", quick=dtype == "f4" and axis == 1 and len(shape) == 2)
        )
    return found
