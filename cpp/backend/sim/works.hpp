// The numbers of pieces of work, which the shadow of a memory holds, and what they stand for.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "backend/sim/clock.hpp"

namespace lw::sim {

/// A launch, a copy or a mark: its place in its stream, and what to call it.
struct WorkName {
  std::uint32_t stream, time;
  std::int32_t device;
  const char* kind;    // "kernel", "upload", ...
  const char* kernel;  // nullptr for the rest
};

std::string to_text(const WorkName& name);

/// Work is numbered from 1 in the order of the calls. What the host has waited for is forgotten as soon as all is done
/// that was called before the host waited: the rest comes after it. Safe to share between threads.
class Works {
 public:
  static constexpr std::uint32_t kMost = 0x7fffffff;

  /// Throws std::length_error after kMost.
  std::uint32_t add(const WorkName& name);
  /// The name of a piece of work; nullopt if all that is not done comes after it.
  std::optional<WorkName> find(std::uint32_t number) const;
  void set_done(std::uint32_t number);
  /// The host has waited for what comes before `host`.
  void forget(const Clock& host);

 private:
  struct Entry {
    WorkName name;
    bool done;
  };

  std::uint32_t next() const noexcept { return first_ + static_cast<std::uint32_t>(entries_.size()); }
  bool try_forget();

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::uint32_t first_ = 1;  // the number of entries_.front()
  std::uint32_t open_ = 1;   // the first that is not done
  Clock waited_;             // what is forgotten when all before waited_end_ is done
  std::uint32_t waited_end_ = 0;
};

}  // namespace lw::sim
