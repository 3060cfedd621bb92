// The driver of NVIDIA GPUs, as a plugin: a library with one C function, which gives the table of backend/gpu/driver.h.
// The CUDA runtime is linked in; what it needs of the system is the driver of the GPU alone.
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "backend/gpu/driver.h"
#include "kernels.cuh"

struct LwStream {
  int device;
  cudaStream_t stream;
};
struct LwEvent {
  int device;
  cudaEvent_t event;
};
struct LwGraph {
  int device;
  cudaGraphExec_t graph;
};

namespace {

using lw::gpu::Table;

constexpr std::uint32_t kUnasked = 48 << 10;  // bytes of shared memory that a block has without asking for more

/// The last failure of this thread; texts are static.
thread_local cudaError_t last_error = cudaSuccess;

/// Errors after which a process cannot use a device any more.
bool is_lost(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorDevicesUnavailable:
    case cudaErrorContained:
      return true;
    default:
      return false;
  }
}

LwStatus status(cudaError_t error) {
  if (error == cudaSuccess) return LW_OK;
  last_error = error;
  static_cast<void>(cudaGetLastError());  // else the next call would answer with it
  if (error == cudaErrorMemoryAllocation) return LW_OUT_OF_MEMORY;
  return is_lost(error) ? LW_LOST : LW_FAILED;
}

/// Every call is about one device, of which the runtime has a current one a thread.
template <class Call>
LwStatus on(int device, Call call) {
  const cudaError_t error = cudaSetDevice(device);
  return status(error == cudaSuccess ? call() : error);
}

LwStatus count(std::int32_t* devices) { return status(cudaGetDeviceCount(devices)); }

/// Chips that do float64 at half the rate of float32; others do it at 1/32 or 1/64 of it. 8.0 has the float64 units
/// too, but as many 32-bit multiply-adds a clock as make the two equal. Source: CUDA C++ Programming Guide, arithmetic
/// instructions, table of throughputs by compute capability.
bool has_fast_doubles(const cudaDeviceProp& properties) {
  return properties.minor == 0 && (properties.major == 9 || properties.major == 10);
}

LwStatus describe(std::int32_t device, LwDeviceInfo* info) {
  cudaDeviceProp properties;
  const LwStatus found = status(cudaGetDeviceProperties(&properties, device));
  if (found != LW_OK) return found;
  *info = {};
  std::snprintf(info->name, sizeof info->name, "%s", properties.name);
  info->l2_bytes = static_cast<std::uint64_t>(properties.l2CacheSize);
  info->compute_major = static_cast<std::uint32_t>(properties.major);
  info->compute_minor = static_cast<std::uint32_t>(properties.minor);
  info->multiprocessors = static_cast<std::uint32_t>(properties.multiProcessorCount);
  info->shared_bytes = static_cast<std::uint32_t>(properties.sharedMemPerBlockOptin);
  info->has_clock = 1;
  info->has_clusters = properties.major >= 9;
  info->has_fast_doubles = has_fast_doubles(properties);
  return on(device, [&] {
    std::size_t free = 0, total = 0;
    const cudaError_t error = cudaMemGetInfo(&free, &total);
    info->free_bytes = free;
    info->total_bytes = total;
    return error;
  });
}

const char* error_text(std::int32_t, LwStatus) { return cudaGetErrorString(last_error); }

LwStatus memory_get(std::int32_t device, std::uint64_t bytes, void** memory) {
  return on(device, [&] { return cudaMalloc(memory, bytes); });
}
LwStatus memory_free(std::int32_t device, void* memory) {
  return on(device, [&] { return cudaFree(memory); });
}
LwStatus pinned_get(std::int32_t device, std::uint64_t bytes, void** memory) {
  return on(device, [&] { return cudaHostAlloc(memory, bytes, cudaHostAllocPortable); });
}
LwStatus pinned_free(std::int32_t device, void* memory) {
  return on(device, [&] { return cudaFreeHost(memory); });
}

LwStatus stream_make(std::int32_t device, LwStream** stream) {
  *stream = new (std::nothrow) LwStream{device, nullptr};
  if (*stream == nullptr) return status(cudaErrorMemoryAllocation);
  const LwStatus made =
      on(device, [&] { return cudaStreamCreateWithFlags(&(*stream)->stream, cudaStreamNonBlocking); });
  if (made == LW_OK) return LW_OK;
  delete *stream;
  *stream = nullptr;
  return made;
}
LwStatus stream_wait(LwStream* stream) {
  return on(stream->device, [&] { return cudaStreamSynchronize(stream->stream); });
}
LwStatus stream_free(LwStream* stream) {
  const LwStatus done = stream_wait(stream);
  const LwStatus freed = on(stream->device, [&] { return cudaStreamDestroy(stream->stream); });
  delete stream;
  return done == LW_OK ? freed : done;
}

LwStatus event_make(std::int32_t device, LwEvent** event) {
  *event = new (std::nothrow) LwEvent{device, nullptr};
  if (*event == nullptr) return status(cudaErrorMemoryAllocation);
  const LwStatus made = on(device, [&] { return cudaEventCreate(&(*event)->event); });
  if (made == LW_OK) return LW_OK;
  delete *event;
  *event = nullptr;
  return made;
}
LwStatus event_free(LwEvent* event) {
  const LwStatus freed = on(event->device, [&] { return cudaEventDestroy(event->event); });
  delete event;
  return freed;
}
LwStatus event_record(LwEvent* event, LwStream* stream) {
  return on(stream->device, [&] { return cudaEventRecord(event->event, stream->stream); });
}
LwStatus event_order(LwStream* stream, LwEvent* event) {
  return on(stream->device, [&] { return cudaStreamWaitEvent(stream->stream, event->event, 0); });
}
LwStatus event_wait(LwEvent* event) {
  return on(event->device, [&] { return cudaEventSynchronize(event->event); });
}
LwStatus event_done(LwEvent* event, std::int32_t* done) {
  return on(event->device, [&] {
    const cudaError_t error = cudaEventQuery(event->event);
    *done = error == cudaSuccess;
    return error == cudaErrorNotReady ? cudaSuccess : error;
  });
}
LwStatus event_elapsed(LwEvent* from, LwEvent* to, double* seconds) {
  return on(to->device, [&] {
    float milliseconds = 0;
    const cudaError_t error = cudaEventElapsedTime(&milliseconds, from->event, to->event);
    *seconds = 1e-3 * static_cast<double>(milliseconds);
    return error;
  });
}

template <cudaMemcpyKind kKind>
LwStatus copy(LwStream* stream, void* to, const void* from, std::uint64_t bytes) {
  return on(stream->device, [&] { return cudaMemcpyAsync(to, from, bytes, kKind, stream->stream); });
}

LwStatus launch(LwStream* stream, const LwLaunch* launch) {
  if (launch->kernel >= Table::kSize || launch->args_bytes != Table::kArgsBytes[launch->kernel]) {
    return status(cudaErrorInvalidDeviceFunction);
  }
  return on(stream->device, [&] {
    const void* const entry = Table::entry(launch->kernel);
    if (launch->shared_bytes > kUnasked) {
      const cudaError_t error = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                     static_cast<int>(launch->shared_bytes));
      if (error != cudaSuccess) return error;
    }
    void* args[] = {const_cast<void*>(launch->args)};
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {Table::kClusters[launch->kernel], 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(launch->blocks[0], launch->blocks[1], launch->blocks[2]);
    config.blockDim = dim3(launch->threads);
    config.dynamicSmemBytes = launch->shared_bytes;
    config.stream = stream->stream;
    config.attrs = &cluster;
    config.numAttrs = Table::kClusters[launch->kernel] > 1;
    return cudaLaunchKernelExC(&config, entry, args);
  });
}

LwStatus capture_begin(LwStream* stream) {
  return on(stream->device, [&] { return cudaStreamBeginCapture(stream->stream, cudaStreamCaptureModeRelaxed); });
}
LwStatus capture_end(LwStream* stream, LwGraph** graph) {
  *graph = new (std::nothrow) LwGraph{stream->device, nullptr};
  cudaGraph_t captured = nullptr;
  LwStatus ended = on(stream->device, [&] { return cudaStreamEndCapture(stream->stream, &captured); });
  if (ended == LW_OK && *graph == nullptr) ended = status(cudaErrorMemoryAllocation);
  if (ended == LW_OK) ended = on(stream->device, [&] { return cudaGraphInstantiate(&(*graph)->graph, captured, 0); });
  if (captured != nullptr) static_cast<void>(cudaGraphDestroy(captured));
  if (ended == LW_OK) return LW_OK;
  delete *graph;
  *graph = nullptr;
  return ended;
}
LwStatus graph_replay(LwGraph* graph, LwStream* stream) {
  return on(stream->device, [&] { return cudaGraphLaunch(graph->graph, stream->stream); });
}
LwStatus graph_free(LwGraph* graph) {
  const LwStatus freed = on(graph->device, [&] { return cudaGraphExecDestroy(graph->graph); });
  delete graph;
  return freed;
}

const LwDriver kDriver = {
    .version = LW_DRIVER_VERSION,
    .num_kernels = Table::kSize,
    .kernel_names = Table::kNames,
    .args_bytes = Table::kArgsBytes,
    .count = count,
    .describe = describe,
    .error_text = error_text,
    .memory_get = memory_get,
    .memory_free = memory_free,
    .mark = nullptr,
    .pinned_get = pinned_get,
    .pinned_free = pinned_free,
    .stream_make = stream_make,
    .stream_free = stream_free,
    .stream_wait = stream_wait,
    .event_make = event_make,
    .event_free = event_free,
    .event_record = event_record,
    .event_order = event_order,
    .event_wait = event_wait,
    .event_done = event_done,
    .event_elapsed = event_elapsed,
    .upload = copy<cudaMemcpyHostToDevice>,
    .download = copy<cudaMemcpyDeviceToHost>,
    .copy = copy<cudaMemcpyDeviceToDevice>,
    .launch = launch,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .graph_replay = graph_replay,
    .graph_free = graph_free,
};

}  // namespace

/// The driver of "cuda", whose first member says for which version of the table it was made.
extern "C" __attribute__((visibility("default"))) const LwDriver* latticework_driver(const char* kind) {
  return std::strcmp(kind, "cuda") == 0 ? &kDriver : nullptr;
}
