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
#define LW_TIMED(entry) \
  timed.entry = TimedKernel<table, &Kernels::entry, TimedKernelName{#entry}, decltype(Kernels::entry)>::call
    LW_TIMED(ntt);
    LW_TIMED(intt);
    LW_TIMED(copy);
    LW_TIMED(zero);
    LW_TIMED(monomial);
    LW_TIMED(add);
    LW_TIMED(sub);
    LW_TIMED(neg);
    LW_TIMED(mul);
    LW_TIMED(mul_add);
    LW_TIMED(tensor);
    LW_TIMED(mul_scalar);
    LW_TIMED(add_scalar);
    LW_TIMED(sub_scale);
    LW_TIMED(dot);
    LW_TIMED(automorphism);
    LW_TIMED(lift);
    LW_TIMED(key_switch);
    LW_TIMED(diag_sums);
    LW_TIMED(mod_down);
    LW_TIMED(import_signed);
    LW_TIMED(import_integers);
    LW_TIMED(ntt_integers);
    LW_TIMED(import_residues);
    LW_TIMED(export_residues);
    LW_TIMED(expand_uniform);
    LW_TIMED(import_seeded);
    LW_TIMED(embed);
    LW_TIMED(unembed);
#undef LW_TIMED
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
