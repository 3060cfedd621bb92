// Streams, events and graphs: work that was called and is not yet carried out.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "backend/gpu/driver.h"
#include "backend/sim/clock.hpp"
#include "backend/sim/kernel_run.hpp"

namespace lw::sim {

class Gpu;
class Machine;

/// One record of an event. The machine's lock guards all that changes.
struct Signal {
  LwStream* stream = nullptr;  // where it waits; not looked at once it was handed over
  Clock clock;                 // what comes before it, and the record itself
  bool handed_over = false;    // to the worker
  bool done = false;
  std::chrono::steady_clock::time_point when;
};

/// Something called on a stream.
struct Work {
  enum class Kind { kLaunch, kUpload, kDownload, kCopy, kMark, kRecord, kAwait };

  Kind kind;
  std::uint32_t number = 0;                      // in Works; 0 for records and awaits
  std::shared_ptr<const Clock> clock = nullptr;  // what comes before it, apart from its own stream
  Launch launch = {};
  void* to = nullptr;
  const void* from = nullptr;
  std::uint64_t bytes = 0;
  bool in_use = false;
  std::uint64_t seed = 0;
  std::shared_ptr<Signal> signal = nullptr;

  bool touches_host() const noexcept { return kind == Kind::kUpload || kind == Kind::kDownload; }
};

}  // namespace lw::sim

struct LwGraph {
  lw::sim::Gpu* device;
  std::vector<lw::sim::Work> works = {};
  std::shared_ptr<lw::sim::Signal> last = nullptr;  // after the last replay
};

struct LwStream {
  lw::sim::Gpu* device;
  std::uint32_t number;
  std::uint32_t time = 0;                                                            // of what was called last
  std::shared_ptr<const lw::sim::Clock> clock = std::make_shared<lw::sim::Clock>();  // what comes before what follows
  std::uint64_t host_version = 0;                                                    // of the host's clock in it
  std::deque<lw::sim::Work> pending = {};                                            // not handed over
  std::unique_ptr<LwGraph> capture = nullptr;                                        // while it lasts
};

struct LwEvent {
  lw::sim::Gpu* device;
  std::shared_ptr<lw::sim::Signal> signal = nullptr;  // of the last record
};
