// The arithmetic of `cpu`, limb by limb: one table for each instruction set, chosen once at run time. Batching, threads
// and broadcasting are above it. Limbs are 8-byte aligned at least; their length n is a multiple of four vectors except
// where said otherwise. `out` may alias inputs, and ranges are those of prime.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/accumulator.hpp"
#include "backend/cpu/limb_sums.hpp"
#include "backend/cpu/prime.hpp"
#include "backend/cpu/tables.hpp"
#include "math/chacha20.hpp"
#include "math/fast_sum.hpp"

namespace lw::cpu {

/// A limb of packed coefficients, of which the first `count` are unpacked by vectors: a multiple of 8. `out` is aligned
/// to 64 bytes.
struct LimbToUnpack {
  Word* out;
  const std::byte* from;
  unsigned width;
  std::size_t count;
  bool all_reduced = true;        // false once a word was not below q
  FastSum::Sums* sums = nullptr;  // not null: get the stripes of whole steps, one step after the other
  std::size_t stripes = 0;        // that they got
};

constexpr std::size_t kExpandStep = 256;  // words

/// A function for each line of limb_kernels.def, which has their contracts.
struct LimbKernels {
#define LW_LIMB_KERNEL(result, name, parameters) result(*name) parameters noexcept;
#include "backend/cpu/limb_kernels.def"
};

/// The kernels for a machine with AVX2 and FMA.
extern const LimbKernels kAvx2Limbs;
/// The kernels for a machine with AVX-512 too, namely F, DQ, BW and VL; from degree kAvx512Degree on.
extern const LimbKernels kAvx512Limbs;
constexpr std::uint32_t kAvx512Degree = 32;
/// The kernels for 64-bit ARM, which always has NEON.
extern const LimbKernels kNeonLimbs;
constexpr std::uint32_t kMirroredDegree = 64;  // whose half has passes before its tails in any of them

}  // namespace lw::cpu
