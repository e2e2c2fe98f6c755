"""An array larger than the workers' memory, turned from NCHW to NHWC on a dask cluster, straight to a file on disk.

``--gigabytes 20`` makes it as large as you like; the workers' memory stays as it is.
"""

import argparse
import contextlib
import math
import pathlib
import tempfile

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, progress

from dnnmove import dask as dd

WORKERS, MEMORY = 2, 256 << 20  # processes, and bytes of memory of each
C, H, W = 12, 128, 128


class NpyFile:
    """A .npy file that any process writes its blocks to; each maps it for itself."""

    def __init__(self, path, shape, dtype):
        self.path, self.shape, self.dtype = path, shape, dtype
        np.lib.format.open_memmap(path, mode="w+", shape=shape, dtype=dtype)

    def __setitem__(self, key, block):
        np.load(self.path, mmap_mode="r+")[key] = block


def values(block_info=None):
    """A block of the source: every element is known by its position."""
    (first, last), *_ = block_info[None]["array-location"]
    numbers = np.arange(first * C * H * W, last * C * H * W, dtype=np.int64)
    return (numbers % 251).astype(np.float32).reshape(-1, C, H, W)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=0.6, help="size of the array (default: %(default)s)")
    parser.add_argument("--folder", type=pathlib.Path, help="where nhwc.npy stays (default: a temporary folder)")
    options = parser.parse_args()

    images = math.ceil(options.gigabytes * 1e9 / (C * H * W * 4))
    source = da.map_blocks(values, chunks=(da.core.normalize_chunks(8, (images,))[0], C, H, W), dtype=np.float32)
    result = dd.transpose(dd.shuffle_channels(source, axis=1, group=3), (0, 2, 3, 1))
    print(f"{source.nbytes / 1e6:.0f} MB in {source.npartitions} blocks; {WORKERS} workers of {MEMORY / 1e6:.0f} MB")
    assert source.nbytes > WORKERS * MEMORY or options.gigabytes < 0.6

    with contextlib.nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory() as folder:
        target = NpyFile(str(pathlib.Path(folder, "nhwc.npy")), result.shape, result.dtype)
        with (
            LocalCluster(
                n_workers=WORKERS, threads_per_worker=1, memory_limit=MEMORY, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            stored = client.persist(da.store(result, target, lock=False, compute=False))
            progress(stored, notebook=False)
            client.gather(client.compute(stored))
        print()

        written = np.load(target.path, mmap_mode="r")
        channels = np.arange(C).reshape(3, C // 3).T.ravel()  # where each channel comes from
        for image in {0, images // 2, images - 1}:
            numbers = np.arange(image * C * H * W, (image + 1) * C * H * W, dtype=np.int64).reshape(C, H, W)
            expected = (numbers % 251).astype(np.float32)[channels].transpose(1, 2, 0)
            assert np.array_equal(written[image], expected)
        print(f"{written.nbytes / 1e6:.0f} MB written: exact")


if __name__ == "__main__":
    main()
