"""A matrix transposed across MPI ranks: pack in one pass, exchange contiguous blocks, unpack in one pass.

Compared with MPI's own way, Alltoallw on derived datatypes. Run it as: mpiexec -n 4 python examples/mpi_transpose.py
"""

import argparse
import time

import numpy as np
from mpi4py import MPI

import dnnmove as dm

comm = MPI.COMM_WORLD
ranks, rank = comm.size, comm.rank
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=512, help="rows and columns of each rank's block (512)")
rows = columns = parser.parse_args().size  # of one block; the matrix is ranks * rows by ranks * columns

# Each rank holds `rows` whole rows of the matrix, and is to hold `columns` whole rows of its transpose.
shape = (ranks * rows, ranks * columns)
matrix = np.arange(shape[0] * shape[1], dtype=np.float64).reshape(shape)
x = matrix[rank * rows : (rank + 1) * rows].copy()
expected = matrix.T[rank * columns : (rank + 1) * columns]

blocks = dm.MemoryDesc((ranks, rows, columns), "float64")
pack = dm.Chain(dm.MemoryDesc(x.shape, "float64")).reshape((rows, ranks, columns)).transpose((1, 0, 2)).build()
unpack = dm.Chain(blocks).transpose((2, 0, 1)).reshape(expected.shape).build()
send, receive = np.empty(blocks.dims), np.empty(blocks.dims)


def with_chains(y):
    pack(x, out=send)  # the block for each rank, one after the other
    comm.Alltoall(send, receive)
    unpack(receive, out=y)


# The same with datatypes: a block is `rows` pieces of x; each of its elements goes to a row of its own in y.
element = MPI.DOUBLE
piece = element.Create_vector(rows, columns, ranks * columns).Commit()
column = element.Create_vector(columns, 1, ranks * rows).Create_resized(0, element.size)
turned = column.Create_contiguous(rows).Commit()
counts, sends = [1] * ranks, [i * columns * element.size for i in range(ranks)]
receives = [i * rows * element.size for i in range(ranks)]


def with_datatypes(y):
    comm.Alltoallw([x, counts, sends, [piece] * ranks], [y, counts, receives, [turned] * ranks])


for way in (with_chains, with_datatypes):
    y = np.full(expected.shape, np.nan)
    way(y)
    exact = comm.allreduce(np.array_equal(y, expected), op=MPI.LAND)
    assert exact, way.__name__
    times = []
    for _ in range(5):
        comm.Barrier()
        start = time.perf_counter()
        way(y)
        times.append(comm.allreduce(time.perf_counter() - start, op=MPI.MAX))
    if rank == 0:
        print(f"{ranks} ranks, {shape[0]} x {shape[1]} float64, {way.__name__}: exact, {min(times) * 1e3:.2f} ms")
