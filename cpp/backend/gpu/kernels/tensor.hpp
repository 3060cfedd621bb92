// Products of two values of two polynomials each: every word is read once.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"

namespace lw::gpu {

template <class A>
struct TensorProduct : OnePhase {
  static constexpr KernelName kName{A::kName, "tensor_product"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Tables tables;
    Target out;
    Source a, b;
    LimbNumbers limbs;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    using Value = typename A::Value;
    const std::uint32_t i = word_of(place), j = place.block[1];
    const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
    const Value a0 = A::from_word(args.a.limb(0, j).load(i)), a1 = A::from_word(args.a.limb(1, j).load(i));
    const Value b0 = A::from_word(args.b.limb(0, j).load(i)), b1 = A::from_word(args.b.limb(1, j).load(i));
    args.out.limb(0, j).store(i, A::to_word(A::mul(a0, b0, prime)));
    args.out.limb(1, j).store(i, A::to_word(A::mul_add(a1, b0, A::mul(a0, b1, prime), prime)));
    args.out.limb(2, j).store(i, A::to_word(A::mul(a1, b1, prime)));
  }
};

}  // namespace lw::gpu
