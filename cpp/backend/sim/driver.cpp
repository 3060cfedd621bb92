// The tables of C functions. Those that take the number of a device know their machine by the table they are in, of
// which there is a fixed number.
#include <array>
#include <atomic>
#include <utility>

#include "backend/sim/machine.hpp"
#include "backend/sim/simulator.hpp"

namespace lw::sim {
namespace {

constexpr std::size_t kTables = 8;
std::array<std::atomic<Machine*>, kTables> machines;  // nullptr: nobody's

template <std::size_t table, class... Parameters>
struct ByNumber {
  template <LwStatus (Machine::*function)(std::int32_t, Parameters...) noexcept>
  static LwStatus call(std::int32_t device, Parameters... parameters) {
    Machine* machine = machines[table].load();
    return machine != nullptr ? (machine->*function)(device, parameters...) : LW_LOST;
  }
};

template <std::size_t table>
const char* error_text(std::int32_t device, LwStatus status) {
  Machine* machine = machines[table].load();
  return machine != nullptr ? machine->error_text(device, status) : "the simulator is no more";
}

LwStatus count(std::int32_t* devices) {
  *devices = kDevices;
  return LW_OK;
}

template <Work::Kind kind>
LwStatus copy(LwStream* stream, void* to, const void* from, std::uint64_t bytes) {
  return stream->device->machine.copy(stream, kind, to, from, bytes);
}

template <std::size_t table>
void fill_table(LwDriver& driver) {
  driver.count = count;
  driver.describe = ByNumber<table, LwDeviceInfo*>::template call<&Machine::describe>;
  driver.error_text = error_text<table>;
  driver.memory_get = ByNumber<table, std::uint64_t, void**>::template call<&Machine::memory_get>;
  driver.memory_free = ByNumber<table, void*>::template call<&Machine::memory_free>;
  driver.mark = [](LwStream* stream, void* memory, std::uint64_t bytes, std::int32_t in_use) {
    return stream->device->machine.mark(stream, memory, bytes, in_use);
  };
  driver.pinned_get = ByNumber<table, std::uint64_t, void**>::template call<&Machine::pinned_get>;
  driver.pinned_free = ByNumber<table, void*>::template call<&Machine::pinned_free>;
  driver.stream_make = ByNumber<table, LwStream**>::template call<&Machine::stream_make>;
  driver.stream_free = [](LwStream* stream) { return stream->device->machine.stream_free(stream); };
  driver.stream_wait = [](LwStream* stream) { return stream->device->machine.stream_wait(stream); };
  driver.event_make = ByNumber<table, LwEvent**>::template call<&Machine::event_make>;
  driver.event_free = [](LwEvent* event) { return event->device->machine.event_free(event); };
  driver.event_record = [](LwEvent* event, LwStream* stream) {
    return stream->device->machine.event_record(event, stream);
  };
  driver.event_order = [](LwStream* stream, LwEvent* event) {
    return stream->device->machine.event_order(stream, event);
  };
  driver.event_wait = [](LwEvent* event) { return event->device->machine.event_wait(event); };
  driver.event_done = [](LwEvent* event, std::int32_t* done) { return event->device->machine.event_done(event, done); };
  driver.event_elapsed = [](LwEvent* from, LwEvent* to, double* seconds) {
    return from->device->machine.event_elapsed(from, to, seconds);
  };
  driver.upload = copy<Work::Kind::kUpload>;
  driver.download = copy<Work::Kind::kDownload>;
  driver.copy = copy<Work::Kind::kCopy>;
  driver.launch = [](LwStream* stream, const LwLaunch* launch) {
    return stream->device->machine.launch(stream, *launch);
  };
  driver.capture_begin = [](LwStream* stream) { return stream->device->machine.capture_begin(stream); };
  driver.capture_end = [](LwStream* stream, LwGraph** graph) {
    return stream->device->machine.capture_end(stream, graph);
  };
  driver.graph_replay = [](LwGraph* graph, LwStream* stream) {
    return stream->device->machine.graph_replay(graph, stream);
  };
  driver.graph_free = [](LwGraph* graph) { return graph->device->machine.graph_free(graph); };
}

/// Fills the machine's driver from a table that nobody has, which becomes the machine's.
template <std::size_t... table>
void take_table(Machine& machine, std::index_sequence<table...>) {
  const auto take = [&](std::size_t i, void (*fill)(LwDriver&)) {
    Machine* nobody = nullptr;
    if (!machines[i].compare_exchange_strong(nobody, &machine)) return false;
    fill(machine.driver);
    return true;
  };
  if ((take(table, fill_table<table>) || ...)) return;
  throw Error(ErrorKind::kValue, "there are " + std::to_string(kTables) + " simulators already");
}

}  // namespace

Simulator::Simulator(std::span<const gpu::HostKernel> kernels, const Options& options)
    : machine_(std::make_unique<Machine>(kernels, options)) {
  take_table(*machine_, std::make_index_sequence<kTables>());
}

Simulator::~Simulator() {
  for (auto& machine : machines) {
    Machine* mine = machine_.get();
    machine.compare_exchange_strong(mine, nullptr);
  }
  if (machine_->is_forked()) (void)machine_.release();  // its threads and locks are the parent's
}

const LwDriver& Simulator::driver() const noexcept { return machine_->driver; }

Counters Simulator::counters(std::int32_t device) const {
  return machine_->with_device(device, [](const Gpu& d) {
    Counters counters = d.counters;
    counters.live_bytes = d.live_bytes;
    for (const auto& [memory, piece] : d.pinned) counters.pinned_bytes += piece.first;
    return counters;
  });
}

void Simulator::reset_counters(std::int32_t device) {
  machine_->with_device(device, [](Gpu& d) {
    const std::size_t kernels = d.counters.launches.size();
    d.counters = {};
    d.counters.launches.resize(kernels);
  });
}

void Simulator::fail_allocations(std::int32_t device, std::uint64_t first, std::uint64_t count) {
  machine_->with_device(device, [&](Gpu& d) { d.allocation_failures = Demand(first, count); });
}

void Simulator::fail_launches(std::int32_t device, std::uint64_t first, std::uint64_t count) {
  machine_->with_device(device, [&](Gpu& d) { d.launch_failures = Demand(first, count); });
}

void Simulator::fail_copies(std::int32_t device, std::uint64_t first, std::uint64_t count) {
  machine_->with_device(device, [&](Gpu& d) { d.copy_failures = Demand(first, count); });
}

void Simulator::lose(std::int32_t device, std::uint64_t nth) {
  machine_->with_device(device, [&](Gpu& d) { d.loss = Demand(nth, 1); });
}

void Simulator::forget_failure(std::int32_t device) { machine_->forget_failure(device); }

Simulator& simulator(Order order, std::span<const gpu::HostKernel> kernels) {
  static std::mutex mutex;
  static std::array<Simulator*, 3> made = {};  // never destroyed: nothing says who uses them last
  const std::lock_guard lock(mutex);
  Simulator*& one = made[static_cast<std::size_t>(order)];
  if (one == nullptr) one = new Simulator(kernels, {order});
  return *one;
}

}  // namespace lw::sim
