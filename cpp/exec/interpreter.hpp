// The loop that executes checked code: one object per run.
#pragma once

#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include "exec/executor.hpp"
#include "exec/linear_forms.hpp"
#include "exec/plan_constants.hpp"
#include "rlwe/evaluator.hpp"

namespace lw {

class Interpreter {
 public:
  /// keys: of this run alone; key_set: theirs.
  Interpreter(const Context& context, const Plan& plan, std::unique_ptr<KeyRun> keys, const KeySetId& key_set,
              PlanConstants& constants, const Observers& observers);

  /// Calls all of it on the running queue, and waits for nothing.
  std::vector<Ciphertexts> run(std::vector<Input> inputs, std::optional<RunState> from);

 private:
  /// The contents of a register; arrays of handles, so that a copy copies no limbs. Nothing of a key, which is a name:
  /// the instruction that reads it asks for it.
  using RegisterValue = std::variant<std::monostate, std::int64_t, Ciphertexts, std::vector<Plaintext>,
                                     std::vector<Digits>, std::vector<LinearForm>>;
  using RegisterValues = std::vector<RegisterValue>;

  RegisterValues run_block(std::uint32_t block, RegisterValues args);
  /// Runs a block from instruction `first` on; its arguments and all results before it must be in registers.
  RegisterValues run_code(std::uint32_t block, std::uint32_t first);
  void step(std::uint32_t block, std::uint32_t instruction);
  /// Runs the body from a state on.
  RegisterValues resume(RegisterValues args, RunState from);
  RegisterValues execute(const Instruction& instruction);
  /// What the rest of the run needs goes to on_state: carried values of a loop between two iterations, and registers.
  void report_state(const StateOutline& outline, const RegisterValues& carried, RunState state) const;
  // What instructions do, in instruction_work.cpp.
  using Work = RegisterValues (Interpreter::*)(const Instruction&);
  /// Carries out an instruction, by opcode; declared for all, and defined for each.
  template <Opcode op>
  RegisterValues work(const Instruction& instruction) = delete;
  template <Opcode op>
  static constexpr Work work_of();
  RegisterValues carry_out(const Instruction& instruction);
  /// The same for one whose result or operands are linear forms.
  RegisterValues combine(const Instruction& instruction);
  std::vector<LinearForm> forms(const Instruction& instruction, std::size_t operand);
  /// Arithmetic on public integers.
  RegisterValues count(const Instruction& instruction);
  static RegisterValues one(RegisterValue value);

  /// The operands from place `from` on; the last uses among them leave their registers.
  RegisterValues take(const Instruction& instruction, std::size_t from);
  void define(std::uint32_t reg, RegisterValue value);
  void release(const Instruction& instruction);
  void report(std::uint32_t block, std::uint32_t instruction, std::uint64_t start_ns, std::uint64_t end_ns) const;
  /// Reports instructions whose calls are done, in their order; all after waiting for them, if `wait`.
  void report_past(bool wait);

  /// An operand, which leaves its register if nothing reads it after this: its limbs may then become the result's.
  template <class T = Ciphertext>
  std::vector<T> spend(const Instruction& instruction, std::size_t operand = 0);
  /// function(ciphertext, i) for each of the first operand, which is given up one by one where it is spent, and of as
  /// many as the result has, where one meets an array.
  template <class Function>
  RegisterValues each(const Instruction& instruction, const Function& function);
  /// The value of a run-time integer that selects one of `count` parts; throws kRange.
  std::size_t part(const Operand& number, std::size_t count) const;

  /// Number i of an array, or the one that meets each of another.
  template <class T>
  const T& at(const Operand& operand, std::size_t i) const {
    const std::vector<T>& array = std::get<std::vector<T>>(registers_[operand.reg]);
    return array[array.size() == 1 ? 0 : i];
  }
  const Ciphertext& cipher(const Operand& operand, std::size_t i) const { return at<Ciphertext>(operand, i); }
  const Plaintext& plain(const Operand& operand, std::size_t i) const { return at<Plaintext>(operand, i); }
  /// The keys that an instruction reads, until the next one asks.
  const SwitchKeys& keys(const Instruction& instruction);
  std::int64_t index(const Operand& operand) const { return std::get<std::int64_t>(registers_[operand.reg]); }

  const Plan& plan_;
  std::unique_ptr<KeyRun> keys_;
  const KeySetId& key_set_;
  PlanConstants& constants_;
  const Observers& observers_;
  Evaluator evaluator_;
  std::unique_ptr<const Scheme> scheme_;
  std::vector<RegisterValue> registers_;
  /// An instruction that was carried out, between two moments of the queue.
  struct Carried {
    std::uint32_t block, instruction;
    std::size_t start, end;
  };
  std::unique_ptr<QueueClock> clock_;  // if somebody asks for events of a device
  std::deque<Carried> carried_;        // and not reported yet
  std::optional<RunState> from_;       // until its loop is entered
  bool is_repeating_ = false;          // what is done again before a state is reached
  std::vector<bool> is_told_;          // of the body's instructions: whether the state before it is
  std::vector<bool> is_watched_;
  std::vector<bool> is_for_sums_;   // plaintexts of one sum of products each
  std::vector<bool> is_read_once_;  // read once and last used there, hence not inside a loop that it is outside of
  LinearResults linear_;
};

}  // namespace lw
