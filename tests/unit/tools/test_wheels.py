"""The check of wheels names each thing that a wheel may not ask for, and passes one that asks for nothing of the kind."""

import csv
import dataclasses
import io
import re
import sys
import zipfile
from pathlib import Path

import pytest

for module in ("abi3info", "capstone", "elftools"):
    pytest.importorskip(module)
TOOLS = Path(__file__).parents[3] / "tools"
sys.path[:0] = [str(TOOLS / "wheels"), str(TOOLS)]
import wheel_build  # noqa: E402
import wheel_elf  # noqa: E402
import wheel_rules  # noqa: E402
import wheel_targets  # noqa: E402

from latticework import _core  # noqa: E402

del sys.path[:2]

GLIBC, _, MUSL, _ = wheel_targets.TARGETS
CLEAN = wheel_elf.Extension(
    "EM_X86_64",
    frozenset({"libc.so.6", "libm.so.6"}),
    {"libc.so.6": frozenset({"GLIBC_2.14", "GLIBC_2.28"})},
    frozenset({"exp", "fma", "memcpy", "PyList_New"}),
    frozenset({"PyInit__core"}),
)
CLEAN_MUSL = dataclasses.replace(CLEAN, needed=frozenset({"libc.so"}), versions={})
ADD_SSE2 = b"\x66\x0f\x58\xc1"  # addpd xmm0, xmm1
ADD_AVX = b"\xc5\xfd\x58\xc1"  # vaddpd ymm0, ymm0, ymm1
FUSED = b"\xc4\xe2\xf5\xb8\xc2"  # vfmadd231pd ymm0, ymm1, ymm2
ADD_AVX512 = b"\x62\xf1\xfd\x48\x58\xc1"  # vaddpd zmm0, zmm0, zmm1
SHUFFLE = b"\x66\x0f\x38\x00\xc1"  # pshufb xmm0, xmm1
COUNT = b"\xf3\x48\x0f\xb8\xc1"  # popcnt rax, rcx
ADD_NEON = b"\x20\xd4\x60\x4e"  # fadd v0.2d, v1.2d, v0.2d
BEYOND_ARM = {
    "lse": 0xF8E00041,  # ldaddal x0, x1, [x2]
    "dotprod": 0x4E829420,  # sdot v0.4s, v1.16b, v2.16b
    "sve": 0x04E00000,  # add z0.d, z0.d, z0.d
    "fp16": 0x4E401420,  # fadd v0.8h, v1.8h, v0.8h
    "crypto": 0x4E284800,  # aese v0.16b, v0.16b
    "rcpc": 0xF8BFC041,  # ldapr x1, [x2]
}


@pytest.mark.parametrize(
    ("target", "change", "fault"),
    [
        (GLIBC, {"machine": "EM_AARCH64"}, "is for EM_AARCH64, not for x86_64"),
        (GLIBC, {"needed": frozenset({"libstdc++.so.6"})}, r"needs the library libstdc\+\+.so.6"),
        (GLIBC, {"versions": {"libc.so.6": frozenset({"GLIBC_2.34"})}}, "needs GLIBC_2.34 .* promises glibc 2.28"),
        (GLIBC, {"versions": {"libx": frozenset({"GLIBCXX_3.4"})}}, "needs GLIBCXX_3.4"),
        (GLIBC, {"imports": frozenset({"memcpy"})}, "has exp of its own, slower"),
        (GLIBC, {"paths": ("/opt/lib",)}, "looks for libraries in /opt/lib"),
        (GLIBC, {"has_executable_stack": True}, "wants a stack that can be executed"),
        (GLIBC, {"exports": frozenset({"PyInit__core", "lw_add"})}, "shows 1 names to other libraries, lw_add"),
        (MUSL, {"needed": frozenset({"libc.so.6"})}, "needs the library libc.so.6"),
        (MUSL, {"versions": {"libc.so": frozenset({"GLIBC_2.14"})}}, "promises no glibc"),
        (MUSL, {"imports": frozenset({"preadv2"})}, "calls preadv2, which musl has only since 1.2.5"),
    ],
)
def test_what_a_target_does_not_promise_is_a_fault(target, change, fault):
    clean = CLEAN if target is GLIBC else CLEAN_MUSL
    assert not [*wheel_rules.faults_of_linking(clean, target)]
    (found,) = wheel_rules.faults_of_linking(dataclasses.replace(clean, **change), target)
    assert re.search(fault, found)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("PyUnicode_AsUTF8", "uses PyUnicode_AsUTF8, which is not in Python's stable ABI"),
        ("PyList_GetItemRef", "uses PyList_GetItemRef, which is in the stable ABI since 3.13 only"),
        ("_PyLong_Sign", "uses _PyLong_Sign, which is not in Python's stable ABI"),
        ("PyObject_GetBuffer", None),
    ],
)
def test_symbols_beyond_the_stable_abi_are_faults(name, fault):
    made = dataclasses.replace(CLEAN, imports=CLEAN.imports | {name})
    assert [*wheel_rules.faults_of_stable_abi(made, 12)] == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("code", "end", "beyond"),
    [
        (ADD_SSE2, "", set()),
        (ADD_AVX, "", {"avx", "novlx"}),
        (FUSED, "", {"avx"}),
        (SHUFFLE, "", {"ssse3"}),
        (COUNT, "", {"popcnt"}),
        (ADD_AVX + FUSED + SHUFFLE, "_avx2.cpp", set()),
        (ADD_AVX + ADD_AVX512, "_avx2.cpp", {"avx512"}),
        (ADD_AVX + ADD_AVX512, "_avx512.cpp", set()),
    ],
)
def test_instructions_beyond_the_baseline_are_found(code, end, beyond):
    allowed = wheel_targets.DISPATCHED.get(end, frozenset())
    found = wheel_elf.groups_beyond(wheel_elf.Piece("x", ADD_SSE2 + code), "EM_X86_64", allowed)
    assert set(found) == beyond


@pytest.mark.parametrize("group", BEYOND_ARM)
def test_instructions_beyond_the_first_arm_of_64_bits_are_found(group):
    code = ADD_NEON + BEYOND_ARM[group].to_bytes(4, "little")
    assert set(wheel_elf.groups_beyond(wheel_elf.Piece("x", code), "EM_AARCH64", frozenset())) == {group}


def test_a_map_of_another_build_is_refused():
    with pytest.raises(ValueError, match="accounts for 0 of .* bytes of code; it is that of another build"):
        [*wheel_elf.read_pieces(Path(_core.__file__), "10 10 4 16 other.o:(.text)\n")]


def test_code_is_found_by_the_source_that_gave_it(tmp_path, monkeypatch):
    pieces = [wheel_elf.Piece(f"a/{name}.cpp.o", FUSED) for name in ("limbs_avx2", "plan")]
    monkeypatch.setattr(wheel_rules, "read_pieces", lambda *_: iter(pieces))
    (fault,) = wheel_rules.faults_of_code(tmp_path, "", "EM_X86_64")
    assert fault.startswith("a/plan.cpp.o has instructions of avx, which not every processor has: vfmadd231pd ")


@pytest.mark.parametrize(
    ("machine", "code", "frame"),
    [
        ("EM_X86_64", b"\x48\x81\xec\x68\xe8\x01\x00", 0x1E868),  # sub rsp, 0x1e868
        ("EM_X86_64", b"\x48\x81\xec\x00\x20\x01\x00", 0x12000),  # sub rsp, 0x12000
        ("EM_AARCH64", (0xD1407BFF).to_bytes(4, "little"), 0x1E000),  # sub sp, sp, #0x1e, lsl #12
        ("EM_AARCH64", (0xD10083FF).to_bytes(4, "little"), 0),  # sub sp, sp, #0x20
    ],
)
def test_functions_that_fill_the_stack_of_a_thread_are_faults(tmp_path, monkeypatch, machine, code, frame):
    piece = wheel_elf.Piece("a/plan.cpp.o", {"EM_X86_64": ADD_SSE2, "EM_AARCH64": ADD_NEON}[machine] + code)
    assert wheel_elf.largest_frame(piece, machine) == frame
    monkeypatch.setattr(wheel_rules, "read_pieces", lambda *_: iter([piece]))
    found = [*wheel_rules.faults_of_code(tmp_path, "", machine)]
    fault = f"a/plan.cpp.o has a function that takes {frame} bytes of stack, more than 73728"
    assert found == ([fault] if frame > 0x12000 else [])


def write_wheel(path, **more):
    """A wheel with an extension that is the one of this environment, and files by name."""
    files = {"latticework/__init__.py": b"", **more}
    rows = [[name, wheel_rules._digest(text), len(text)] for name, text in files.items()]
    record = io.StringIO()
    csv.writer(record).writerows([*rows, ["latticework-1.dist-info/RECORD", "", ""]])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr("latticework-1.dist-info/RECORD", record.getvalue())
    return path


def test_an_extension_of_this_machine_is_no_wheel_for_others(tmp_path, monkeypatch):
    """The extension that tests use is linked with this system's C++ library."""
    monkeypatch.setattr(wheel_build, "WORK", tmp_path)
    name = "latticework/_core.cpython-311-x86_64-linux-gnu.so"
    path = write_wheel(
        tmp_path / "latticework-1-cp311-cp311-manylinux_2_28_x86_64.whl",
        **{name: Path(_core.__file__).read_bytes(), "other.py": b""},
    )
    found = "\n".join(wheel_rules.faults(path))
    assert "needs the library libstdc++.so.6" in found
    assert "has other.py, which is not the package's" in found
    assert "cannot be checked for instructions" in found
    path = path.rename(tmp_path / "latticework-1-cp312-abi3-manylinux_2_28_x86_64.whl")
    assert "not latticework/_core.abi3.so alone" in "\n".join(wheel_rules.faults(path))
    assert [*wheel_rules.faults(tmp_path / "other.whl")] == ["is not named as a wheel of latticework"]


def test_a_record_that_differs_is_a_fault(tmp_path):
    path = write_wheel(tmp_path / "x.whl", **{"latticework/_core.abi3.so": b"1"})
    with zipfile.ZipFile(path) as wheel:
        assert not [*wheel_rules.faults_of_contents(wheel, ".abi3.so")]
        contents = {name: wheel.read(name) for name in wheel.namelist()}
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in contents.items():
            wheel.writestr(name, text + b"#" if name.endswith(".py") else text)
        wheel.writestr("latticework/more.py", "")
    with zipfile.ZipFile(path) as wheel:
        found = [*wheel_rules.faults_of_contents(wheel, ".abi3.so")]
    assert found == [
        "has or lists latticework/more.py without the other",
        "has another latticework/__init__.py than its record says",
    ]


def test_targets_are_those_of_the_tags():
    assert [wheel_targets.target_of(target.platform) for target in wheel_targets.TARGETS] == [*wheel_targets.TARGETS]
    with pytest.raises(ValueError, match="win_amd64 is none of manylinux_2_28_x86_64"):
        wheel_targets.target_of("win_amd64")
