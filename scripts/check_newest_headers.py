"""Compiles the bindings' syntax against the headers of the newest oneDNN 3.x that pip has.

Only the headers are taken (the wheel `onednn-devel`, none of its requirements): that wheel's library is a SYCL
build of two gigabytes.
"""

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy
import pybind11

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "newest-onednn"
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]


def download_headers() -> Path:
    """The folder that holds the newest dnnl.hpp."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "download", "-q", "--no-deps", "-d", FOLDER, "onednn-devel<2027"], check=True)
    wheel = max(FOLDER.glob("onednn_devel-*.whl"), key=lambda path: path.stat().st_mtime)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(FOLDER)
    return Path(next(FOLDER.glob(f"{wheel.name.split('-py')[0]}.data/data/include")))


def main() -> int:
    headers = download_headers()
    text = (headers / "oneapi/dnnl/dnnl_version.h").read_text()
    version = ".".join(re.search(rf"DNNL_VERSION_{part} +(\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
    includes = [ROOT / "src/core", ROOT / "bindings"]
    system = [headers, pybind11.get_include(), numpy.get_include(), sysconfig.get_paths()["include"]]
    command = [
        *shlex.split(os.environ.get("CXX", "c++")),
        *FLAGS,
        '-DDNNMOVE_VERSION="check"',
        *(f"-I{folder}" for folder in includes),
        *(f"-isystem{folder}" for folder in system),
    ]
    sources = [path for path in sorted((ROOT / "bindings").rglob("*.cpp")) if "dnnl.hpp" in path.read_text()]
    if not sources:
        print("no source file includes dnnl.hpp", file=sys.stderr)
        return 1
    for source in sources:
        subprocess.run([*command, source], check=True)
        print(f"{source.relative_to(ROOT)} compiles against the headers of oneDNN {version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
