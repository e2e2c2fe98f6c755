"""Makes a local channel that has what the recipe of dnnmove asks conda-forge for, from PyPI's wheels and the machine.

Prints a table that says where each package comes from and what of conda-forge's it has not.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import machine
import wheels
from package import Package

BUILD = ["pip", "scikit-build-core", "pybind11", "cmake", "ninja"]
RUN = ["numpy", "ml_dtypes"]
TEST = ["hypothesis", "packaging", "pytest", "pytest-xdist", "pyyaml"]
DEMO = ["matplotlib", "pillow"]
ONEDNN = ["onednn-devel-cpu-gomp==2023.2.0", "onednn-cpu-gomp==2023.2.0"]


def onednn_of_wheels(downloads: Path, stage: Path) -> Path:
    """A prefix with the headers, the library and the CMake package of oneDNN's wheels."""
    prefix = stage / "onednn"
    for wheel in wheels.download(ONEDNN, downloads):
        part = stage / "part"
        wheels.unpack(wheel, part)
        shutil.rmtree(part / "lib" / f"python{wheels.PYTHON}")
        shutil.copytree(part, prefix, dirs_exist_ok=True)
        shutil.rmtree(part)
    # In a wheel each name of the library is a copy of it.
    library = max((prefix / "lib").glob("libdnnl.so.*"), key=lambda path: len(path.name))
    for link, target in (("libdnnl.so.3", library.name), ("libdnnl.so", "libdnnl.so.3")):
        (prefix / "lib" / link).unlink()
        (prefix / "lib" / link).symlink_to(target)
    return prefix


def onednn(prefix: Path, origin: str) -> Package:
    """An installed oneDNN, built with the OpenMP runtime, as conda-forge's omp variant."""
    defines = dict(
        line.split()[1:3]
        for line in (prefix / "include/oneapi/dnnl/dnnl_version.h").read_text().splitlines()
        if line.startswith("#define DNNL_VERSION_") and len(line.split()) == 3
    )
    version = ".".join(defines[f"DNNL_VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH")).removesuffix(".0")
    return Package(
        "onednn",
        version,
        prefix,
        origin,
        depends=["_openmp_mutex >=4.5", "libgcc >=12", "libstdcxx >=12"],
        run_exports={"weak": [f"onednn >={version},<4.0a0"]},
        build="omp_h0000000_0",
        license="Apache-2.0",
        relocate=True,
    )


def packages(folder: Path, onednn_prefix: Path | None, lto: bool) -> list[Package]:
    """All packages of the channel, with their files laid out under `folder`."""
    stage = folder / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(parents=True)
    found = [*machine.python(stage), *machine.compilers(stage, lto)]
    found += [
        wheels.package(wheel, stage) for wheel in wheels.download([*BUILD, *RUN, *TEST, *DEMO], folder / "wheels")
    ]
    if onednn_prefix:
        found.append(onednn(onednn_prefix, "the prefix given"))
    else:
        found.append(onednn(onednn_of_wheels(folder / "wheels-onednn", stage), f"the wheels {', '.join(ONEDNN)}"))
    return found


def make(folder: Path, onednn_prefix: Path | None = None, lto: bool = False) -> Path:
    """Make the channel in `folder`/channel and say what is in it; with `lto`, its compilers optimise at link time."""
    channel = folder / "channel"
    shutil.rmtree(channel, ignore_errors=True)
    made = packages(folder, onednn_prefix, lto)
    for package in made:
        package.make(channel)
    for part in ("bld", ".tmp"):
        shutil.rmtree(channel / part, ignore_errors=True)
    print(f"{'package':20}{'version':10}{'from':48}real, or what it has not of conda-forge's")
    for package in made:
        kind = f"stands in: {package.stands_in}" if package.stands_in else "real"
        print(f"{package.name:20}{package.version:10}{package.origin[:46]:48}{kind}")
    return channel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where wheels, files and the channel go")
    parser.add_argument("--onednn", type=Path, metavar="PREFIX", help="an installed oneDNN instead of the wheels'")
    arguments = parser.parse_args()
    make(arguments.folder.resolve(), arguments.onednn)


if __name__ == "__main__":
    main()
