// The name of the operation that a thread computes, for profiles of the devices that it calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lw {

/// Who named it: a plan that is carried out, a call of the library from outside, or a user.
enum class OperationKind : std::uint8_t { kInstruction, kCall, kNamed };
constexpr std::size_t kOperationKinds = 3;

/// Something that a thread does. Only that thread changes it.
struct Operation {
  const std::string name;
  const std::uint64_t number;             // that no other has, in the order of their beginnings
  std::vector<std::uint64_t> counted_in;  // numbers of the profiles that have counted it
};

/// The operation and the step that kernels count for which this thread calls now. Both are null where nothing has a
/// name.
struct RunningOperation {
  std::shared_ptr<Operation> operation;  // what is asked for: the innermost that a user named, else the outermost call,
                                         // else the instruction
  std::shared_ptr<Operation> step;       // what is done for it: the instruction, else the call, else the same
};
RunningOperation running_operation() noexcept;

/// While it lives its thread does what it says. A call in a call is a part of that, and begins nothing. Where nothing
/// is profiled it costs one load. To be ended by the thread that made it, the last one first.
class OperationScope {
 public:
  OperationScope(OperationKind kind, std::string_view name) noexcept {
    if (is_anything_profiled()) begin(kind, name);
  }
  ~OperationScope() { end(); }
  OperationScope(const OperationScope&) = delete;
  OperationScope& operator=(const OperationScope&) = delete;

  /// Ends the scope as the destructor does; on another thread, or again, it does nothing.
  void end() noexcept {
    if (running_ != nullptr) leave();
  }

 private:
  using Running = std::array<std::shared_ptr<Operation>, kOperationKinds>;
  friend RunningOperation running_operation() noexcept;

  static bool is_anything_profiled() noexcept;
  static Running& of_this_thread() noexcept;
  void begin(OperationKind kind, std::string_view name) noexcept;
  void leave() noexcept;

  Running* running_ = nullptr;  // of the thread that it is in; null: it is in none
  std::shared_ptr<Operation> outer_;
  std::size_t kind_ = 0;
};

}  // namespace lw
