// Vector clocks (Mattern 1989): what is known to come before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lw::sim {

/// A vector clock: for every stream, by its number, the time up to which its work comes before.
class Clock {
 public:
  std::uint32_t at(std::uint32_t stream) const noexcept { return stream < times_.size() ? times_[stream] : 0; }

  void advance(std::uint32_t stream, std::uint32_t time) {
    if (stream >= times_.size()) times_.resize(stream + 1);
    times_[stream] = std::max(times_[stream], time);
  }

  void join(const Clock& other) {
    if (other.times_.size() > times_.size()) times_.resize(other.times_.size());
    for (std::size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
  }

 private:
  std::vector<std::uint32_t> times_;
};

}  // namespace lw::sim
