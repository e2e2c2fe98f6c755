"""Packages of the local channel made from what the machine has: its Python, its compiler and the libraries of both."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from package import Package
from wheels import PYTHON

ABI = "cp" + PYTHON.replace(".", "")
# How conda-forge's builds of Python end.
BUILD = "cpython" if sys.version_info < (3, 13) else ABI
NO_TESTS = shutil.ignore_patterns(
    "__pycache__", "test", "tests", "idle_test", "site-packages", "lib2to3", "idlelib", "turtledemo", "*.a", "ensurepip"
)


def python(stage: Path) -> list[Package]:
    """The interpreter that runs this, without its installed packages and its own tests."""
    base, stdlib = Path(sys.base_prefix), Path(sysconfig.get_path("stdlib"))
    if base == Path("/usr"):
        raise SystemExit(f"{sys.executable}: a distribution's Python cannot be moved; run make PYTHON=... with another")
    files = stage / "python"
    shutil.copytree(stdlib, files / "lib" / f"python{PYTHON}", ignore=NO_TESTS, symlinks=True)
    include = Path(sysconfig.get_path("include"))
    shutil.copytree(include, files / "include" / include.name)
    for library in base.glob(f"lib/libpython{PYTHON}*.so*"):
        shutil.copy2(library, files / "lib" / library.name, follow_symlinks=False)
    (files / "bin").mkdir()
    shutil.copy2(base / "bin" / f"python{PYTHON}", files / "bin")
    for link in ("python", "python3"):
        (files / "bin" / link).symlink_to(f"python{PYTHON}")
    # What Python was configured with names the folder that it was installed in.
    move = f'grep -rlIF {base} "$PREFIX" | xargs -r sed -i "s|{base}|$PREFIX|g"'
    version = platform.python_version()
    return [
        Package(
            "python",
            version,
            files,
            "the Python that runs this",
            stands_in="its OpenSSL, libffi, SQLite and zlib are the machine's",
            constrains=[f"python_abi {PYTHON}.* *_{ABI}"],
            run_exports={"noarch": ["python"], "weak": [f"python_abi {PYTHON}.* *_{ABI}"]},
            build=f"0_{BUILD}",
            script=[move],
            license="Python-2.0",
            relocate=True,
        ),
        Package("python_abi", PYTHON, None, "a name", constrains=[f"python {PYTHON}.* *_{BUILD}"], build=f"8_{ABI}"),
    ]


def tool(name: str) -> str:
    """A program of the machine's compiler."""
    found = shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is needed")
    return found


def gcc_version() -> str:
    """As in 12.2.0."""
    return subprocess.check_output([tool("g++"), "-dumpfullversion"], text=True).strip()


def glibc_version() -> str:
    """As in 2.36."""
    return platform.libc_ver()[1]


def file_of_gcc(name: str) -> Path:
    """The library that the compiler links programs with."""
    found = subprocess.check_output([tool("g++"), f"-print-file-name={name}"], text=True).strip()
    return Path(found).resolve(strict=True)


def runtime_library(stage: Path, name: str, *sonames: str, depends: tuple[str, ...] = ()) -> Package:
    """One of GCC's run-time libraries."""
    files = stage / name
    (files / "lib").mkdir(parents=True)
    for soname in sonames:
        shutil.copy2(file_of_gcc(soname), files / "lib" / soname)
    return Package(
        name,
        gcc_version(),
        files,
        f"the machine's {', '.join(sonames)}",
        depends=list(depends),
        run_exports={"strong": ["_openmp_mutex >=4.5"]} if name == "libgomp" else {},
        license="GPL-3.0-only WITH GCC-exception-3.1",
    )


# The flags of conda-forge's compilers on x86-64.
CXXFLAGS = (
    "-fvisibility-inlines-hidden -fmessage-length=0 -march=nocona -mtune=haswell -ftree-vectorize -fPIC"
    " -fstack-protector-strong -fno-plt -O2 -ffunction-sections -pipe -isystem $PREFIX/include"
)
LDFLAGS = (
    "-Wl,-O2 -Wl,--sort-common -Wl,--as-needed -Wl,-z,relro -Wl,-z,now -Wl,--disable-new-dtags -Wl,--gc-sections"
    " -Wl,-rpath,$PREFIX/lib -Wl,-rpath-link,$PREFIX/lib -L$PREFIX/lib"
)
CMAKE_ARGS = (
    "-DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=BOTH"
    " -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=BOTH -DCMAKE_FIND_ROOT_PATH=$PREFIX -DCMAKE_INSTALL_PREFIX=$PREFIX"
    " -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PROGRAM_PATH=$BUILD_PREFIX/bin;$PREFIX/bin"
)
# With link-time optimisation the linker compares the types of all files: two that share a name are an error.
LTO_CXXFLAGS = " -Wodr -Werror=odr -Wlto-type-mismatch -Werror=lto-type-mismatch"
LTO_CMAKE_ARGS = " -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON"


def activation(lto: bool) -> str:
    """What the compilers' package has the build's shell read."""
    return f"""\
# The machine's compilers under conda-forge's names, with the flags of conda-forge's and, where asked for, those of LTO.
export CC="$CONDA_PREFIX/bin/x86_64-conda-linux-gnu-cc" CXX="$CONDA_PREFIX/bin/x86_64-conda-linux-gnu-c++"
if [ "${{CONDA_BUILD:-0}}" = 1 ]; then
    export CXXFLAGS="{CXXFLAGS}{LTO_CXXFLAGS if lto else ""}"
    export CFLAGS="{CXXFLAGS.partition(" ")[2]}"
    export LDFLAGS="{LDFLAGS}"
    export CMAKE_ARGS="{CMAKE_ARGS}{LTO_CMAKE_ARGS if lto else ""}"
    export CMAKE_PREFIX_PATH="$PREFIX"
fi
"""


def compilers(stage: Path, lto: bool = False) -> list[Package]:
    """What compiler('cxx') and stdlib('c') ask for; with `lto`, a compiler that optimises at link time."""
    version, glibc = gcc_version(), glibc_version()
    files = stage / "gxx_linux-64"
    (files / "bin").mkdir(parents=True)
    programs = {"cc": "gcc", "c++": "g++"}
    if lto:
        programs |= {name: name for name in ("gcc-ar", "gcc-ranlib")}
    for name, program in programs.items():
        (files / "bin" / f"x86_64-conda-linux-gnu-{name}").symlink_to(tool(program))
    activate = files / "etc" / "conda" / "activate.d" / "activate-gxx_linux-64.sh"
    activate.parent.mkdir(parents=True)
    activate.write_text(activation(lto))
    # rattler-build tells by the files of the sysroot what every system has.
    sysroot = stage / "sysroot_linux-64" / "x86_64-conda-linux-gnu" / "sysroot" / "lib64"
    sysroot.mkdir(parents=True)
    for soname in ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"):
        shutil.copy2(file_of_gcc(soname), sysroot / soname)
    return [
        Package(
            "gxx_linux-64",
            version,
            files,
            f"links to the machine's GCC {version}",
            stands_in="conda-forge's has a compiler of its own",
            run_exports={
                "strong": [f"libstdcxx >={version.partition('.')[0]}", f"libgcc >={version.partition('.')[0]}"]
            },
        ),
        Package(
            "sysroot_linux-64",
            glibc,
            stage / "sysroot_linux-64",
            f"the machine's glibc {glibc}",
            stands_in="conda-forge's has a glibc of its own, 2.17, with headers",
            run_exports={"strong": [f"__glibc >={glibc},<3.0.a0"]},
        ),
        runtime_library(stage, "libgcc", "libgcc_s.so.1", depends=("_openmp_mutex >=4.5",)),
        runtime_library(stage, "libstdcxx", "libstdc++.so.6", depends=(f"libgcc >={version}",)),
        runtime_library(stage, "libgomp", "libgomp.so.1"),
        Package("_openmp_mutex", "4.5", None, "a name", depends=["libgomp >=7.5.0"], build="2_gnu"),
    ]
