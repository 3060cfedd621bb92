// A simulated device: its memory, and the thread that carries out what streams hand over.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/sim/address_space.hpp"
#include "backend/sim/reader_sets.hpp"
#include "backend/sim/simulator.hpp"
#include "backend/sim/stream.hpp"
#include "backend/sim/works.hpp"

namespace lw::sim {

/// Calls that fail on demand.
class Demand {
 public:
  Demand() = default;
  /// The `first`-th from now on, from 1, and the `count` - 1 after it; none for 0.
  Demand(std::uint64_t first, std::uint64_t count) : before_(first - (first != 0)), left_(first != 0 ? count : 0) {}

  /// Whether this call is one of them.
  bool applies() noexcept {
    if (left_ == 0) return false;
    if (before_ != 0) {
      --before_;
      return false;
    }
    --left_;
    return true;
  }

 private:
  std::uint64_t before_ = 0, left_ = 0;
};

/// The machine's lock guards all of it, apart from `addresses` and what the worker has taken.
class Gpu {
 public:
  Gpu(Machine& owner, std::int32_t its_number, Works& works, std::mutex& mutex, Order order);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Hands work over to the worker, which will do it.
  void hand_over(Work work);
  /// Waits until all is done that was handed over before the call; what it found wrong shows from then on.
  void finish(std::unique_lock<std::mutex>& lock);
  /// Ends when the worker has let it go.
  void dispose(std::unique_ptr<Piece> piece);

  Machine& machine;
  const std::int32_t number;
  AddressSpace addresses;
  std::map<LwStream*, std::unique_ptr<LwStream>> streams;
  std::map<LwEvent*, std::unique_ptr<LwEvent>> events;
  std::map<LwGraph*, std::unique_ptr<LwGraph>> graphs;
  std::map<void*, std::pair<std::uint64_t, std::unique_ptr<std::byte, FreeCells>>> pinned;  // bytes, memory
  std::uint64_t live_bytes = 0;
  Counters counters;
  Demand allocation_failures, launch_failures, copy_failures, loss;
  bool lost = false;
  bool shows_failure = false;  // the host has waited since it was found
  std::string failure;         // the first of what was carried out
  std::string last_error;

 private:
  void work();
  std::string carry_out(const Work& work);

  Works& works_;
  std::mutex& mutex_;
  const Order order_;
  ReaderSets sets_;
  std::condition_variable wake_;
  std::deque<Work> queue_;
  std::uint64_t handed_over_ = 0, done_ = 0;
  bool busy_ = false, stop_ = false;
  std::vector<std::unique_ptr<Piece>> disposed_;
  std::thread worker_;
};

}  // namespace lw::sim
