#include "exec/interpreter.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "exec/plan_check.hpp"
#include "math/error.hpp"
#include "schemes/ckks/mul.hpp"

namespace lw {
namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace

Interpreter::Interpreter(const Context& context, const Plan& plan, KeyProvider& keys, PlaintextProvider& plaintexts,
                         const Observers& observers)
    : plan_(plan),
      keys_(keys),
      plaintexts_(plaintexts),
      observers_(observers),
      evaluator_(context, observers.tick),
      registers_(plan.num_registers()),
      is_watched_(plan.num_registers()),
      is_read_once_(plan.num_registers()) {
  for (const std::uint32_t reg : observers.watch) is_watched_[reg] = true;
  std::vector<std::uint32_t> reads(plan.num_registers());
  for (const Block& block : plan.blocks()) {
    for (const Instruction& instruction : block.code) {
      for (const Operand& operand : instruction.in) ++reads[operand.reg];
    }
  }
  for (const Block& block : plan.blocks()) {
    for (const Instruction& instruction : block.code) {
      for (const Operand& operand : instruction.in) {
        is_read_once_[operand.reg] = reads[operand.reg] == 1 && operand.last_use;
      }
    }
  }
}

std::vector<Ciphertext> Interpreter::run(std::vector<Input> inputs) {
  Values args;
  for (Input& input : inputs) {
    std::visit([&args](auto&& value) { args.emplace_back(std::move(value)); }, std::move(input));
  }
  inputs.clear();
  std::vector<Ciphertext> outputs;
  for (Value& value : run_block(0, std::move(args))) outputs.push_back(std::get<Ciphertext>(std::move(value)));
  return outputs;
}

Interpreter::Values Interpreter::run_block(std::uint32_t number, Values args) {
  const Block& block = plan_.blocks()[number];
  for (std::size_t i = 0; i < args.size(); ++i) define(block.args[i], std::move(args[i]));
  args.clear();
  for (std::uint32_t i = 0; i + 1 < block.code.size(); ++i) {
    const Instruction& instruction = block.code[i];
    const std::uint64_t start_ns = observers_.on_event ? now_ns() : 0;
    call(observers_.tick);
    Values results;
    try {
      results = execute(instruction);
    } catch (const Error& error) {
      const bool is_inner = instruction.op == Opcode::kFor || instruction.op == Opcode::kIf;
      if (is_inner || error.kind() == ErrorKind::kCancelled) throw;  // the inner instruction has named itself
      throw Error(error.kind(), "block " + std::to_string(number) + ", instruction " + std::to_string(i) + " (" +
                                    info(instruction.op).name + "): " + error.what());
    }
    for (std::size_t k = 0; k < results.size(); ++k) define(instruction.out[k], std::move(results[k]));
    release(instruction);
    if (observers_.on_event) report(number, i, start_ns);
  }
  Values yielded = take(block.code.back(), 0);
  release(block.code.back());
  return yielded;
}

void Interpreter::define(std::uint32_t reg, Value value) {
  registers_[reg] = std::move(value);
  if (is_watched_[reg] && observers_.on_watch) observers_.on_watch(reg, std::get<Ciphertext>(registers_[reg]));
}

void Interpreter::release(const Instruction& instruction) {
  for (const Operand& operand : instruction.in) {
    if (operand.last_use) registers_[operand.reg] = std::monostate();
  }
  for (const std::uint32_t reg : instruction.release) registers_[reg] = std::monostate();
}

void Interpreter::report(std::uint32_t block, std::uint32_t instruction, std::uint64_t start_ns) const {
  const Instruction& done = plan_.blocks()[block].code[instruction];
  std::int64_t level = -1;
  if (!done.out.empty()) {
    const ValueType& type = plan_.type(done.out[0]);
    if (type.kind != TypeKind::kIndex && type.kind != TypeKind::kKey) level = type.level.index;
  }
  observers_.on_event({info(done.op).name, block, instruction, level, start_ns, now_ns()});
}

Interpreter::Values Interpreter::take(const Instruction& instruction, std::size_t from) {
  Values values;
  for (std::size_t i = from; i < instruction.in.size(); ++i) values.push_back(registers_[instruction.in[i].reg]);
  for (const Operand& operand : instruction.in) {
    if (operand.last_use) registers_[operand.reg] = std::monostate();
  }
  return values;
}

Interpreter::Values Interpreter::execute(const Instruction& instruction) {
  switch (instruction.op) {
    case Opcode::kFor:
      return run_for(instruction);
    case Opcode::kIf:
      return run_if(instruction);
    default:
      break;
  }
  Values results;
  if (instruction.op == Opcode::kDiagSums) {
    results = run_diag_sums(instruction);
  } else {
    results.push_back(evaluate(instruction));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ValueType& type = plan_.type(instruction.out[i]);
    if (Ciphertext* value = std::get_if<Ciphertext>(&results[i])) {  // labels are the stated ones, to the last bit
      value->scale = type.scale;
      value->slots = type.slots;
    }
  }
  return results;
}

Interpreter::Values Interpreter::run_diag_sums(const Instruction& instruction) {
  const std::vector<Operand>& in = instruction.in;
  const std::size_t num_keys = static_cast<std::size_t>(instruction.imm[0]);
  std::vector<const EvaluationKey*> keys;
  for (std::size_t k = 1; k <= num_keys; ++k) keys.push_back(&key(in[k]));
  std::vector<Evaluator::Diagonal> diagonals;
  for (std::size_t i = num_keys + 1; i < in.size(); ++i) {
    const std::size_t term = 2 * (i - num_keys);
    diagonals.push_back({static_cast<std::uint32_t>(instruction.imm[term]),
                         static_cast<std::uint32_t>(instruction.imm[term + 1]), &plain(in[i])});
  }
  const Digits& digits = std::get<Digits>(registers_[in[0].reg]);
  Values results;
  for (Ciphertext& sum : evaluator_.diag_sums(digits, keys, diagonals, static_cast<std::size_t>(instruction.imm[1]))) {
    results.emplace_back(std::move(sum));
  }
  return results;
}

Ciphertext Interpreter::spend(const Instruction& instruction) {
  const Operand& first = instruction.in[0];
  const auto reads = std::count_if(instruction.in.begin(), instruction.in.end(),
                                   [&](const Operand& operand) { return operand.reg == first.reg; });
  if (!first.last_use || reads > 1) return cipher(first);
  return std::move(std::get<Ciphertext>(registers_[first.reg]));
}

Interpreter::Values Interpreter::run_for(const Instruction& instruction) {
  const std::int64_t trip = index(instruction.in[0]), max_trip = instruction.imm[1];
  if (trip < 0 || trip > max_trip) {
    throw Error(ErrorKind::kRange,
                "for: trip count " + std::to_string(trip) + " is not between 0 and " + std::to_string(max_trip));
  }
  Values carried = take(instruction, 1);
  for (std::int64_t i = 0; i < trip; ++i) {
    call(observers_.tick);
    Values args(1);
    args[0] = i;
    std::move(carried.begin(), carried.end(), std::back_inserter(args));
    carried = run_block(static_cast<std::uint32_t>(instruction.imm[0]), std::move(args));
  }
  return carried;
}

Interpreter::Values Interpreter::run_if(const Instruction& instruction) {
  const bool condition = index(instruction.in[0]) != 0;
  return run_block(static_cast<std::uint32_t>(instruction.imm[condition ? 0 : 1]), take(instruction, 1));
}

Interpreter::Value Interpreter::evaluate(const Instruction& instruction) {
  const std::vector<Operand>& in = instruction.in;
  const ValueType& type = plan_.type(instruction.out[0]);
  switch (instruction.op) {
    case Opcode::kEncode:
      return plaintexts_.acquire(static_cast<std::uint32_t>(instruction.imm[0]), type);
    case Opcode::kKey:
      return keys_.acquire(plan_.keys()[type.key]);
    case Opcode::kAdd:
      return evaluator_.add(spend(instruction), cipher(in[1]));
    case Opcode::kSub:
      return evaluator_.sub(spend(instruction), cipher(in[1]));
    case Opcode::kNeg:
      return evaluator_.neg(spend(instruction));
    case Opcode::kAddPlain:
      return evaluator_.add_plain(spend(instruction), plain(in[1]));
    case Opcode::kSubPlain:
      return evaluator_.sub_plain(spend(instruction), plain(in[1]));
    case Opcode::kMulPlain:
      return evaluator_.mul_plain(spend(instruction), plain(in[1]));
    case Opcode::kMulInt:
      return evaluator_.mul_int(spend(instruction), instruction.imm[0], type.scale);
    case Opcode::kMulMonomial:
      return evaluator_.mul_monomial(spend(instruction), static_cast<std::uint64_t>(instruction.imm[0]));
    case Opcode::kAddInt:
      return evaluator_.add_int(spend(instruction), instruction.imm[0]);
    case Opcode::kMul:
      return ckks::mul(evaluator_, cipher(in[0]), cipher(in[1]));
    case Opcode::kSquare:
      return ckks::square(evaluator_, cipher(in[0]));
    default:
      return type.kind == TypeKind::kIndex ? Value(evaluate_index(instruction)) : evaluate_key_switch(instruction);
  }
}

Interpreter::Value Interpreter::evaluate_key_switch(const Instruction& instruction) {
  const std::vector<Operand>& in = instruction.in;
  const ValueType& type = plan_.type(instruction.out[0]);
  switch (instruction.op) {
    case Opcode::kHoist:
      return evaluator_.hoist(cipher(in[0]), !is_read_once_[instruction.out[0]]);
    case Opcode::kKeyProduct:
      return evaluator_.key_product(std::get<Digits>(registers_[in[0].reg]), key(in[1]));
    case Opcode::kRotate:
      return evaluator_.rotate(cipher(in[0]), key(in[1]), type.level);
    case Opcode::kRelinearize:
      return evaluator_.relinearize(cipher(in[0]), key(in[1]), type.level);
    case Opcode::kExtend:
      return evaluator_.extend(cipher(in[0]));
    case Opcode::kToSparse:
      return evaluator_.to_sparse(cipher(in[0]), key(in[1]));
    case Opcode::kModRaise:
      return evaluator_.mod_raise(cipher(in[0]), key(in[1]), type.level, instruction.imm[0]);
    case Opcode::kModDown:
      return evaluator_.mod_down(cipher(in[0]), type.level, type.scale);
    case Opcode::kDropLevel:
      return evaluator_.drop_level(cipher(in[0]), type.level);
    case Opcode::kRelabel:
      return evaluator_.relabel(cipher(in[0]), type.level, type.scale, type.slots);
    default: {
      Ciphertext value = evaluator_.trivial(plain(in[0]));
      value.key_set = keys_.id();
      return value;
    }
  }
}

/// Wraps around modulo 2^64: index arithmetic on public values has no undefined case.
std::int64_t Interpreter::evaluate_index(const Instruction& instruction) const {
  if (instruction.op == Opcode::kIconst) return instruction.imm[0];
  const std::int64_t a = index(instruction.in[0]), b = index(instruction.in[1]);
  const std::uint64_t x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (instruction.op) {
    case Opcode::kIadd:
      return static_cast<std::int64_t>(x + y);
    case Opcode::kIsub:
      return static_cast<std::int64_t>(x - y);
    case Opcode::kImul:
      return static_cast<std::int64_t>(x * y);
    case Opcode::kImin:
      return std::min(a, b);
    default:
      return a < b ? 1 : 0;
  }
}

}  // namespace lw
