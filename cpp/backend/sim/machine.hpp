// A host with simulated devices: the functions of the simulated driver.
#pragma once

#include <sys/types.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backend/gpu/driver.h"
#include "backend/sim/clock.hpp"
#include "backend/sim/device.hpp"
#include "backend/sim/simulator.hpp"
#include "backend/sim/works.hpp"
#include "math/error.hpp"

namespace lw::sim {

inline constexpr std::uint32_t kSharedBytes = 227 * 1024;  // what a block of an H100 may ask for
inline constexpr std::uint32_t kBlockThreads = 1024;       // the same of threads

/// A call that is not carried out, and why.
struct Refusal {
  LwStatus status;
  std::string reason;
};

/// One lock guards everything that is not a worker's own. Calls are numbered and put in order here: a piece of work is
/// handed to the worker of its device when the draws of the seed say so, at the latest when the host waits for it.
/// After a fork the child's calls give LW_LOST, because threads do not come along.
class Machine {
 public:
  Machine(std::span<const gpu::HostKernel> kernels, const Options& options);
  ~Machine();

  LwStatus describe(std::int32_t device, LwDeviceInfo* info) noexcept;
  const char* error_text(std::int32_t device, LwStatus status) noexcept;
  LwStatus memory_get(std::int32_t device, std::uint64_t bytes, void** memory) noexcept;
  LwStatus memory_free(std::int32_t device, void* memory) noexcept;
  LwStatus pinned_get(std::int32_t device, std::uint64_t bytes, void** memory) noexcept;
  LwStatus pinned_free(std::int32_t device, void* memory) noexcept;
  LwStatus stream_make(std::int32_t device, LwStream** stream) noexcept;
  LwStatus stream_free(LwStream* stream) noexcept;
  LwStatus stream_wait(LwStream* stream) noexcept;
  LwStatus event_make(std::int32_t device, LwEvent** event) noexcept;
  LwStatus event_free(LwEvent* event) noexcept;
  LwStatus event_record(LwEvent* event, LwStream* stream) noexcept;
  LwStatus event_order(LwStream* stream, LwEvent* event) noexcept;
  LwStatus event_wait(LwEvent* event) noexcept;
  LwStatus event_done(LwEvent* event, std::int32_t* done) noexcept;
  LwStatus event_elapsed(LwEvent* from, LwEvent* to, double* seconds) noexcept;
  LwStatus mark(LwStream* stream, void* memory, std::uint64_t bytes, std::int32_t in_use) noexcept;
  LwStatus copy(LwStream* stream, Work::Kind kind, void* to, const void* from, std::uint64_t bytes) noexcept;
  LwStatus launch(LwStream* stream, const LwLaunch& launch) noexcept;
  LwStatus capture_begin(LwStream* stream) noexcept;
  LwStatus capture_end(LwStream* stream, LwGraph** graph) noexcept;
  LwStatus graph_replay(LwGraph* graph, LwStream* stream) noexcept;
  LwStatus graph_free(LwGraph* graph) noexcept;

  /// Runs `f` on the device under the lock. Throws lw::Error if there is no such device.
  template <class F>
  auto with_device(std::int32_t device, const F& f);
  void forget_failure(std::int32_t device);

  LwDriver driver;
  std::condition_variable progress;  // of any worker

  bool is_forked() const noexcept;

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct HostUse {  // of the host's memory by a copy
    std::uintptr_t begin, end;
    std::uint32_t stream, time;
  };
  /// Whether a call is carried out on a device that is lost or has a failure to show: only on a sound one, or always.
  enum class When { kSound, kAlways };

  /// Carries out a function of the driver: does what all of them have in common, and calls `f` for the rest.
  template <class F>
  LwStatus call(Gpu* device, When when, const F& f) noexcept;
  Gpu* at(std::int32_t device) noexcept {
    return device >= 0 && device < kDevices ? devices_[static_cast<std::size_t>(device)].get() : nullptr;
  }

  void submit(LwStream& stream, Work work);
  void submit_or_note(LwStream& stream, Work work);
  void count(LwStream& stream, Work& work);
  void join(LwStream& stream, const Clock& clock);
  void know(const Clock& clock);
  void hand_over_next(LwStream& stream);
  void hand_over(const Signal& signal);
  void hand_over_all(LwStream& stream);
  void hand_over_some();
  std::vector<LwStream*> waiting_streams(const Gpu* only) const;
  static Clock end_of(const LwStream& stream);
  void wait_for_all(Gpu& device, Lock& lock);
  std::shared_ptr<Signal> record(LwStream& stream);
  void await(LwStream& stream, const std::shared_ptr<Signal>& signal);
  void wait_for(const std::shared_ptr<Signal>& signal, Gpu& device, Lock& lock);
  bool is_in_use(const void* memory, std::uint64_t bytes) const noexcept;
  void check_host(const void* memory, const char* what) const;
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }

  const pid_t process_;
  const std::span<const gpu::HostKernel> kernels_;
  const Options options_;
  std::vector<const char*> kernel_names_;
  std::vector<std::uint32_t> args_bytes_;
  std::mutex mutex_;  // guards what follows
  std::mt19937_64 random_;
  Works works_;
  Clock host_;  // what the host waited for
  std::uint64_t host_version_ = 1;
  std::vector<HostUse> host_uses_;                        // that the host has not waited for
  std::vector<std::uint32_t> free_numbers_, last_times_;  // of streams
  std::array<std::unique_ptr<Gpu>, kDevices> devices_;
};

template <class F>
auto Machine::with_device(std::int32_t device, const F& f) {
  if (device < 0 || device >= kDevices) throw Error(ErrorKind::kValue, "a simulator has two devices");
  if (is_forked()) throw Error(ErrorKind::kValue, error_text(device, LW_LOST));
  const Lock lock(mutex_);
  return f(*devices_[static_cast<std::size_t>(device)]);
}

template <class F>
LwStatus Machine::call(Gpu* device, When when, const F& f) noexcept {
  if (is_forked()) return LW_LOST;
  if (device == nullptr) return LW_FAILED;
  Lock lock(mutex_);
  if (device->loss.applies()) device->lost = true;
  LwStatus status = LW_OK;
  if (when == When::kAlways || !(device->lost || device->shows_failure)) {
    try {
      f(*device, lock);
    } catch (const Refusal& refusal) {
      status = refusal.status;
      device->last_error = refusal.reason;
    } catch (const std::exception& error) {
      status = LW_FAILED;
      device->last_error = error.what();
    }
  }
  if (device->lost) return LW_LOST;
  if (status == LW_OK && device->shows_failure) {
    status = LW_FAILED;
    device->last_error = device->failure;
  }
  return status;
}

}  // namespace lw::sim
