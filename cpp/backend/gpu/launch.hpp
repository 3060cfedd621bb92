// What the entries have in common: operands as kernels get them, and grids.
#pragma once

#include <algorithm>

#include "backend/gpu/queue.hpp"

namespace lw::gpu {

inline std::size_t degree_of(const GpuQueue& queue) noexcept { return queue.tables().degree(); }

inline Target result(const Rows& rows) noexcept { return {rows.base, rows.stride, rows.poly_stride}; }
/// Rows whose poly, if it is the only one, serves all.
inline Source operand(const ConstRows& rows) noexcept {
  return {rows.base, rows.stride, rows.polys == 1 ? 0 : rows.poly_stride};
}

/// Rows from number `first` on, of these limbs.
inline Rows rows_of(const Rows& rows, std::size_t first, std::span<const std::uint16_t> limbs) noexcept {
  return {rows.row(0, first), rows.stride, rows.poly_stride, limbs, rows.polys};
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

/// A thread for each word of a row, in blocks of at most `threads`; rows and polys, or what a kernel has in their
/// place.
inline Grid row_grid(std::size_t words, std::size_t rows, std::size_t polys,
                     std::size_t threads = kRowThreads) noexcept {
  const std::size_t in_block = std::min(threads, words);
  return {{static_cast<std::uint32_t>(words / in_block), static_cast<std::uint32_t>(rows),
           static_cast<std::uint32_t>(polys)},
          static_cast<std::uint32_t>(in_block)};
}
inline Grid row_grid(const GpuQueue& queue, const Rows& rows) noexcept {
  return row_grid(degree_of(queue), rows.limbs.size(), rows.polys);
}

}  // namespace lw::gpu
