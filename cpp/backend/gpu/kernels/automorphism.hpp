// x -> x(X^g) on limbs in NTT form: a permutation of positions, the same for all limbs, and for all arithmetics.
#pragma once

#include "backend/gpu/arithmetic.hpp"
#include "backend/gpu/kernels/limbs.hpp"

namespace lw::gpu {

/// The position of x whose value x(X^g) takes at position i. Words of an aligned power of two come from such words, so
/// that the threads of a warp read whole sectors.
LW_GPU std::uint32_t automorphism_index(std::uint32_t i, std::uint32_t galois_element,
                                        std::uint32_t log_degree) noexcept {
  const std::uint32_t exponent = (2 * bit_reverse(i, log_degree) + 1) * galois_element;
  return bit_reverse(exponent >> 1 & ((std::uint32_t{1} << log_degree) - 1), log_degree);
}

struct Automorphism : OnePhase {
  static constexpr char kName[] = "automorphism";
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Target out;
    Source a;
    std::uint32_t galois_element, log_degree;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place), j = place.block[1], poly = place.block[2];
    const std::uint32_t from = automorphism_index(i, args.galois_element, args.log_degree);
    args.out.limb(poly, j).store(i, args.a.limb(poly, j).load(from));
  }
};

}  // namespace lw::gpu
