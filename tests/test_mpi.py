"""The distributed transpose of examples/mpi_transpose.py is exact with one, two and four ranks."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dnnmove as dm

pytest.importorskip("mpi4py")
EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "mpi_transpose.py"
# The launcher beside this Python is the one that mpi4py's library belongs to.
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


@pytest.mark.unsanitized
@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_transpose_is_exact(ranks, tmp_path):
    paths = [str(Path(dm.__file__).resolve().parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [MPIEXEC, "-n", str(ranks), sys.executable, str(EXAMPLE), "--size", "48"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    side = ranks * 48
    ways = re.findall(rf"^{ranks} ranks, {side} x {side} float64, (\w+): exact, [\d.]+ ms$", done.stdout, re.MULTILINE)
    assert ways == ["with_chains", "with_datatypes"]
