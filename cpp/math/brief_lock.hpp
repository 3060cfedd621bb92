// The lock of what all threads share and look at for a moment.
#pragma once

#include <mutex>

namespace lw {

/// One lock of the process. Nothing that takes a lock of its own, or waits, may be called under it: a fork waits for
/// it, so that the child finds it free, and what it guards whole.
class BriefLock {
 public:
  BriefLock() noexcept;

 private:
  const std::lock_guard<std::mutex> lock_;
};

}  // namespace lw
