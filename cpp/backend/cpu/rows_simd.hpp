// The table of RowKernels for vectors of type V, whose transforms end in Tail.
#pragma once

#include "backend/cpu/automorphism_simd.hpp"
#include "backend/cpu/embedding_simd.hpp"
#include "backend/cpu/ntt_simd.hpp"
#include "backend/cpu/pointwise_simd.hpp"
#include "backend/cpu/residues_simd.hpp"
#include "backend/cpu/row_kernels.hpp"
#include "backend/cpu/seeded_simd.hpp"
#include "backend/cpu/sums_simd.hpp"

namespace lw::cpu {
namespace {

template <class V, template <NttRanges> class Tail, const auto& kRanges>
constexpr RowKernels row_kernels_of() noexcept {
  return {
      .ntt =
          [](Word* out, const Word* x, const NttTable& table) noexcept {
            with_ranges<V, Tail, kRanges>(table, [&](const auto& transform) noexcept { transform.forward(out, x); });
          },
      .intt =
          [](Word* out, const Word* x, const NttTable& table) noexcept {
            with_ranges<V, Tail, kRanges>(table, [&](const auto& transform) noexcept { transform.inverse(out, x); });
          },
      .ntt_mirrored =
          [](Word* out, const Word* x, const NttTable& table) noexcept {
            with_ranges<V, Tail, kRanges>(table,
                                          [&](const auto& transform) noexcept { transform.forward_mirrored(out, x); });
          },
      .add = add<V>,
      .sub = sub<V>,
      .neg = neg<V>,
      .mul = mul<V>,
      .mul_add = mul_add<V>,
      .mul_scalar = mul_scalar<V>,
      .add_scalar = add_scalar<V>,
      .sub_scale = sub_scale<V>,
      .automorphism = automorphism<V>,
      .split = split<V>,
      .join = join<V>,
      .dot = dot<V>,
      .pair_dot = pair_dot<V>,
      .import_signed = import_signed<V>,
      .from_canonical = from_canonical<V>,
      .to_canonical = to_canonical<V>,
      .unpack = unpack<V>,
      .expand = expand<V>,
      .embed = embed<V>,
      .unembed = unembed<V>,
  };
}

}  // namespace
}  // namespace lw::cpu
