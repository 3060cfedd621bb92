#include "backend/sim/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "backend/sim/text.hpp"

namespace lw::sim {
namespace {

constexpr std::size_t kPinnedAlignment = 512;

}  // namespace

Machine::Machine(std::span<const gpu::HostKernel> kernels, const Options& options)
    : driver(), process_(getpid()), kernels_(kernels), options_(options), random_(options.seed) {
  for (const gpu::HostKernel& kernel : kernels_) {
    kernel_names_.push_back(kernel.name);
    args_bytes_.push_back(kernel.args_bytes);
  }
  driver.version = LW_DRIVER_VERSION;
  driver.num_kernels = static_cast<std::uint32_t>(kernels_.size());
  driver.kernel_names = kernel_names_.data();
  driver.args_bytes = args_bytes_.data();
  for (std::int32_t i = 0; i < kDevices; ++i) {
    auto& device = devices_[static_cast<std::size_t>(i)];
    device = std::make_unique<Gpu>(*this, i, works_, mutex_, options_.order);
    device->counters.launches.resize(kernels_.size());
  }
}

Machine::~Machine() = default;

bool Machine::is_forked() const noexcept { return getpid() != process_; }

LwStatus Machine::describe(std::int32_t number, LwDeviceInfo* info) noexcept {
  return call(at(number), When::kSound, [&](Gpu& device, Lock&) {
    *info = {};
    std::snprintf(info->name, sizeof info->name, "simulated GPU %d", static_cast<int>(number));
    info->total_bytes = options_.memory_bytes;
    info->free_bytes = options_.memory_bytes - device.live_bytes;
    info->l2_bytes = std::uint64_t{50} << 20;
    info->multiprocessors = 8;
    info->shared_bytes = kSharedBytes;
    info->has_clusters = 1;
  });
}

const char* Machine::error_text(std::int32_t number, LwStatus status) noexcept {
  static thread_local std::string kept;  // by each thread until its next call
  const Gpu* device = at(number);
  if (is_forked()) return "a process made by fork has no simulated devices: their threads stay with its parent";
  if (device == nullptr) return "there is no such device: a simulator has two";
  if (status == LW_OK) return "no failure";
  const Lock lock(mutex_);
  kept = device->lost ? text("device ", number, " was lost") : device->last_error;
  return kept.c_str();
}

LwStatus Machine::memory_get(std::int32_t number, std::uint64_t bytes, void** memory) noexcept {
  return call(at(number), When::kSound, [&](Gpu& device, Lock&) {
    if (bytes == 0) throw Refusal{LW_FAILED, "memory_get of no bytes"};
    if (device.allocation_failures.applies()) throw Refusal{LW_OUT_OF_MEMORY, "an allocation failed on demand"};
    const std::uint64_t free_bytes = options_.memory_bytes - device.live_bytes;
    const std::uintptr_t begin = bytes <= free_bytes ? device.addresses.get(bytes) : 0;
    if (begin == 0) {
      throw Refusal{LW_OUT_OF_MEMORY, text("no ", bytes, " bytes on device ", number, ": ", free_bytes, " are free")};
    }
    device.live_bytes += bytes;
    ++device.counters.allocations;
    *memory = reinterpret_cast<void*>(begin);
  });
}

LwStatus Machine::memory_free(std::int32_t number, void* memory) noexcept {
  return call(at(number), When::kAlways, [&](Gpu& device, Lock& lock) {
    if (memory == nullptr) return;
    wait_for_all(device, lock);
    std::unique_ptr<Piece> piece = device.addresses.take_away(reinterpret_cast<std::uintptr_t>(memory));
    if (piece == nullptr) throw Refusal{LW_FAILED, text("memory_free: no memory of the device begins at ", memory)};
    device.live_bytes -= piece->bytes;
    ++device.counters.frees;
    device.dispose(std::move(piece));
  });
}

LwStatus Machine::pinned_get(std::int32_t number, std::uint64_t bytes, void** memory) noexcept {
  return call(at(number), When::kSound, [&](Gpu& device, Lock&) {
    if (device.allocation_failures.applies()) throw Refusal{LW_OUT_OF_MEMORY, "an allocation failed on demand"};
    const std::uint64_t size = (bytes + kPinnedAlignment) / kPinnedAlignment * kPinnedAlignment;
    std::unique_ptr<std::byte, FreeCells> data(static_cast<std::byte*>(std::aligned_alloc(kPinnedAlignment, size)));
    if (data == nullptr) throw Refusal{LW_OUT_OF_MEMORY, text("no ", bytes, " bytes on the host")};
    poison(data.get(), size);
    *memory = data.get();
    device.pinned.emplace(*memory, std::pair{bytes, std::move(data)});
  });
}

LwStatus Machine::pinned_free(std::int32_t number, void* memory) noexcept {
  return call(at(number), When::kAlways, [&](Gpu& device, Lock& lock) {
    if (memory == nullptr) return;
    const auto found = device.pinned.find(memory);
    if (found == device.pinned.end()) throw Refusal{LW_FAILED, text("pinned_free: ", memory, " is no pinned memory")};
    const bool in_use = is_in_use(memory, found->second.first);
    if (in_use) wait_for_all(device, lock);
    device.pinned.erase(memory);
    if (in_use) throw Refusal{LW_FAILED, "pinned_free of memory that a copy uses, for which the host has not waited"};
  });
}

void Machine::forget_failure(std::int32_t number) {
  with_device(number, [](const Gpu&) {});
  Gpu& device = *at(number);
  Lock lock(mutex_);
  if (device.lost || !device.failure.empty()) wait_for_all(device, lock);  // all that is left is skipped
  device.failure.clear();
  device.shows_failure = false;
  device.lost = false;
}

void Machine::submit(LwStream& stream, Work work) {
  constexpr std::size_t kMuch = 256;
  if (stream.host_version != host_version_) {
    stream.host_version = host_version_;
    join(stream, host_);
  }
  ++stream.time;
  work.clock = stream.clock;
  if (work.kind == Work::Kind::kRecord) {
    work.signal->clock = *stream.clock;
    work.signal->clock.advance(stream.number, stream.time);
  } else if (work.kind != Work::Kind::kAwait) {
    count(stream, work);
  }
  stream.pending.push_back(std::move(work));
  if (stream.pending.size() < kMuch) {
    hand_over_some();
  } else {
    while (stream.pending.size() > kMuch / 2) hand_over_next(stream);
  }
}

/// Numbers the work and notes what it uses.
void Machine::count(LwStream& stream, Work& work) {
  static constexpr const char* kNames[] = {"kernel", "upload", "download", "copy", "mark"};
  Gpu& device = *stream.device;
  const gpu::HostKernel* kernel = work.launch.kernel;
  work.number = works_.add({stream.number, stream.time, device.number, kNames[static_cast<int>(work.kind)],
                            kernel != nullptr ? kernel->name : nullptr});
  if (kernel != nullptr) {
    ++device.counters.launches[static_cast<std::size_t>(kernel - kernels_.data())];
    work.seed = random_();
  } else if (work.kind == Work::Kind::kUpload) {
    device.counters.bytes_up += work.bytes;
  } else if (work.kind == Work::Kind::kDownload) {
    device.counters.bytes_down += work.bytes;
    if (!is_in_use(work.to, work.bytes)) poison(work.to, work.bytes);
  }
  if (work.touches_host()) {
    const auto begin = reinterpret_cast<std::uintptr_t>(
        work.kind == Work::Kind::kUpload ? work.from : const_cast<const void*>(work.to));
    host_uses_.push_back({begin, begin + work.bytes, stream.number, stream.time});
  }
}

bool Machine::is_in_use(const void* memory, std::uint64_t bytes) const noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return std::any_of(host_uses_.begin(), host_uses_.end(),
                     [&](const HostUse& use) { return use.begin < begin + bytes && begin < use.end; });
}

void Machine::join(LwStream& stream, const Clock& clock) {
  auto joined = std::make_shared<Clock>(*stream.clock);
  joined->join(clock);
  stream.clock = std::move(joined);
}

void Machine::know(const Clock& clock) {
  host_.join(clock);
  ++host_version_;
  works_.forget(host_);
  std::erase_if(host_uses_, [this](const HostUse& use) { return use.time <= host_.at(use.stream); });
}

void Machine::hand_over_next(LwStream& stream) {
  Work work = std::move(stream.pending.front());
  stream.pending.pop_front();
  if (work.kind == Work::Kind::kAwait) hand_over(*work.signal);
  if (work.kind == Work::Kind::kRecord) work.signal->handed_over = true;
  stream.device->hand_over(std::move(work));
}

void Machine::hand_over(const Signal& signal) {
  while (!signal.handed_over) hand_over_next(*signal.stream);
}

/// The streams of a device, or of both, that have something which was not handed over.
std::vector<LwStream*> Machine::waiting_streams(const Gpu* only) const {
  std::vector<LwStream*> waiting;
  for (const auto& device : devices_) {
    if (only != nullptr && device.get() != only) continue;
    for (const auto& [stream, owned] : device->streams) {
      if (!stream->pending.empty()) waiting.push_back(stream);
    }
  }
  std::sort(waiting.begin(), waiting.end(), [](auto* a, auto* b) { return a->number < b->number; });
  return waiting;
}

/// Now and then a few pieces of work, of streams that are drawn.
void Machine::hand_over_some() {
  if (draw(8) != 0) return;
  for (std::uint64_t left = draw(8) + 1; left != 0; --left) {
    std::vector<LwStream*> ready = waiting_streams(nullptr);
    std::erase_if(ready, [](const LwStream* stream) {
      const Work& work = stream->pending.front();
      return work.touches_host() || (work.kind == Work::Kind::kAwait && !work.signal->handed_over);
    });
    if (ready.empty()) return;
    hand_over_next(*ready[draw(ready.size())]);
  }
}

void Machine::hand_over_all(LwStream& stream) {
  while (!stream.pending.empty()) {
    if (draw(2) == 0) hand_over_some();
    if (!stream.pending.empty()) hand_over_next(stream);
  }
}

/// The clock of the end of all that was called on a stream.
Clock Machine::end_of(const LwStream& stream) {
  Clock clock = *stream.clock;
  clock.advance(stream.number, stream.time);
  return clock;
}

void Machine::wait_for_all(Gpu& device, Lock& lock) {
  Clock before;
  for (std::vector<LwStream*> waiting; !(waiting = waiting_streams(&device)).empty();) {
    hand_over_next(*waiting[draw(waiting.size())]);
  }
  for (const auto& [stream, owned] : device.streams) before.join(end_of(*stream));
  device.finish(lock);
  know(before);
}

}  // namespace lw::sim
