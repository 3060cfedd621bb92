// Bounds how far a queue runs ahead of its device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "backend/gpu/driver.h"

namespace lw::gpu {

class Card;

/// A limit on the calls that are under way on a queue: an event is recorded after every few calls, and while the events
/// of the last few are not done, enough was called. Safe to share between threads.
class Pace {
 public:
  Pace(Card& card, int queue) noexcept : card_(card), queue_(queue) {}
  ~Pace();
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;

  bool is_behind() noexcept;

 private:
  static constexpr std::size_t kEvery = 64;  // calls
  static constexpr std::size_t kMarks = 4;   // that may be under way

  Card& card_;
  const int queue_;
  std::mutex mutex_;
  std::array<LwEvent*, kMarks> marks_{};  // made when first needed, used in turn
  std::size_t next_ = 0;
  std::uint64_t marked_ = 0;  // calls before the last mark
};

}  // namespace lw::gpu
