#include "backend/sim/works.hpp"

#include <stdexcept>

#include "backend/sim/text.hpp"

namespace lw::sim {

std::string to_text(const WorkName& name) {
  const std::string what = name.kernel != nullptr ? text(name.kind, " '", name.kernel, "'") : name.kind;
  return text(what, " on stream ", name.stream, " of device ", name.device);
}

std::uint32_t Works::add(const WorkName& name) {
  const std::lock_guard lock(mutex_);
  if (next() > kMost) throw std::length_error("more work than the simulator can number");
  entries_.push_back({name, false});
  return next() - 1;
}

std::optional<WorkName> Works::find(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  if (number < first_) return std::nullopt;
  return entries_[number - first_].name;
}

void Works::set_done(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  entries_[number - first_].done = true;
  while (open_ < next() && entries_[open_ - first_].done) ++open_;
}

void Works::forget(const Clock& host) {
  const std::lock_guard lock(mutex_);
  if (!try_forget()) return;
  waited_ = host;
  waited_end_ = next();
  try_forget();
}

bool Works::try_forget() {
  if (open_ < waited_end_) return false;
  while (!entries_.empty() && entries_.front().name.time <= waited_.at(entries_.front().name.stream)) {
    entries_.pop_front();
    ++first_;
  }
  return true;
}

}  // namespace lw::sim
