// The two halves of a base conversion, for kernels that share the first among many targets: split the source limbs into
// parts y_j and the quotient u, once; join these modulo each target limb.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "backend/accumulator.hpp"
#include "backend/cpu/queue.hpp"

namespace lw::cpu {

constexpr std::size_t kMaxFrom = 240;  // limbs of a ring

/// The parts of one poly: limb j belongs to table.from[j]; u follows them, unless there is only one part.
struct Parts {
  Word* base;
  std::size_t stride;

  Word* limb(std::size_t j) const noexcept { return base + j * stride; }
};

inline bool has_quotient(const BaseConversionTable& table) noexcept { return table.from.size() > 1; }
inline std::size_t num_part_limbs(const BaseConversionTable& table) noexcept {
  return table.from.size() + has_quotient(table);
}

/// Words [start, start + size) of a poly of `in` into words [0, size) of the parts.
void split_limbs(const CpuQueue& queue, const Parts& parts, const ConstLimbView& in, std::size_t poly,
                 std::size_t start, std::size_t size, const BaseConversionTable& table) noexcept;

/// Words of a limb that are joined for one target before the next, such that the parts stay in the nearest
/// caches.
std::size_t join_tile(std::size_t part_limbs, std::size_t degree) noexcept;
constexpr std::size_t kJoinWords = 6144;  // of all limbs of a tile together
constexpr std::size_t kLeastTile = 32;

/// Constants for one target limb of a table: made once, used for any number of tiles.
class Joiner {
 public:
  Joiner(const CpuQueue& queue, const BaseConversionTable& table, std::size_t target) noexcept;

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

/// Some target limbs of one poly, joined together: parts, which do not fit the caches, are read once for all of them.
class JoinGroup {
 public:
  static constexpr std::size_t kMost = 4;  // so that what is joined is still near when it is transformed

  /// The number of targets at a time that suits `count` of them: one if the parts do fit the caches, and each thread
  /// gets more than one group.
  static std::size_t size(const CpuQueue& queue, std::size_t count) noexcept {
    if (queue.degree < 1 << 14) return 1;
    return std::clamp<std::size_t>(count / (2 * queue.pool.threads()), 1, kMost);
  }

  /// Target limb table.to[target], whose words go to `out`.
  void add(const CpuQueue& queue, const BaseConversionTable& table, std::size_t target, Word* out) noexcept {
    joiners_[count_].emplace(queue, table, target);
    outs_[count_] = out;
    limbs_[count_++] = table.to[target];
  }
  bool empty() const noexcept { return count_ == 0; }
  /// Joins all of the limbs, and transforms them.
  void run(const CpuQueue& queue, const Parts& parts, std::size_t part_limbs) const noexcept {
    run(queue, parts, part_limbs, [](std::size_t) noexcept {});
  }
  /// after(i) follows the transform of the i-th limb, which is near then.
  template <class After>
  void run(const CpuQueue& queue, const Parts& parts, std::size_t part_limbs, const After& after) const noexcept {
    join(queue, parts, part_limbs);
    for (std::size_t i = 0; i < count_; ++i) {
      queue.limb.ntt(outs_[i], outs_[i], queue.ntt[limbs_[i]]);
      after(i);
    }
  }

 private:
  void join(const CpuQueue& queue, const Parts& parts, std::size_t part_limbs) const noexcept;

  std::size_t count_ = 0;
  std::array<std::optional<Joiner>, kMost> joiners_;
  std::array<Word*, kMost> outs_;
  std::array<std::uint16_t, kMost> limbs_;
};

}  // namespace lw::cpu
