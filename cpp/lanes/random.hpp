// Random numbers that are the same on every machine.
#pragma once

#include <cstdint>

namespace lw::lanes {

class Random {  // SplitMix64
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t x = (state_ += 0x9e3779b97f4a7c15U);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }
  // Below `limit`, which is positive.
  std::int32_t below(std::size_t limit) { return static_cast<std::int32_t>(((next() >> 32) * limit) >> 32); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace lw::lanes
