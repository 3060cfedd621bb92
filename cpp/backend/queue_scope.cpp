#include <bit>
#include <cstdint>

#include "backend/device.hpp"
#include "math/brief_lock.hpp"

namespace lw {
namespace {

constexpr int kShared = 63;  // the number of all scopes for which no other is left

thread_local int running = 0;

std::uint64_t taken = 1;  // bit n: number n has its scope; 0 is that of threads outside of all

int take() noexcept {
  const BriefLock lock;
  const int number = std::countr_one(taken);
  if (number >= kShared) return kShared;
  taken |= std::uint64_t{1} << number;
  return number;
}

void give_back(int number) noexcept {
  const BriefLock lock;
  if (number != kShared) taken &= ~(std::uint64_t{1} << number);
}

}  // namespace

int running_queue() noexcept { return running; }

QueueNumber::QueueNumber() noexcept : value_(take()) {}

QueueNumber::~QueueNumber() { give_back(value_); }

bool QueueNumber::is_shared() const noexcept { return value_ == kShared; }

QueueScope::QueueScope() noexcept : own_(std::in_place), outer_(running) { running = own_->value(); }

QueueScope::QueueScope(const QueueNumber& number) noexcept : outer_(running) { running = number.value(); }

QueueScope::~QueueScope() { running = outer_; }

}  // namespace lw
