#include "backend/timed_kernels.hpp"

namespace lw {

TimedCall::TimedCall(const char* kernel) noexcept : profile_(host_profiler().profile()) {
  if (profile_ == nullptr) return;
  try {
    call_ = profile_->begin(kernel, profile_->thread_lane(), 0);
  } catch (...) {  // without a record
  }
  start_ = steady_seconds();
}

TimedCall::~TimedCall() {
  const double end = steady_seconds();
  if (!call_) return;
  try {
    profile_->add(*call_, start_, end - start_);
  } catch (...) {  // without a record
  }
}

}  // namespace lw
