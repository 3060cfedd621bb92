"""The machines that wheels are built for, and what a wheel may ask of each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A processor and a C library.

    name      as the command takes it;  compiler  what clang calls it;  processor  what CMake calls it
    platform  the tag of wheels;  suffix  of an extension's file name after that of Python
    libraries     that every such system has
    newest        of the versions of symbols, glibc alone
    symbols       version -> functions taken from the C library under it, though zig's own library has them too
    """

    name: str
    compiler: str
    processor: str
    platform: str
    suffix: str
    libraries: frozenset[str]
    newest: tuple[int, ...] = ()
    symbols: tuple[tuple[str, tuple[str, ...]], ...] = ()


GLIBC = frozenset({"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"})
MUSL = frozenset({"libc.so"})
# zig links a library of its own last. Once a division of 128 bits is taken from it, it brings copies of these along,
# which win over those of the C library: fma by software (keys take 1.4 times as long), other last bits of exp and log2.
FROM_LIBC = ("exp", "fma", "log2", "memcmp", "memmove", "memset", "strlen", "bcmp", "ceilf")

TARGETS = (
    Target(
        "linux-x86_64",
        "x86_64-linux-gnu.2.28",
        "x86_64",
        "manylinux_2_28_x86_64",
        "x86_64-linux-gnu",
        GLIBC | {"ld-linux-x86-64.so.2"},
        (2, 28),
        (("GLIBC_2.2.5", FROM_LIBC), ("GLIBC_2.14", ("memcpy",))),
    ),
    Target(
        "linux-aarch64",
        "aarch64-linux-gnu.2.28",
        "aarch64",
        "manylinux_2_28_aarch64",
        "aarch64-linux-gnu",
        GLIBC | {"ld-linux-aarch64.so.1"},
        (2, 28),
        (("GLIBC_2.17", (*FROM_LIBC, "memcpy")),),
    ),
    Target("musl-x86_64", "x86_64-linux-musl", "x86_64", "musllinux_1_2_x86_64", "x86_64-linux-musl", MUSL),
    Target("musl-aarch64", "aarch64-linux-musl", "aarch64", "musllinux_1_2_aarch64", "aarch64-linux-musl", MUSL),
)

# Functions of musl that came after 1.2.0, the oldest that musllinux_1_2 stands for.
NEWER_IN_MUSL = {
    "_Fork": "1.2.2",
    "gettid": "1.2.2",
    "reallocarray": "1.2.2",
    "pthread_getname_np": "1.2.3",
    "qsort_r": "1.2.3",
    "preadv2": "1.2.5",
    "pwritev2": "1.2.5",
    "statx": "1.2.5",
}

# Instruction sets that a source of this ending may use beside the baseline of its processor, as capstone names groups.
# `novlx` are encodings of AVX.
AVX2 = frozenset({"avx", "avx2", "fma", "novlx", "bmi", "bmi2", "sse3", "ssse3", "sse41", "sse42", "popcnt", "3dnow"})
DISPATCHED = {"_avx2.cpp": AVX2, "_avx512.cpp": AVX2 | {"avx512", "vlx", "bwi", "dqi"}}


def target_of(platform: str) -> Target:
    """The target of a platform tag; ValueError if wheels are not built for it."""
    for target in TARGETS:
        if target.platform == platform:
            return target
    raise ValueError(f"{platform} is none of {', '.join(t.platform for t in TARGETS)}")
