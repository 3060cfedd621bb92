// Simulated GPUs: a driver whose devices carry out kernels on the host and check every access, so that what is wrong
// by chance on a GPU is wrong here each time, and says why.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/gpu/driver.h"
#include "backend/gpu/host_kernel.hpp"

namespace lw::sim {

inline constexpr std::int32_t kDevices = 2;

/// The order in which the blocks of a kernel run, and the threads of a block in each phase.
enum class Order { kForward, kReversed, kShuffled };

struct Options {
  Order order = Order::kForward;
  std::uint64_t seed = 1;  // of shuffled orders, and of when and in what order streams are served
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  // of each device
};

/// The requests that a device has served, counted.
struct Counters {
  std::uint64_t allocations = 0, frees = 0;
  std::uint64_t bytes_up = 0, bytes_down = 0;
  std::uint64_t host_waits = 0, replays = 0;
  std::uint64_t live_bytes = 0, pinned_bytes = 0;  // that were got and not given back, whenever that was
  std::vector<std::uint64_t> launches;             // of each kernel, those of replays too
};

class Machine;

/// Two devices. Every function may be called from any thread. What a kernel or a copy did wrong is found when it is
/// carried out and kept: from the next call that waits on, all calls on the device give LW_FAILED with its message.
///
/// Streams are served late and in an order drawn from the seed; whatever touches memory of the host is held back until
/// the host waits. The same calls of one thread are served in the same order each time.
class Simulator {
 public:
  /// The table of kernels must outlive this. Throws lw::Error if there is no memory, or too many simulators.
  Simulator(std::span<const gpu::HostKernel> kernels, const Options& options);
  /// Drops what was not yet carried out. Nobody may call the driver meanwhile or later.
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  const LwDriver& driver() const noexcept;

  Counters counters(std::int32_t device) const;
  void reset_counters(std::int32_t device);

  /// Makes later calls fail: from now on, the `first`-th call (from 1) and the `count` - 1 after it, memory_get and
  /// pinned_get with LW_OUT_OF_MEMORY, launch and all copies with LW_FAILED. `first` 0: none.
  void fail_allocations(std::int32_t device, std::uint64_t first, std::uint64_t count = UINT64_MAX);
  void fail_launches(std::int32_t device, std::uint64_t first, std::uint64_t count = UINT64_MAX);
  void fail_copies(std::int32_t device, std::uint64_t first, std::uint64_t count = UINT64_MAX);
  /// Loses the device from the `nth` call on (from 1), of whatever function; 0: from none.
  void lose(std::int32_t device, std::uint64_t nth = 1);
  /// Forgets the failure of a kernel or a copy, or that the device was lost: it is as before, and what was called on it
  /// meanwhile is not carried out.
  void forget_failure(std::int32_t device);

 private:
  std::unique_ptr<Machine> machine_;
};

/// The simulator of an order with the kernels that its first call names; it is there until the process ends. Throws as
/// the constructor does.
Simulator& simulator(Order order, std::span<const gpu::HostKernel> kernels);

}  // namespace lw::sim
