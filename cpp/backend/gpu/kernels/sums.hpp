// Sums of any number of products, a few sums at a time.
#pragma once

#include "backend/gpu/arithmetic.hpp"

namespace lw::gpu {

/// A few sums of products of residues modulo one prime: each is as an arithmetic's Sum, which takes some products and
/// is then to be reduced. Those of all sums are added together, so that how many there were is counted once.
template <class A, std::uint32_t kCount>
class Sums {
 public:
  using Value = typename A::Value;

  LW_GPU explicit Sums(const typename A::SumLimits& limits) noexcept : limits_(limits), room_(A::most_terms(limits)) {
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kCount; ++i) begin(i, A::zero());
  }
  /// Sets sum i to `value`, before anything is added to it.
  LW_GPU void begin(std::uint32_t i, Value value) noexcept { sums_[i] = typename A::Sum(limits_, value); }

  /// add(t, sums) for t = 0 .. count - 1, which adds at most one product to each of them.
  template <class Add>
  LW_GPU void add(std::uint32_t count, const typename A::Prime& prime, const Add& add) noexcept {
    for (std::uint32_t first = 0; first < count;) {
      if (room_ == 0) reduce(prime);
      const std::uint32_t left = count - first, end = first + (left < room_ ? left : room_);
      LW_GPU_UNROLL_BY_4
      for (std::uint32_t t = first; t < end; ++t) add(t, sums_);
      room_ -= end - first;
      first = end;
    }
  }
  LW_GPU Value value(std::uint32_t i, const typename A::Prime& prime) const noexcept {
    return sums_[i].value(limits_, prime);
  }

 private:
  LW_GPU void reduce(const typename A::Prime& prime) noexcept {
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kCount; ++i) begin(i, value(i, prime));
    room_ = A::most_terms(limits_);
  }

  const typename A::SumLimits limits_;
  std::uint32_t room_;  // products that each sum takes before it is to be reduced
  typename A::Sum sums_[kCount];
};

}  // namespace lw::gpu
