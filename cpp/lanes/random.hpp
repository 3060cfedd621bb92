// Random numbers whose sequence is the same with every compiler and library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lw::lanes {

/// SplitMix64 (Steele, Lea, Flood 2014): for searches, not for secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// A random integer in [0, bound); the bias of bound / 2^32 does not matter here.
  std::int32_t below(std::size_t bound) {
    return static_cast<std::int32_t>(((bits() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }

  /// A random number in [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace lw::lanes
