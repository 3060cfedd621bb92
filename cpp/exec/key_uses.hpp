// Predicts the keys that a run will use: what it reads follows from the plan and its integers, never from
// ciphertexts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exec/executor.hpp"
#include "exec/map_sums.hpp"

namespace lw {

/// The keys of an instruction in the order of its operands, by their places in Plan::keys; none for one without keys.
std::vector<std::uint32_t> keys_of(const Plan& plan, const Instruction& instruction);
/// The level at which an instruction reads its keys.
Level key_level(const Plan& plan, const Instruction& instruction);

/// The keys that an instruction uses; nothing if it reads no key.
std::optional<KeyUse> use_of(const Context& context, const Plan& plan, const PlaintextProvider& plaintexts,
                             const Instruction& instruction);

/// Walks through a plan as a run does, and computes its integers only.
class PlanKeyUses final : public KeyUses {
 public:
  /// inputs: those of the run; from: the state that it goes on from. All must outlive this.
  PlanKeyUses(const Context& context, const Plan& plan, const PlaintextProvider& plaintexts,
              const std::vector<Input>& inputs, const std::optional<RunState>& from);

  std::optional<KeyUse> next() override;

 private:
  /// A block under way.
  struct Frame {
    std::uint32_t block;
    std::size_t place = 0;  // of the next instruction
    const Instruction* loop = nullptr;
    std::int64_t iteration = 0, trips = 0;
  };

  void step(const Instruction& instruction);
  void enter(std::uint32_t block, const Instruction* loop, std::int64_t iteration, std::int64_t trips);
  void leave();
  void start_loop(const Instruction& instruction);
  void pass(const std::vector<Operand>& from, std::size_t first, const std::vector<std::uint32_t>& to);

  const Context& context_;
  const Plan& plan_;
  const PlaintextProvider& plaintexts_;
  std::optional<StateOutline> outline_;  // of the state that the run goes on from, until its place is reached
  std::uint32_t resumed_place_ = 0;
  std::int64_t first_iteration_ = 0;  // of the loop there
  std::vector<std::int64_t> values_;  // of index registers
  std::vector<Frame> frames_;
};

}  // namespace lw
