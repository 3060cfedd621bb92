#include "exec/lockstep.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "io/file.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

constexpr std::chrono::milliseconds kWatchEvery{20};

}  // namespace

void Lockstep::run(const std::function<void(std::size_t)>& body, const Tick& tick) {
  std::vector<std::thread> threads;
  std::exception_ptr refused;
  try {
    for (std::size_t member = 0; member < places_.size(); ++member) {
      threads.emplace_back([this, member, &body] {
        std::exception_ptr failure;
        try {
          begin(member);
          body(member);
        } catch (...) {
          failure = std::current_exception();
        }
        end(member, std::move(failure));
      });
    }
  } catch (const std::system_error& error) {
    refused = std::make_exception_ptr(IoError(
        error.code().value(), "run_many: the system gives no thread for member " + std::to_string(threads.size()) +
                                  " of " + std::to_string(places_.size()) + ": run fewer at once"));
  }
  {
    const std::lock_guard lock(mutex_);
    if (refused) fail(refused);
    for (std::size_t member = threads.size(); member < places_.size(); ++member) leave(member);
    pass_on(0, Place::kUnderWay);
  }
  watch(tick);
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);
}

/// Watches the members on the thread that waits for all: an exception of tick ends them.
void Lockstep::watch(const Tick& tick) {
  std::unique_lock lock(mutex_);
  while (num_ended_ < places_.size()) {
    over_.wait_for(lock, kWatchEvery);
    if (is_ending_) continue;
    lock.unlock();
    std::exception_ptr failure;
    try {
      call(tick);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) fail(std::move(failure));
  }
}

void Lockstep::begin(std::size_t member) {
  std::unique_lock lock(mutex_);
  wait_for_turn(lock, member);
}

void Lockstep::meet(std::size_t member, const std::function<void()>& once) {
  std::unique_lock lock(mutex_);
  places_[member] = Place::kHere;
  if (pass_on(member, Place::kUnderWay)) {
    wait_for_turn(lock, member);
    return;
  }
  for (Place& place : places_) {
    if (place == Place::kHere) place = Place::kUnderWay;
  }
  lock.unlock();
  once();
}

void Lockstep::check() const {
  if (is_ending_) throw Error(ErrorKind::kCancelled, "the batch is ended");
}

void Lockstep::wait_for_turn(std::unique_lock<std::mutex>& lock, std::size_t member) {
  wakes_[member].wait(lock, [&] { return turn_ == member; });
  check();
}

/// Members end one after the other, also where all are to.
void Lockstep::end(std::size_t member, std::exception_ptr failure) noexcept {
  const std::lock_guard lock(mutex_);
  if (failure) fail(std::move(failure));
  leave(member);
  if (pass_on(member, Place::kUnderWay) || num_ended_ == places_.size()) return;
  if (!is_ending_) {  // all others wait for one that has come to its end
    fail(std::make_exception_ptr(Error(ErrorKind::kValue, "members of a batch read different keys")));
  }
  pass_on(member, Place::kHere);
}

void Lockstep::leave(std::size_t member) noexcept {
  places_[member] = Place::kEnded;
  if (++num_ended_ == places_.size()) over_.notify_all();
}

void Lockstep::fail(std::exception_ptr failure) noexcept {
  if (is_ending_) return;
  failure_ = std::move(failure);
  is_ending_ = true;
}

bool Lockstep::pass_on(std::size_t from, Place place) noexcept {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::size_t member = (from + i) % places_.size();
    if (places_[member] != place) continue;
    turn_ = member;
    wakes_[member].notify_one();
    return true;
  }
  return false;
}

}  // namespace lw
