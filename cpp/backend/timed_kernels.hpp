// The kernels of a backend on the host, timed one by one while the host is profiled.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backend/kernels.hpp"
#include "backend/profile.hpp"

namespace lw {

/// One call, from where it is made to its end.
class TimedCall {
 public:
  explicit TimedCall(const char* kernel) noexcept;
  ~TimedCall();
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

 private:
  std::shared_ptr<Profile> profile_;
  std::optional<ProfiledCall> call_;
  double start_ = 0;
};

struct TimedKernelName {
  char text[24];
};

template <const Kernels& table, auto entry, TimedKernelName name, class Function>
struct TimedKernel;
template <const Kernels& table, auto entry, TimedKernelName name, class Result, class... Given>
struct TimedKernel<table, entry, name, Result (*)(Queue&, Given...) noexcept> {
  static Result call(Queue& queue, Given... given) noexcept {
    static constexpr TimedKernelName kName = name;
    const TimedCall timed(kName.text);
    return (table.*entry)(queue, given...);
  }
};

template <const Kernels& table>
struct TimedTable {
  static constexpr Kernels make() noexcept {
    Kernels timed = table;  // the sizes of scratch as they are
#define LW_SCRATCH(kernel, parameters)
#define LW_KERNEL(result, name, parameters) \
  timed.name = TimedKernel<table, &Kernels::name, TimedKernelName{#name}, decltype(Kernels::name)>::call;
#include "backend/kernels.def"
    return timed;
  }
  static constexpr Kernels kKernels = make();
};

/// The table, or one that times each call. Where nothing is profiled this is one load.
template <const Kernels& table>
const Kernels& profiled() noexcept {
  return host_profiler().is_on() ? TimedTable<table>::kKernels : table;
}

}  // namespace lw
