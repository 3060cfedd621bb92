// The driver of devices of SYCL, as a plugin: a library with one C function, which gives a table of
// backend/gpu/driver.h for the processor and one for GPUs. Kernels are compiled when they are first launched.
#include "backend/gpu/driver.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "machine.hpp"
#include "stream.hpp"

struct LwEvent {
  explicit LwEvent(lw::gpu::SyclDevice& device) : device(device) {}

  sycl::event read() {
    const std::lock_guard lock(mutex);
    return event;
  }

  lw::gpu::SyclDevice& device;
  std::mutex mutex;
  sycl::event event;
};

namespace {

using lw::gpu::Facts;
using lw::gpu::Kind;
using lw::gpu::machine;
using lw::gpu::Refusal;
using lw::gpu::status_of;
using lw::gpu::Submission;
using lw::gpu::SyclDevice;
namespace info = sycl::info;

constexpr std::size_t kAlignment = 512;  // of memory

/// A call of a function that takes the number of a device.
template <Kind kKind, class Call>
LwStatus on(std::int32_t number, const Call& call) {
  SyclDevice* device = nullptr;
  const LwStatus found = status_of([&] { device = &machine(kKind).at(number); });
  return found == LW_OK ? status_of(*device, [&] { call(*device); }) : found;
}

/// Bytes that are free: of the host, those that nothing uses.
std::uint64_t free_bytes(const SyclDevice& device, std::uint64_t total) {
  if (device.device.is_cpu()) {
    return static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }
  if (!device.device.has(sycl::aspect::ext_intel_free_memory)) return total;
  return device.device.get_info<sycl::ext::intel::info::device::free_memory>();
}

template <Kind kKind>
LwStatus count(std::int32_t* devices) {
  return status_of([&] {
    static_cast<void>(machine(kKind).at(0));
    *devices = static_cast<std::int32_t>(machine(kKind).devices.size());
  });
}

template <Kind kKind>
LwStatus describe(std::int32_t number, LwDeviceInfo* to) {
  return on<kKind>(number, [&](const SyclDevice& device) {
    *to = {};
    const sycl::device& found = device.device;
    std::snprintf(to->name, sizeof to->name, "%s", found.get_info<info::device::name>().c_str());
    to->total_bytes = found.get_info<info::device::global_mem_size>();
    to->free_bytes = free_bytes(device, to->total_bytes);
    to->l2_bytes = found.get_info<info::device::global_mem_cache_size>();
    to->multiprocessors = found.get_info<info::device::max_compute_units>();
    to->shared_bytes = static_cast<std::uint32_t>(device.local_bytes);
    to->has_clock = found.has(sycl::aspect::queue_profiling);
    to->has_fast_doubles = found.is_cpu();
  });
}

const char* error_text(std::int32_t, LwStatus) { return lw::gpu::failure_text(); }

template <Kind kKind>
LwStatus memory_get(std::int32_t number, std::uint64_t bytes, void** memory) {
  return on<kKind>(number, [&](SyclDevice& device) {
    const std::lock_guard lock(device.mutex);
    // The processor's runtime gives more than there is, and the process would end when it is used.
    const std::uint64_t total = device.device.get_info<info::device::global_mem_size>();
    const bool fits = bytes <= device.device.get_info<info::device::max_mem_alloc_size>() && device.bytes <= total &&
                      bytes <= total - device.bytes;
    *memory = fits ? sycl::aligned_alloc_device(kAlignment, bytes, device.device, device.context) : nullptr;
    if (*memory == nullptr) throw Refusal{LW_OUT_OF_MEMORY, "no " + std::to_string(bytes) + " bytes"};
    device.sizes[*memory] = bytes;
    device.bytes += bytes;
  });
}
template <Kind kKind>
LwStatus memory_free(std::int32_t number, void* memory) {
  return on<kKind>(number, [&](SyclDevice& device) {
    const std::lock_guard lock(device.mutex);
    for (LwStream* const stream : device.streams) stream->queue.wait();
    sycl::free(memory, device.context);
    if (const auto found = device.sizes.extract(memory)) device.bytes -= found.mapped();
  });
}
template <Kind kKind>
LwStatus pinned_get(std::int32_t number, std::uint64_t bytes, void** memory) {
  return on<kKind>(number, [&](const SyclDevice& device) {
    *memory = sycl::aligned_alloc_host(kAlignment, bytes, device.context);
    if (*memory == nullptr) throw std::bad_alloc();
  });
}
template <Kind kKind>
LwStatus pinned_free(std::int32_t number, void* memory) {
  return on<kKind>(number, [&](const SyclDevice& device) { sycl::free(memory, device.context); });
}

template <Kind kKind>
LwStatus stream_make(std::int32_t number, LwStream** stream) {
  return on<kKind>(number, [&](SyclDevice& device) {
    auto made = std::make_unique<LwStream>(device);
    const std::lock_guard lock(device.mutex);
    device.streams.insert(made.get());
    *stream = made.release();
  });
}
LwStatus stream_wait(LwStream* stream) {
  return status_of(stream->device, [&] { stream->wait(); });
}
LwStatus stream_free(LwStream* stream) {
  const LwStatus done = stream_wait(stream);
  const LwStatus freed = status_of([&] {
    {
      const std::lock_guard lock(stream->device.mutex);
      stream->device.streams.erase(stream);
    }
    delete stream;
  });
  return done == LW_OK ? freed : done;
}

template <Kind kKind>
LwStatus event_make(std::int32_t number, LwEvent** event) {
  return on<kKind>(number, [&](SyclDevice& device) { *event = new LwEvent(device); });
}
LwStatus event_free(LwEvent* event) {
  return status_of([&] { delete event; });
}
LwStatus event_record(LwEvent* event, LwStream* stream) {
  return status_of(stream->device, [&] {
    const sycl::event recorded = stream->queue.ext_oneapi_submit_barrier();
    const std::lock_guard lock(event->mutex);
    event->event = recorded;
  });
}
LwStatus event_order(LwStream* stream, LwEvent* event) {
  return status_of(stream->device, [&] { stream->queue.ext_oneapi_submit_barrier({event->read()}); });
}
LwStatus event_wait(LwEvent* event) {
  return status_of(event->device, [&] { event->read().wait(); });
}
LwStatus event_done(LwEvent* event, std::int32_t* done) {
  return status_of(event->device, [&] {
    const auto found = event->read().get_info<info::event::command_execution_status>();
    *done = found == info::event_command_status::complete;
  });
}
LwStatus event_elapsed(LwEvent* from, LwEvent* to, double* seconds) {
  return status_of(to->device, [&] {
    const auto end = [](LwEvent* event) {
      return static_cast<std::int64_t>(event->read().get_profiling_info<info::event_profiling::command_end>());
    };
    *seconds = 1e-9 * static_cast<double>(end(to) - end(from));
  });
}

LwStatus copy(LwStream* stream, void* to, const void* from, std::uint64_t bytes) {
  return status_of(stream->device,
                   [&] { stream->take({nullptr, sycl::nd_range<3>{{0, 0, 0}, {1, 1, 1}}, 0, to, from, bytes}); });
}

LwStatus launch(LwStream* stream, const LwLaunch* launch) {
  return status_of(stream->device, [&] {
    const std::uint32_t number = launch->kernel;
    if (number >= Facts::kSize || launch->args_bytes != Facts::kArgsBytes[number])
      throw Refusal{LW_FAILED, "there is no such kernel"};
    if (Facts::kHasClusters[number])
      throw Refusal{LW_FAILED, std::string(Facts::kNames[number]) + " needs clusters of blocks, which SYCL has not"};
    if (launch->shared_bytes > stream->device.local_bytes)
      throw Refusal{LW_FAILED, "its blocks share " + std::to_string(launch->shared_bytes) +
                                   " bytes, and the device has " + std::to_string(stream->device.local_bytes)};
    const std::size_t threads = launch->threads, shared_words = (launch->shared_bytes + 7) / 8;
    const sycl::range<3> block(1, 1, threads);
    const sycl::range<3> all(launch->blocks[2], launch->blocks[1], launch->blocks[0] * threads);
    stream->take({&stream->device.kernels.get(number), sycl::nd_range<3>(all, block),
                  std::max<std::size_t>(1, shared_words), nullptr, launch->args, launch->args_bytes});
  });
}

LwStatus capture_begin(LwStream* stream) {
  return status_of(stream->device, [&] {
    const std::lock_guard lock(stream->mutex);
    if (stream->captured != nullptr) throw Refusal{LW_FAILED, "the stream is captured already"};
    stream->captured = std::make_unique<LwGraph>(stream->device);
  });
}
LwStatus capture_end(LwStream* stream, LwGraph** graph) {
  return status_of(stream->device, [&] {
    const std::lock_guard lock(stream->mutex);
    if (stream->captured == nullptr) throw Refusal{LW_FAILED, "the stream is not captured"};
    std::unique_ptr<LwGraph> ended = std::move(stream->captured);
    ended->end();
    *graph = ended.release();
  });
}
LwStatus graph_replay(LwGraph* graph, LwStream* stream) {
  return status_of(stream->device, [&] {
    const std::lock_guard lock(stream->mutex);
    graph->replay(stream->queue);
  });
}
LwStatus graph_free(LwGraph* graph) {
  return status_of([&] { delete graph; });
}

template <Kind kKind>
constexpr LwDriver kDriver = {
    .version = LW_DRIVER_VERSION,
    .num_kernels = Facts::kSize,
    .kernel_names = Facts::kNames,
    .args_bytes = Facts::kArgsBytes,
    .count = count<kKind>,
    .describe = describe<kKind>,
    .error_text = error_text,
    .memory_get = memory_get<kKind>,
    .memory_free = memory_free<kKind>,
    .mark = nullptr,
    .pinned_get = pinned_get<kKind>,
    .pinned_free = pinned_free<kKind>,
    .stream_make = stream_make<kKind>,
    .stream_free = stream_free,
    .stream_wait = stream_wait,
    .event_make = event_make<kKind>,
    .event_free = event_free,
    .event_record = event_record,
    .event_order = event_order,
    .event_wait = event_wait,
    .event_done = event_done,
    .event_elapsed = event_elapsed,
    .upload = copy,
    .download = copy,
    .copy = copy,
    .launch = launch,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .graph_replay = graph_replay,
    .graph_free = graph_free,
};

}  // namespace

/// The driver of "sycl:cpu" or of "sycl:gpu", whose first member says for which version of the table it was made.
extern "C" __attribute__((visibility("default"))) const LwDriver* latticework_driver(const char* kind) {
  if (std::string_view(kind) == "sycl:cpu") return &kDriver<Kind::kCpu>;
  return std::string_view(kind) == "sycl:gpu" ? &kDriver<Kind::kGpu> : nullptr;
}
