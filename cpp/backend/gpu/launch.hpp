// Operands as GPU kernels get them, and grids of launches.
#pragma once

#include <algorithm>

#include "backend/gpu/queue.hpp"

namespace lw::gpu {

inline std::size_t degree_of(const GpuQueue& queue) noexcept { return queue.tables().degree(); }

inline Target result(const LimbView& view) noexcept { return {view.base, view.stride, view.poly_stride}; }
/// Limbs whose poly, if it is the only one, serves all.
inline Source operand(const ConstLimbView& view) noexcept {
  return {view.base, view.stride, view.polys == 1 ? 0 : view.poly_stride};
}

/// Limbs from number `first` on, of these limbs.
inline LimbView cut(const LimbView& view, std::size_t first, std::span<const std::uint16_t> limbs) noexcept {
  return {view.limb(0, first), view.stride, view.poly_stride, limbs, view.polys};
}

inline LimbNumbers numbers_of(std::span<const std::uint16_t> limbs) noexcept {
  LimbNumbers numbers = {};
  std::copy(limbs.begin(), limbs.end(), numbers.number);
  return numbers;
}

/// The word at rest of a canonical integer modulo a limb.
template <class A>
Word scalar_of(const GpuQueue& queue, std::uint16_t limb, Word value) noexcept {
  IntegerPrime prime = {};
  prime.value = queue.moduli()[limb].value();
  return A::to_word(A::from_canonical(value, prime));
}

/// A thread for each word of a limb, in blocks of at most `threads`; limbs and polys, or what a kernel has in their
/// place.
inline Grid limb_grid(std::size_t words, std::size_t limbs, std::size_t polys,
                      std::size_t threads = kLimbThreads) noexcept {
  const std::size_t in_block = std::min(threads, words);
  return {{static_cast<std::uint32_t>(words / in_block), static_cast<std::uint32_t>(limbs),
           static_cast<std::uint32_t>(polys)},
          static_cast<std::uint32_t>(in_block)};
}
inline Grid limb_grid(const GpuQueue& queue, const LimbView& view) noexcept {
  return limb_grid(degree_of(queue), view.limbs.size(), view.polys);
}

}  // namespace lw::gpu
