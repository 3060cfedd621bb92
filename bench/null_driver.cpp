// A driver for GPUs that does nothing: what remains is what the host spends on each call. Its memory is that of the
// host, so that addresses differ, and nothing reads it. Its clock goes on by a millisecond with each kernel and two
// with each copy, on all streams.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "backend/gpu/driver.h"
#include "backend/gpu/host_kernels.hpp"

struct LwStream {};
struct LwEvent {
  double seconds = 0;  // when it was recorded
};
struct LwGraph {};

namespace {

LwStream stream;
LwGraph graph;
std::atomic<std::uint64_t> milliseconds = 0;

LwStatus copy(LwStream*, void*, const void*, std::uint64_t) {
  milliseconds += 2;
  return LW_OK;
}

LwStatus get(std::int32_t, std::uint64_t bytes, void** memory) {
  *memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  return *memory == nullptr ? LW_OUT_OF_MEMORY : LW_OK;
}
LwStatus give_back(std::int32_t, void* memory) {
  std::free(memory);
  return LW_OK;
}

LwDriver make() {
  static const char* names[256];
  static std::uint32_t bytes[256];
  const auto kernels = lw::gpu::host_kernels();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    names[i] = kernels[i].name;
    bytes[i] = kernels[i].args_bytes;
  }
  LwDriver driver = {};
  driver.version = LW_DRIVER_VERSION;
  driver.num_kernels = static_cast<std::uint32_t>(kernels.size());
  driver.kernel_names = names;
  driver.args_bytes = bytes;
  driver.count = [](std::int32_t* devices) { return *devices = 1, LW_OK + 0; };
  driver.describe = [](std::int32_t, LwDeviceInfo* info) {
    *info = {};
    std::snprintf(info->name, sizeof info->name, "a GPU that does nothing");
    info->compute_major = 9;
    info->has_clock = info->has_clusters = info->has_fast_doubles = 1;
    info->l2_bytes = 50 << 20;
    info->free_bytes = info->total_bytes = std::uint64_t{80} << 30;
    info->multiprocessors = 132;
    info->shared_bytes = 227 << 10;
    return LW_OK + 0;
  };
  driver.error_text = [](std::int32_t, LwStatus) { return ""; };
  driver.memory_get = driver.pinned_get = get;
  driver.memory_free = driver.pinned_free = give_back;
  driver.stream_make = [](std::int32_t, LwStream** made) { return *made = &stream, LW_OK + 0; };
  driver.stream_free = driver.stream_wait = [](LwStream*) { return LW_OK + 0; };
  driver.event_make = [](std::int32_t, LwEvent** made) { return *made = new LwEvent, LW_OK + 0; };
  driver.event_free = [](LwEvent* event) { return delete event, LW_OK + 0; };
  driver.event_wait = [](LwEvent*) { return LW_OK + 0; };
  driver.event_record = [](LwEvent* event, LwStream*) {
    return event->seconds = 1e-3 * static_cast<double>(milliseconds), LW_OK + 0;
  };
  driver.event_order = [](LwStream*, LwEvent*) { return LW_OK + 0; };
  driver.event_done = [](LwEvent*, std::int32_t* done) { return *done = 1, LW_OK + 0; };
  driver.event_elapsed = [](LwEvent* from, LwEvent* to, double* seconds) {
    return *seconds = to->seconds - from->seconds, LW_OK + 0;
  };
  driver.upload = driver.download = driver.copy = copy;
  driver.launch = [](LwStream*, const LwLaunch*) { return ++milliseconds, LW_OK + 0; };
  driver.capture_begin = [](LwStream*) { return LW_OK + 0; };
  driver.capture_end = [](LwStream*, LwGraph** made) { return *made = &graph, LW_OK + 0; };
  driver.graph_replay = [](LwGraph*, LwStream*) { return LW_OK + 0; };
  driver.graph_free = [](LwGraph*) { return LW_OK + 0; };
  return driver;
}

}  // namespace

extern "C" const LwDriver* latticework_driver(const char*) {
  static const LwDriver driver = make();
  return &driver;
}
