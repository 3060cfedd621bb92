// The devices of SYCL that the driver has, by kind, and what went wrong.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <sycl/sycl.hpp>
#include <unordered_map>
#include <vector>

#include "backend/gpu/driver.h"
#include "kernel_store.hpp"

namespace lw::gpu {

enum class Kind { kCpu, kGpu };

/// A device, its kernels, and what is in use of it.
struct SyclDevice {
  SyclDevice(const sycl::device& device, const sycl::context& context)
      : device(device),
        context(context),
        local_bytes(device.get_info<sycl::info::device::local_mem_size>()),
        kernels(device, context) {}

  /// Memory that the host reads and writes while kernels do, and that copies are quick from. It is the device's own
  /// where that is the processor.
  bool is_host() const { return device.is_cpu(); }

  const sycl::device device;
  const sycl::context context;
  const std::uint64_t local_bytes;  // that a block may share
  KernelStore kernels;
  std::mutex mutex;  // guards what follows
  std::set<LwStream*> streams;
  std::unordered_map<void*, std::uint64_t> sizes;  // of memory that was got
  std::uint64_t bytes = 0;                         // of all of it
  std::string failure;                             // which the runtime told later
  std::atomic<bool> is_lost = false;
};

/// All devices of a kind. It is made when it is first asked for, and stays.
struct Machine {
  std::vector<std::unique_ptr<SyclDevice>> devices;
  std::string none;  // why there are none

  /// Throws std::exception for a number that is none.
  SyclDevice& at(std::int32_t number) const;
};
const Machine& machine(Kind kind);

/// A failure with its status.
struct Refusal {
  LwStatus status;
  std::string text;
};

/// Notes the exception that is being handled for `failure_text`; the status that it stands for.
LwStatus note_exception() noexcept;
/// What failed last on this thread.
const char* failure_text() noexcept;

/// Whether this process was made by fork from one that uses the devices.
bool is_forked() noexcept;

/// The status of a call: LW_OK unless it throws.
template <class Call>
LwStatus status_of(const Call& call) noexcept {
  try {
    if (is_forked()) throw Refusal{LW_LOST, "a process made by fork has no devices of SYCL: they stay with its parent"};
    call();
    return LW_OK;
  } catch (...) {
    return note_exception();
  }
}
/// The same of a call that is about a device.
template <class Call>
LwStatus status_of(SyclDevice& device, const Call& call) noexcept {
  const LwStatus status = status_of([&] {
    if (device.is_lost) throw Refusal{LW_LOST, "the device was lost"};
    call();
  });
  if (status == LW_LOST) device.is_lost = true;
  return status;
}

}  // namespace lw::gpu
