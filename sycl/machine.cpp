#include "machine.hpp"

#include <pthread.h>

#include <cstdlib>
#include <new>
#include <stdexcept>

namespace lw::gpu {
namespace {

thread_local std::string last_failure;
std::atomic<bool> forked = false;

/// Settings that have every program compiled with options of somebody's, or run by other blocks of threads than it is
/// launched with.
void refuse_settings() {
  for (const char* const name : {"SYCL_PROGRAM_COMPILE_OPTIONS", "SYCL_PROGRAM_APPEND_COMPILE_OPTIONS",
                                 "CL_CONFIG_CPU_FORCE_WORK_GROUP_SIZE", "CL_CONFIG_CPU_REQD_SUB_GROUP_SIZE"}) {
    if (const char* const set = std::getenv(name); set != nullptr && *set != '\0') {
      throw std::runtime_error(std::string(name) + "=" + set + " may change the bits of results: unset it");
    }
  }
}

/// Why a device cannot be used; nothing: it can.
std::string lack_of(sycl::device device) {
  namespace syclex = sycl::ext::oneapi::experimental;
  const std::string name = device.get_info<sycl::info::device::name>();
  if (!device.has(sycl::aspect::fp64)) return name + " has no float64, which kernels compute with";
  if (!device.has(sycl::aspect::usm_device_allocations) || !device.has(sycl::aspect::usm_host_allocations))
    return name + " has no unified shared memory";
  if (!device.ext_oneapi_can_build(syclex::source_language::sycl)) return name + " has no compiler at run time";
  return "";
}

/// The platforms to look at, the better ones first: Intel's processor device, and GPUs by Level Zero before OpenCL.
std::vector<sycl::platform> platforms(Kind kind) {
  std::vector<sycl::platform> found;
  const auto add = [&](sycl::backend backend) {
    for (const sycl::platform& platform : sycl::platform::get_platforms()) {
      const bool is_intel = platform.get_info<sycl::info::platform::vendor>().find("Intel") != std::string::npos;
      if (platform.get_backend() == backend && is_intel) found.push_back(platform);
    }
  };
  if (kind == Kind::kGpu) add(sycl::backend::ext_oneapi_level_zero);
  add(sycl::backend::opencl);
  return found;
}

/// All devices of the first platform that has some, so that they are of one context.
std::unique_ptr<Machine> find(Kind kind) {
  auto made = std::make_unique<Machine>();
  const auto type = kind == Kind::kCpu ? sycl::info::device_type::cpu : sycl::info::device_type::gpu;
  try {
    refuse_settings();
    for (const sycl::platform& platform : platforms(kind)) {
      std::vector<sycl::device> usable;
      for (const sycl::device& device : platform.get_devices(type)) {
        const std::string lack = lack_of(device);
        if (lack.empty()) usable.push_back(device);
        if (!lack.empty()) made->none = lack;
      }
      if (usable.empty()) continue;
      const sycl::context context(usable);
      for (const sycl::device& device : usable) made->devices.push_back(std::make_unique<SyclDevice>(device, context));
      return made;
    }
  } catch (const std::exception& error) {
    made->none = error.what();
  }
  if (!made->none.empty()) return made;
  made->none = kind == Kind::kCpu ? "SYCL finds no processor of OpenCL; install intel-opencl-rt"
                                  : "SYCL finds no GPU of Intel; install its driver with Level Zero or OpenCL";
  if (const char* const selected = std::getenv("ONEAPI_DEVICE_SELECTOR"))
    made->none += std::string(", and see ONEAPI_DEVICE_SELECTOR=") + selected;
  return made;
}

LwStatus status_of_text(const std::string& text) noexcept {
  for (const char* const lost : {"DEVICE_LOST", "DEVICE_NOT_AVAILABLE"}) {
    if (text.find(lost) != text.npos) return LW_LOST;
  }
  for (const char* const full : {"OUT_OF_RESOURCES", "OUT_OF_HOST_MEMORY", "OUT_OF_DEVICE_MEMORY"}) {
    if (text.find(full) != text.npos) return LW_OUT_OF_MEMORY;
  }
  return LW_FAILED;
}

}  // namespace

SyclDevice& Machine::at(std::int32_t number) const {
  if (devices.empty()) throw Refusal{LW_FAILED, none};
  if (number < 0 || static_cast<std::size_t>(number) >= devices.size())
    throw Refusal{LW_FAILED, "there is no such device"};
  return *devices[static_cast<std::size_t>(number)];
}

const Machine& machine(Kind kind) {
  static std::mutex mutex;
  static Machine* made[2] = {};  // never destroyed: nothing says who uses them last
  const std::lock_guard lock(mutex);
  Machine*& one = made[kind == Kind::kGpu];
  if (one == nullptr) {
    [[maybe_unused]] static const int minds_forks = pthread_atfork(nullptr, nullptr, [] { forked = true; });
    one = find(kind).release();
  }
  return *one;
}

LwStatus note_exception() noexcept {
  try {
    try {
      throw;
    } catch (const Refusal& refusal) {
      last_failure = refusal.text;
      return refusal.status;
    } catch (const std::bad_alloc&) {
      last_failure = "no memory";
      return LW_OUT_OF_MEMORY;
    } catch (const sycl::exception& error) {
      last_failure = error.what();
      if (error.code() == sycl::errc::memory_allocation) return LW_OUT_OF_MEMORY;
      return status_of_text(last_failure);
    } catch (const std::exception& error) {
      last_failure = error.what();
      return LW_FAILED;
    }
  } catch (...) {
    return LW_FAILED;
  }
}

const char* failure_text() noexcept { return last_failure.c_str(); }

bool is_forked() noexcept { return forked; }

}  // namespace lw::gpu
