// The two halves of a lift, for kernels that share the first among many targets: split the source limbs into parts
// y_j and the quotient u, once; join these modulo each target limb.
#pragma once

#include <array>
#include <cstddef>

#include "backend/cpu/accumulator.hpp"
#include "backend/cpu/queue.hpp"

namespace lw::cpu {

constexpr std::size_t kMaxFrom = 240;  // limbs of a ring

/// The parts of one poly: row j belongs to table.from[j]; u follows them, unless there is only one part.
struct Parts {
  Word* base;
  std::size_t stride;

  Word* row(std::size_t j) const noexcept { return base + j * stride; }
};

inline bool has_quotient(const LiftTable& table) noexcept { return table.from.size() > 1; }
inline std::size_t num_part_rows(const LiftTable& table) noexcept { return table.from.size() + has_quotient(table); }

/// Words [start, start + size) of a poly of `in` into words [0, size) of the parts.
void split_rows(const CpuQueue& queue, const Parts& parts, const ConstRows& in, std::size_t poly, std::size_t start,
                std::size_t size, const LiftTable& table) noexcept;

/// What one target limb of a table needs: made once, used for any number of tiles.
class Joiner {
 public:
  Joiner(const CpuQueue& queue, const LiftTable& table, std::size_t target) noexcept;

  /// The words [start, start + size) of the parts, joined.
  void join(const CpuQueue& queue, Word* out, const Parts& parts, std::size_t start, std::size_t size) const noexcept;

 private:
  const NttTable& target_;
  std::size_t count_;  // of products
  bool separate_;      // the quotient begins the sum, and is not one of the products
  double quotient_weight_ = 0;
  Accumulator accumulator_{};
  std::array<double, kMaxFrom + 1> weights_;
};

}  // namespace lw::cpu
