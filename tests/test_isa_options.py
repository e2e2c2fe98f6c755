"""The processor is asked for every instruction that the kernels' compiler options allow."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# What a compiler calls an instruction set, where CPU detection has another name; None: asked with another one.
NAMES = {
    "SSE4_2": "sse4.2",
    "CRC32": "sse4.2",  # its instruction
    "XSAVE": "avx",  # which is only there where the system saves its registers
    "F16C": "F16C",
}
BELOW = {"SSE3", "SSSE3", "SSE4_1"}  # each level of SSE holds the ones below
OPTIONS = {"scalar": "portable_flags", "avx2": "avx2_flags", "avx512": "avx512_flags"}


def options():
    """The -m options of each instruction set's files, as the core's CMakeLists.txt has them."""
    text = (ROOT / "src/core/CMakeLists.txt").read_text()
    found = {}
    for isa, variable in OPTIONS.items():
        body = re.search(rf"set\({variable} (.*?)\)\n", text, re.DOTALL)[1]
        found[isa] = re.findall(r"-m[a-z0-9.]+(?=[\s)])", body + " ")
    found["avx512_vbmi"] = [*found["avx512"], *re.findall(r'_flags};(-m[a-z0-9]+)"', text)]
    return found


def asked():
    """What `supported` in isa.cpp asks of the processor for each instruction set."""
    text = (ROOT / "src/core/runtime/isa.cpp").read_text()
    body = text[text.index("bool supported(") : text.index("Isa isa_cap()")]
    words = r'__builtin_cpu_supports\("([^"]+)"\)|has_(f16c)\(\)'

    def of(statement):
        return {name or macro.upper() for name, macro in re.findall(words, statement)}

    avx2 = of(re.search(r"const bool avx2 = .*?;", body, re.DOTALL)[0])
    avx512 = avx2 | of(re.search(r"const bool avx512 = avx2 &&.*?;", body, re.DOTALL)[0])
    scalar = of(re.search(r"if \(isa == Isa::scalar\) return.*?;", body)[0])
    return {
        "scalar": scalar,
        "avx2": avx2,
        "avx512": avx512,
        "avx512_vbmi": avx512 | of(re.search(r"return avx512 &&.*?;", body)[0]),
    }


def macros(compiler, flags):
    text = subprocess.run(
        [compiler, *flags, "-dM", "-E", "-x", "c++", "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    return set(re.findall(r"^#define __([A-Z0-9_]+?)__ 1$", text, re.MULTILINE))


@pytest.mark.parametrize("isa", ["scalar", "avx2", "avx512", "avx512_vbmi"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_everything_that_the_options_enable_is_asked_for(compiler, isa):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    flags = options()[isa]
    assert flags
    plain = macros(compiler, ["-m64"])
    if "SSE2" not in plain:
        pytest.skip("these options are for x86-64")
    added = macros(compiler, flags) - plain
    highest = {"sse4.2"} if "SSE4_2" in added else {"sse4.1"} if "SSE4_1" in added else set()
    enabled = {NAMES.get(name, name.lower()) for name in added - BELOW} | highest
    assert ({"sse4.1"} if isa == "scalar" else {"avx2", "bmi", "bmi2"}) <= enabled
    assert enabled <= asked()[isa]
