#include "maps/codes.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace lw::maps {
namespace {

/// A set of codes below a size: a bit map where so many are added that a scan of all its words takes no longer, else a
/// list that is sorted now and then.
class CodeSet {
 public:
  CodeSet(std::int64_t size, std::size_t added)
      : is_bits_(size <= kMostBits && static_cast<std::size_t>(size) / 64 <= kWordsAnElement * added) {
    if (is_bits_) bits_.assign(static_cast<std::size_t>(size + 63) / 64, 0);
  }

  void add(std::int64_t code) {
    const auto place = static_cast<std::size_t>(code);
    if (is_bits_) {
      bits_[place / 64] |= std::uint64_t{1} << (place % 64);
      return;
    }
    list_.push_back(code);
    if (list_.size() >= limit_) tidy();
  }

  std::vector<std::int64_t> ascending() {
    if (!is_bits_) {
      tidy();
      return std::move(list_);
    }
    std::vector<std::int64_t> found;
    for (std::size_t word = 0; word < bits_.size(); ++word) {
      for (std::uint64_t left = bits_[word]; left != 0; left &= left - 1) {
        found.push_back(static_cast<std::int64_t>(64 * word) + std::countr_zero(left));
      }
    }
    return found;
  }

 private:
  static constexpr std::int64_t kMostBits = std::int64_t{1} << 28;
  static constexpr std::size_t kWordsAnElement = 16;

  void tidy() {
    std::sort(list_.begin(), list_.end());
    list_.erase(std::unique(list_.begin(), list_.end()), list_.end());
    limit_ = 2 * list_.size() + (std::size_t{1} << 20);
  }

  bool is_bits_;
  std::size_t limit_ = std::size_t{1} << 20;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int64_t> list_;
};

std::int64_t plus(std::int64_t a, std::int64_t b, std::int64_t low) {
  return ((a & ~low) + (b & ~low)) | ((a + b) & low);
}

std::int64_t largest(Codes codes) { return codes.empty() ? 0 : *std::max_element(codes.begin(), codes.end()); }

/// The best output for each number of steps to the first output that shares a sum: the fewest steps to any of them,
/// times the number of outputs, plus the number of that one. Outputs whose steps are alike modulo their distance choose
/// among the same numbers.
std::vector<std::int64_t> shared(Codes nearest, std::int64_t spread) {
  const auto slots = static_cast<std::int64_t>(nearest.size()), width = slots / spread;
  std::vector<std::int64_t> best(nearest.size());
  for (std::int64_t residue = 0; residue < width; ++residue) {
    const auto at = [&](std::int64_t rotation) { return static_cast<std::size_t>(residue + rotation * width); };
    std::int64_t least = nearest[at(0)], place = 0;
    for (std::int64_t rotation = 1; rotation < spread; ++rotation) {
      if (nearest[at(rotation)] <= least)
        least = nearest[at(rotation)], place = rotation;  // the last of them, to begin with
    }
    for (std::int64_t rotation = 0; rotation < spread; ++rotation) {
      if (nearest[at(rotation)] == least) place = rotation;
      best[at(rotation)] = least * spread + (rotation >= place ? rotation - place : rotation - place + spread);
    }
  }
  return best;
}

}  // namespace

std::vector<std::int64_t> sum_codes(Codes a, Codes b, std::int64_t slots) {
  const std::int64_t low = slots - 1;
  CodeSet seen((largest(a) & ~low) + (largest(b) & ~low) + slots, a.size() * b.size());
  for (const std::int64_t x : a) {
    for (const std::int64_t y : b) seen.add(plus(x, y, low));
  }
  return seen.ascending();
}

std::vector<std::int64_t> settle_codes(Codes totals, Codes rows, std::int64_t copies, Codes nearest,
                                       std::int64_t spread, std::int64_t pairs) {
  const auto slots = static_cast<std::int64_t>(nearest.size()), low = slots - 1;
  const int bits = std::countr_zero(static_cast<std::uint64_t>(slots));
  const std::vector<std::int64_t> best = shared(nearest, spread);
  CodeSet seen(pairs * slots, totals.size() * (rows.size() / static_cast<std::size_t>(copies)));
  for (const std::int64_t total : totals) {
    for (std::size_t row = 0; row < rows.size(); row += static_cast<std::size_t>(copies)) {
      std::int64_t least = -1;
      for (const std::int64_t move : rows.subspan(row, static_cast<std::size_t>(copies))) {
        const std::int64_t code = plus(total, move, low);
        const std::int64_t order = best[static_cast<std::size_t>(code & low)] * pairs + (code >> bits);
        if (least < 0 || order < least) least = order;
      }
      seen.add((least % pairs) << bits | least / pairs / spread);
    }
  }
  return seen.ascending();
}

}  // namespace lw::maps
