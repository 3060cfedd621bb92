#include "math/brief_lock.hpp"

#include <pthread.h>

namespace lw {
namespace {

std::mutex& shared() noexcept {
  static std::mutex& mutex = *new std::mutex;  // never destroyed: nothing says who takes it last
  return mutex;
}

[[maybe_unused]] const int minds_forks =
    pthread_atfork([] { shared().lock(); }, [] { shared().unlock(); }, [] { shared().unlock(); });

}  // namespace

BriefLock::BriefLock() noexcept : lock_(shared()) {}

}  // namespace lw
