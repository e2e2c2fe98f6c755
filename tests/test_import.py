"""What ``import dnnmove`` costs: none of the integrations' packages, and little beyond NumPy's own import."""

import pytest

OTHERS = ("torch", "dask", "distributed", "openvino", "jax", "click", "defusedxml", "matplotlib", "array_api_strict")


def test_it_imports_no_integration_and_no_package_of_one(run_python):
    program = f"""
import sys
import dnnmove
print([name for name in {OTHERS} if name in sys.modules])
print([name for name in ("torch", "dask", "ir", "_cli", "_seen") if "dnnmove." + name in sys.modules])
"""
    assert run_python(program) == "[]\n[]\n"


@pytest.mark.unsanitized
def test_it_takes_little_more_than_numpy(run_python):
    """Of the processor's time, which other programs do not lengthen: 14 ms here, half of it for ml_dtypes."""
    program = """
import numpy, time
start = time.process_time()
import dnnmove
print(time.process_time() - start)
"""
    run_python(program)  # writes what Python caches
    assert min(float(run_python(program)) for _ in range(5)) < 0.050
