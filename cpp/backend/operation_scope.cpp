#include "backend/operation_scope.hpp"

#include <atomic>
#include <utility>

#include "backend/profile.hpp"

namespace lw {

bool OperationScope::is_anything_profiled() noexcept { return Profiler::is_any_on(); }

OperationScope::Running& OperationScope::of_this_thread() noexcept {
  static thread_local Running running;
  return running;
}

void OperationScope::begin(OperationKind kind, std::string_view name) noexcept {
  static std::atomic<std::uint64_t> last = 0;
  Running& running = of_this_thread();
  kind_ = static_cast<std::size_t>(kind);
  if (kind == OperationKind::kCall && running[kind_] != nullptr) return;
  try {
    auto begun = std::make_shared<Operation>(Operation{std::string(name), ++last, {}});
    outer_ = std::exchange(running[kind_], std::move(begun));
    running_ = &running;
  } catch (...) {  // without a name
  }
}

void OperationScope::leave() noexcept {
  if (running_ != &of_this_thread()) return;
  (*running_)[kind_] = std::move(outer_);
  running_ = nullptr;
}

RunningOperation running_operation() noexcept {
  const auto& [instruction, call, named] = OperationScope::of_this_thread();
  const auto& inner = instruction != nullptr ? instruction : call;
  const auto& outer = call != nullptr ? call : instruction;
  return {named != nullptr ? named : outer, inner != nullptr ? inner : named};
}

}  // namespace lw
