"""dnnmove for Spack: packages/py_dnnmove/package.py of a repository of your own."""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyDnnmove(PythonPackage):
    """The data-movement primitives of deep-learning inference engines, on ordinary CPU arrays."""

    # RELEASE: the project's addresses, and a version("0.1.0", sha256=...) of the source archive.
    homepage = "https://github.com/dnnmove/dnnmove"
    git = "https://github.com/dnnmove/dnnmove.git"

    license("Apache-2.0")

    version("main", branch="main")

    depends_on("cxx", type="build")
    depends_on("cmake@3.24:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.11:", type=("build", "link", "run"))
    depends_on("py-scikit-build-core@1:", type="build")
    depends_on("py-pybind11@3:", type="build")
    depends_on("py-numpy@2:", type=("build", "run"))
    depends_on("py-ml-dtypes@0.4:", type=("build", "run"))
    # The run-time whose threads dnnmove can keep to its own limits.
    depends_on("onednn@3.2:3 cpu_runtime=omp", type=("build", "link", "run"))

    conflicts("platform=darwin", msg="dnnmove is built and tested on Linux")

    def setup_build_environment(self, env):
        # oneDNN is Spack's: no pip package of it may appear in the metadata.
        env.set("DNNMOVE_SYSTEM_ONEDNN", "1")
