// The table of LimbKernels for vectors of type V, whose transforms end in Tail. Comes after the vectors: templates of
// ChaCha20 call functions of theirs.
#pragma once

#include "backend/cpu/automorphism_simd.hpp"
#include "backend/cpu/embedding_simd.hpp"
#include "backend/cpu/limb_kernels.hpp"
#include "backend/cpu/matmul_simd.hpp"
#include "backend/cpu/ntt_simd.hpp"
#include "backend/cpu/pointwise_simd.hpp"
#include "backend/cpu/residues_simd.hpp"
#include "backend/cpu/seeded_simd.hpp"
#include "backend/cpu/sums_simd.hpp"

namespace lw::cpu {
namespace {

template <class V, template <NttRanges> class Tail, const auto& kRanges>
struct LimbTransforms {
  static void ntt(Word* out, const Word* x, const NttTable& table) noexcept {
    with_ranges<V, Tail, kRanges>(table, [&](const auto& transform) noexcept { transform.forward(out, x); });
  }
  static void intt(Word* out, const Word* x, const NttTable& table) noexcept {
    with_ranges<V, Tail, kRanges>(table, [&](const auto& transform) noexcept { transform.inverse(out, x); });
  }
  static void ntt_mirrored(Word* out, const Word* x, const NttTable& table) noexcept {
    with_ranges<V, Tail, kRanges>(table, [&](const auto& transform) noexcept { transform.forward_mirrored(out, x); });
  }
};

template <class V, template <NttRanges> class Tail, const auto& kRanges>
constexpr LimbKernels limb_kernels_of() noexcept {
  return {
#define LW_LIMB_TRANSFORM(name, parameters) .name = LimbTransforms<V, Tail, kRanges>::name,
#define LW_LIMB_KERNEL(result, name, parameters) .name = name<V>,
#include "backend/cpu/limb_kernels.def"
  };
}

}  // namespace
}  // namespace lw::cpu
