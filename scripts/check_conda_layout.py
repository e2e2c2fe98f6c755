"""Builds and runs dnnmove in a prefix laid out as conda lays it out, with no pip package of oneDNN.

The prefix is an environment whose include/, lib/ and lib/cmake/dnnl hold oneDNN's files, unpacked from its wheels:
pip knows nothing of them. The package is built there as a conda recipe does, and must then import, run oneDNN's
own shuffle, pass `pip check` and name no pip package of oneDNN in its metadata.
"""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "conda-layout"
WHEELS = ["onednn-devel-cpu-gomp==2023.2.0", "onednn-cpu-gomp==2023.2.0"]
HOST = ["pip", "numpy", "ml_dtypes", "pybind11>=3", "scikit-build-core>=1", "cmake", "ninja"]

PROGRAM = """
import importlib.metadata, sys
import numpy as np
import dnnmove as dm

requirements = importlib.metadata.requires("dnnmove")
print("requires:", [r for r in requirements if "extra ==" not in r])
assert not any("onednn" in r.lower() for r in requirements), requirements

md = dm.MemoryDesc((2, 12, 5, 5), "float32", "nchw")
desc = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, md, axis=1, group_size=4)
pd = dm.ShuffleForward.PrimitiveDesc(desc, implementation="onednn")
x = np.arange(600, dtype=np.float32).reshape(2, 12, 5, 5)
y = dm.ShuffleForward(pd)(x)
expected = x.reshape(2, 3, 4, 5, 5).swapaxes(1, 2).reshape(x.shape)
assert np.array_equal(y, expected)

libraries = {line.split()[-1] for line in open("/proc/self/maps") if "libdnnl" in line}
print(pd.impl_info_str, "in", *libraries)
assert libraries and all(library.startswith(sys.prefix) for library in libraries), libraries
"""


def unpack_onednn(prefix: Path) -> None:
    """oneDNN's headers, library and CMake package into the prefix, the library's names as links like conda's."""
    downloads = FOLDER / "wheels"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "download", "-q", "--no-deps", "-d", downloads, *WHEELS], check=True)
    for wheel in sorted(downloads.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                _, found, path = name.partition(".data/data/")
                if found and not name.endswith("/"):
                    target = prefix / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.read(name))
    library = prefix / "lib" / "libdnnl.so.3.2"
    for link, target in (("libdnnl.so.3", library.name), ("libdnnl.so", "libdnnl.so.3")):
        (library.parent / link).unlink()
        (library.parent / link).symlink_to(target)


def main() -> None:
    prefix = FOLDER / "prefix"
    shutil.rmtree(prefix, ignore_errors=True)
    venv.create(prefix, with_pip=True)
    unpack_onednn(prefix)
    python = prefix / "bin" / "python"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("CMAKE_", "SKBUILD_"))},
        "PATH": f"{prefix}/bin{os.pathsep}{os.environ['PATH']}",
        "CMAKE_ARGS": f"-DCMAKE_PREFIX_PATH={prefix}",
        "DNNMOVE_SYSTEM_ONEDNN": "1",
    }

    def run(*command: object) -> None:
        subprocess.run([str(part) for part in command], check=True, env=environment, cwd=FOLDER)

    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "install", "-q", *HOST)
    run(*pip, "install", "-q", "--no-deps", "--no-build-isolation", ROOT)
    installed = subprocess.run(
        [*map(str, pip), "list", "--format=freeze"], check=True, capture_output=True, text=True, env=environment
    ).stdout
    if "onednn" in installed.lower():
        raise SystemExit(f"a pip package of oneDNN is installed:\n{installed}")
    run(*pip, "check")
    (FOLDER / "try_it.py").write_text(PROGRAM)
    run(python, "try_it.py")
    print("the conda layout works")


if __name__ == "__main__":
    main()
