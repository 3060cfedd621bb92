// One or minus one at a position, and zero elsewhere: monomials, and zero.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"

namespace lw::gpu {

template <class A>
struct Monomial : OnePhase {
  static constexpr KernelName kName{A::kName, "monomial"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Tables tables;
    Target out;
    LimbNumbers limbs;
    std::uint32_t place;  // the degree or more: nowhere
    std::uint32_t is_negative;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place), j = place.block[1];
    typename A::Value value = A::zero();
    if (i == args.place) {
      const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
      value = A::from_canonical(args.is_negative != 0 ? prime.value - 1 : 1, prime);
    }
    args.out.limb(place.block[2], j).store(i, A::to_word(value));
  }
};

}  // namespace lw::gpu
