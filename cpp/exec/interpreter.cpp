#include "exec/interpreter.hpp"

#include <algorithm>
#include <chrono>

#include "backend/operation_scope.hpp"
#include "exec/key_uses.hpp"
#include "exec/plan_check.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

/// By register: whether it is read once and last used there.
std::vector<bool> read_once(const Plan& plan) {
  std::vector<std::uint32_t> reads(plan.num_registers());
  std::vector<bool> result(plan.num_registers());
  for (const Block& block : plan.blocks()) {
    for (const Instruction& instruction : block.code) {
      for (const Operand& operand : instruction.in) {
        result[operand.reg] = ++reads[operand.reg] == 1 && operand.last_use;
      }
    }
  }
  return result;
}

/// By register: whether it holds plaintexts, each of which is read once, and that by a sum of products.
std::vector<bool> for_sums(const Plan& plan) {
  std::vector<bool> result(plan.num_registers());
  const std::vector<bool> is_read_once = read_once(plan);
  for (const Block& block : plan.blocks()) {
    for (const Instruction& instruction : block.code) {
      if (instruction.op != Opcode::kDiagSums) continue;
      for (const Operand& operand : instruction.in) {
        const ValueType& type = plan.type(operand.reg);
        result[operand.reg] = type.kind == TypeKind::kPlain && is_read_once[operand.reg] &&
                              type.count == plan.type(instruction.out[0]).count;
      }
    }
  }
  return result;
}

std::vector<bool> watched(const Plan& plan, const Observers& observers) {
  std::vector<bool> result(plan.num_registers());
  for (const std::uint32_t reg : observers.watch) result[reg] = true;
  return result;
}

std::vector<bool> without(std::vector<bool> set, const std::vector<std::uint32_t>& members) {
  for (const std::uint32_t member : members) set[member] = false;
  return set;
}

}  // namespace

Interpreter::Interpreter(const Context& context, const Plan& plan, std::unique_ptr<KeyRun> keys,
                         const KeySetId& key_set, PlanConstants& constants, const Observers& observers)
    : plan_(plan),
      keys_(std::move(keys)),
      key_set_(key_set),
      constants_(constants),
      observers_(observers),
      evaluator_(context, observers.tick),
      scheme_(make_scheme(context, observers.tick)),
      registers_(plan.num_registers()),
      is_watched_(watched(plan, observers)),
      is_for_sums_(for_sums(plan)),
      is_read_once_(read_once(plan)),
      linear_(plan, context.ring().degree(), without(is_read_once_, observers.watch)) {
  if (!observers.on_state) return;
  std::vector<bool> is_form(plan.num_registers());
  for (std::uint32_t reg = 0; reg < is_form.size(); ++reg) is_form[reg] = linear_.is_kept(reg);
  is_told_ = told_places(plan, is_form);
}

std::vector<Ciphertexts> Interpreter::run(std::vector<Input> inputs, std::optional<RunState> from) {
  RegisterValues args;
  for (Input& input : inputs) {
    std::visit([&args](auto&& value) { args.emplace_back(std::move(value)); }, std::move(input));
  }
  inputs.clear();
  const Ring& ring = evaluator_.context().ring();
  if (observers_.on_event) clock_ = ring.device().clock(ring.queue());
  std::vector<Ciphertexts> outputs;
  RegisterValues yielded = from ? resume(std::move(args), *std::move(from)) : run_block(0, std::move(args));
  for (RegisterValue& value : yielded) outputs.push_back(std::get<Ciphertexts>(std::move(value)));
  if (clock_ != nullptr) report_past(true);
  return outputs;
}

Interpreter::RegisterValues Interpreter::resume(RegisterValues args, RunState from) {
  const Block& body = plan_.body();
  const StateOutline outline = *outline_of(plan_, from);
  for (std::size_t i = 0; i < args.size(); ++i) define(body.args[i], std::move(args[i]));
  args.clear();
  for (const std::uint32_t reg : outline.kept) registers_[reg] = std::move(from.registers.at(reg));
  is_repeating_ = true;
  for (std::uint32_t i = 0; i < from.place; ++i) {
    call(observers_.tick);
    if (outline.is_repeated[i]) {
      step(0, i);
    } else {
      release(body.code[i]);
    }
  }
  is_repeating_ = false;
  const std::uint32_t place = from.place;
  if (from.iterations > 0) from_ = std::move(from);
  return run_code(0, place);
}

Interpreter::RegisterValues Interpreter::run_block(std::uint32_t number, RegisterValues args) {
  const Block& block = plan_.blocks()[number];
  for (std::size_t i = 0; i < args.size(); ++i) define(block.args[i], std::move(args[i]));
  args.clear();
  return run_code(number, 0);
}

Interpreter::RegisterValues Interpreter::run_code(std::uint32_t number, std::uint32_t first) {
  const Block& block = plan_.blocks()[number];
  for (std::uint32_t i = first; i + 1 < block.code.size(); ++i) {
    if (number == 0 && i > first && !is_told_.empty() && is_told_[i]) {
      report_state(*place_outline(plan_, i), {}, {i, 0, 0, {}});
    }
    const bool is_reported = observers_.on_event && !is_repeating_;
    const bool is_late = is_reported && clock_ != nullptr;
    const std::uint64_t start_ns = is_reported ? now_ns() : 0;
    const std::size_t start = is_late ? clock_->mark() : 0;
    call(observers_.tick);
    step(number, i);
    if (is_late) {
      carried_.push_back({number, i, start, clock_->mark()});
      report_past(false);
    } else if (is_reported) {
      report(number, i, start_ns, now_ns());
    }
  }
  RegisterValues yielded = take(block.code.back(), 0);
  release(block.code.back());
  return yielded;
}

void Interpreter::step(std::uint32_t number, std::uint32_t i) {
  const Instruction& instruction = plan_.blocks()[number].code[i];
  const OperationScope scope(OperationKind::kInstruction, info(instruction.op).name);
  RegisterValues results;
  try {
    results = execute(instruction);
  } catch (const Error& error) {
    const bool is_inner = info(instruction.op).num_blocks() > 0;
    if (is_inner || error.kind() == ErrorKind::kCancelled) throw;  // the inner instruction has named itself
    throw Error(error.kind(), "block " + std::to_string(number) + ", instruction " + std::to_string(i) + " (" +
                                  info(instruction.op).name + "): " + error.what());
  }
  for (std::size_t k = 0; k < results.size(); ++k) define(instruction.out[k], std::move(results[k]));
  release(instruction);
}

void Interpreter::define(std::uint32_t reg, RegisterValue value) {
  registers_[reg] = std::move(value);
  if (is_watched_[reg] && observers_.on_watch) observers_.on_watch(reg, std::get<Ciphertexts>(registers_[reg]));
}

void Interpreter::release(const Instruction& instruction) {
  for (const Operand& operand : instruction.in) {
    if (operand.last_use) registers_[operand.reg] = std::monostate();
  }
  for (const std::uint32_t reg : instruction.release) registers_[reg] = std::monostate();
}

void Interpreter::report_past(bool wait) {
  const std::size_t past = clock_->num_past(wait);
  for (; !carried_.empty() && carried_.front().end < past; carried_.pop_front()) {
    const Carried& done = carried_.front();
    const std::uint64_t now = now_ns();
    const bool is_timed = clock_->is_timed();
    report(done.block, done.instruction, is_timed ? clock_->time_ns(done.start) : now,
           is_timed ? clock_->time_ns(done.end) : now);
  }
}

void Interpreter::report(std::uint32_t block, std::uint32_t instruction, std::uint64_t start_ns,
                         std::uint64_t end_ns) const {
  const Instruction& done = plan_.blocks()[block].code[instruction];
  std::int64_t level = -1;
  if (!done.out.empty()) {
    const ValueType& type = plan_.type(done.out[0]);
    if (type.kind != TypeKind::kIndex && type.kind != TypeKind::kKey) level = type.level.index;
  }
  observers_.on_event({info(done.op).name, block, instruction, level, start_ns, end_ns});
}

Interpreter::RegisterValues Interpreter::take(const Instruction& instruction, std::size_t from) {
  RegisterValues values;
  for (std::size_t i = from; i < instruction.in.size(); ++i) values.push_back(registers_[instruction.in[i].reg]);
  for (const Operand& operand : instruction.in) {
    if (operand.last_use) registers_[operand.reg] = std::monostate();
  }
  return values;
}

Interpreter::RegisterValues Interpreter::execute(const Instruction& instruction) {
  RegisterValues results = carry_out(instruction);
  if (info(instruction.op).num_blocks() > 0) return results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ValueType& type = plan_.type(instruction.out[i]);
    if (Ciphertexts* values = std::get_if<Ciphertexts>(&results[i])) {
      for (Ciphertext& value : *values) {  // labels are the stated ones, to the last bit
        value.scale = type.scale;
        value.slots = type.slots;
      }
    }
  }
  return results;
}

void Interpreter::report_state(const StateOutline& outline, const RegisterValues& carried, RunState state) const {
  for (std::size_t i = 0; i < carried.size(); ++i) {
    state.registers[outline.carried[i]] = std::get<Ciphertexts>(carried[i]);
  }
  for (const std::uint32_t reg : outline.kept) state.registers[reg] = std::get<Ciphertexts>(registers_[reg]);
  observers_.on_state(state);
}

/// A run and what foretells its uses go through the code side by side: that they meet is checked.
const SwitchKeys& Interpreter::keys(const Instruction& instruction) {
  const SwitchKeys& found = keys_->next();
  const std::vector<std::uint32_t> named = keys_of(plan_, instruction);
  bool are_they = found.size() == named.size();
  for (std::size_t k = 0; are_they && k < named.size(); ++k) {
    const KeySpec& spec = plan_.keys()[named[k]];
    are_they = found.spec(k).kind == spec.kind && found.spec(k).galois_element == spec.galois_element;
  }
  if (!are_they) throw Error(ErrorKind::kValue, "the keys that come are not those that it needs");
  return found;
}

}  // namespace lw
