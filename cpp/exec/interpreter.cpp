#include "exec/interpreter.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>

#include "backend/operation_scope.hpp"
#include "exec/index_values.hpp"
#include "exec/key_uses.hpp"
#include "exec/map_sums.hpp"
#include "exec/plan_check.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

/// The number of an instruction of the body; past its end for one of another block.
std::size_t place_in_body(const Plan& plan, const Instruction& instruction) {
  const std::vector<Instruction>& code = plan.body().code;
  const auto found =
      std::find_if(code.begin(), code.end(), [&](const Instruction& other) { return &other == &instruction; });
  return static_cast<std::size_t>(found - code.begin());
}

}  // namespace

template <class T>
std::vector<T> Interpreter::spend(const Instruction& instruction, std::size_t operand) {
  const Operand& spent = instruction.in[operand];
  const auto reads = std::count_if(instruction.in.begin(), instruction.in.end(),
                                   [&](const Operand& other) { return other.reg == spent.reg; });
  std::vector<T>& held = std::get<std::vector<T>>(registers_[spent.reg]);
  if (!spent.last_use || reads > 1) return held;
  return std::move(held);
}

template <class Function>
auto Interpreter::each(const Instruction& instruction, const Function& function) {
  Ciphertexts x = spend(instruction);
  const std::size_t count = plan_.type(instruction.out[0]).count;
  std::vector<decltype(function(std::move(x[0]), std::size_t{}))> results;
  results.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) call(observers_.tick);
    results.push_back(x.size() == count ? function(std::move(x[i]), i) : function(Ciphertext(x[0]), i));
  }
  return results;
}

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
  const StateOutline outline = *state_outline(plan_, from.loop);
  for (std::size_t i = 0; i < args.size(); ++i) define(body.args[i], std::move(args[i]));
  args.clear();
  for (const std::uint32_t reg : outline.kept) registers_[reg] = std::move(from.registers.at(reg));
  is_repeating_ = true;
  for (std::uint32_t i = 0; i < from.loop; ++i) {
    call(observers_.tick);
    if (outline.is_repeated[i]) {
      step(0, i);
    } else {
      release(body.code[i]);
    }
  }
  is_repeating_ = false;
  const std::uint32_t loop = from.loop;
  from_ = std::move(from);
  return run_code(0, loop);
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
    const bool is_inner = num_blocks(instruction.op) > 0;
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
  switch (instruction.op) {
    case Opcode::kFor:
      return run_for(instruction);
    case Opcode::kIf:
      return run_if(instruction);
    case Opcode::kCall:
      return run_call(instruction);
    default:
      break;
  }
  RegisterValues results;
  if (instruction.op == Opcode::kDiagSums) {
    results = run_diag_sums(instruction);
  } else {
    results.push_back(evaluate(instruction));
  }
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

Interpreter::RegisterValues Interpreter::run_diag_sums(const Instruction& instruction) {
  const std::vector<Operand>& in = instruction.in;
  const std::size_t num_keys = static_cast<std::size_t>(instruction.imm[0]);
  const HeldKeys none(std::vector<const EvaluationKey*>{});
  const SwitchKeys& keys = num_keys > 0 ? this->keys(instruction) : none;
  std::vector<std::size_t> all(num_keys);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::size_t num_sums = static_cast<std::size_t>(instruction.imm[1]);
  std::vector<Ciphertexts> sums(num_sums);
  for (std::size_t v = 0; v < plan_.type(instruction.out[0]).count; ++v) {
    std::vector<Evaluator::Diagonal> diagonals;
    for (std::size_t i = num_keys + 1; i < in.size(); ++i) {
      const std::size_t term = 2 * (i - num_keys);
      diagonals.push_back({static_cast<std::uint32_t>(instruction.imm[term]),
                           static_cast<std::uint32_t>(instruction.imm[term + 1]), &plain(in[i], v)});
    }
    call(observers_.tick);
    std::vector<Ciphertext> of_one = evaluator_.diag_sums(at<Digits>(in[0], v), keys, all, diagonals, num_sums);
    for (std::size_t g = 0; g < num_sums; ++g) sums[g].push_back(std::move(of_one[g]));
  }
  RegisterValues results;
  for (Ciphertexts& array : sums) results.emplace_back(std::move(array));
  return results;
}

Ciphertexts Interpreter::run_map_sums(const Instruction& instruction) {
  const SwitchKeys* keys = instruction.in.size() > 1 ? &this->keys(instruction) : nullptr;
  return map_sums(evaluator_, observers_.tick, constants_, static_cast<std::uint32_t>(instruction.imm[0]),
                  spend(instruction), keys, plan_.type(instruction.out[0]));
}

Ciphertexts Interpreter::sums(const Instruction& instruction) {
  Ciphertexts x = spend(instruction);
  const std::size_t groups = static_cast<std::size_t>(instruction.imm[0]), size = x.size() / groups;
  Ciphertexts results;
  for (std::size_t g = 0; g < groups; ++g) {
    Ciphertext total = std::move(x[g * size]);
    for (std::size_t k = g * size + 1; k < (g + 1) * size; ++k) {
      call(observers_.tick);
      const Ciphertext next = std::move(x[k]);
      total = evaluator_.add(std::move(total), next);
    }
    results.push_back(std::move(total));
  }
  return results;
}

Ciphertexts Interpreter::dots(const Instruction& instruction) {
  const std::vector<Operand>& in = instruction.in;
  const bool is_plain = plan_.type(in[1].reg).kind == TypeKind::kPlain;
  const std::size_t count = std::max(plan_.type(in[0].reg).count, plan_.type(in[1].reg).count);
  const std::size_t groups = static_cast<std::size_t>(instruction.imm[0]), size = count / groups;
  Ciphertexts results;
  for (std::size_t g = 0; g < groups; ++g) {
    call(observers_.tick);
    std::vector<const Ciphertext*> a, b;
    std::vector<const Plaintext*> p;
    for (std::size_t k = g * size; k < (g + 1) * size; ++k) {
      a.push_back(&cipher(in[0], k));
      if (is_plain) {
        p.push_back(&plain(in[1], k));
      } else {
        b.push_back(&cipher(in[1], k));
      }
    }
    results.push_back(is_plain ? evaluator_.dot_plain(a, p) : scheme_->dot(a, b));
  }
  return results;
}

std::size_t Interpreter::part(const Operand& number, std::size_t count) const {
  const std::int64_t at = index(number);
  if (at < 0 || static_cast<std::uint64_t>(at) >= count) {
    throw Error(ErrorKind::kRange,
                "there is no number " + std::to_string(at) + " of " + std::to_string(count) + ", counted from 0");
  }
  return static_cast<std::size_t>(at);
}

Ciphertexts Interpreter::take_at(const Instruction& instruction) {
  const Ciphertexts x = spend(instruction);
  const std::size_t size = plan_.type(instruction.out[0]).count, at = part(instruction.in[1], x.size() / size);
  Ciphertexts taken;
  for (std::size_t i = at * size; i < (at + 1) * size; ++i) taken.push_back(x[i]);
  return taken;
}

Ciphertexts Interpreter::put_at(const Instruction& instruction) {
  const Ciphertexts put = spend(instruction, 1);
  Ciphertexts array = spend(instruction);
  const std::size_t at = part(instruction.in[2], array.size() / put.size());
  for (std::size_t i = 0; i < put.size(); ++i) array[at * put.size() + i] = put[i];
  return array;
}

Interpreter::RegisterValues Interpreter::run_for(const Instruction& instruction) {
  const std::int64_t trip = index(instruction.in[0]), max_trip = instruction.imm[1];
  if (trip < 0 || trip > max_trip) {
    throw Error(ErrorKind::kRange,
                "for: trip count " + std::to_string(trip) + " is not between 0 and " + std::to_string(max_trip));
  }
  RegisterValues carried = take(instruction, 1);
  const std::size_t place = place_in_body(plan_, instruction);
  std::optional<StateOutline> outline;
  if (observers_.on_turn && !is_repeating_) outline = state_outline(plan_, place);
  std::int64_t first = 0;
  if (from_) {
    if (from_->of != trip) {
      throw Error(ErrorKind::kFormat,
                  "for: the state is one of " + std::to_string(from_->of) + " turns, not of " + std::to_string(trip));
    }
    first = from_->turns;
    const std::vector<std::uint32_t>& args = plan_.blocks()[static_cast<std::size_t>(instruction.imm[0])].args;
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = std::move(from_->registers.at(args[i + 1]));
    from_.reset();
  }
  for (std::int64_t i = first; i < trip; ++i) {
    call(observers_.tick);
    RegisterValues args(1);
    args[0] = i;
    std::move(carried.begin(), carried.end(), std::back_inserter(args));
    carried = run_block(static_cast<std::uint32_t>(instruction.imm[0]), std::move(args));
    if (outline) report_turn(*outline, carried, {static_cast<std::uint32_t>(place), i + 1, trip, {}});
  }
  return carried;
}

void Interpreter::report_turn(const StateOutline& outline, const RegisterValues& carried, RunState state) const {
  for (std::size_t i = 0; i < carried.size(); ++i) {
    state.registers[outline.carried[i]] = std::get<Ciphertexts>(carried[i]);
  }
  for (const std::uint32_t reg : outline.kept) state.registers[reg] = std::get<Ciphertexts>(registers_[reg]);
  observers_.on_turn(state);
}

Interpreter::RegisterValues Interpreter::run_if(const Instruction& instruction) {
  const bool condition = index(instruction.in[0]) != 0;
  return run_block(static_cast<std::uint32_t>(instruction.imm[condition ? 0 : 1]), take(instruction, 1));
}

/// No block that is under way is entered again, so a called block has its registers to itself.
Interpreter::RegisterValues Interpreter::run_call(const Instruction& instruction) {
  return run_block(static_cast<std::uint32_t>(instruction.imm[0]), take(instruction, 0));
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

Interpreter::RegisterValue Interpreter::evaluate(const Instruction& instruction) {
  const ValueType& type = plan_.type(instruction.out[0]);
  switch (instruction.op) {
    case Opcode::kEncode:
      return constants_.acquire(static_cast<std::uint32_t>(instruction.imm[0]), type);
    case Opcode::kEncodeAt:
      return constants_.acquire(
          static_cast<std::uint32_t>(instruction.imm[part(instruction.in[0], instruction.imm.size())]), type);
    case Opcode::kKey:
      return {};
    case Opcode::kHoist:
      return each(instruction,
                  [&](Ciphertext x, std::size_t) { return evaluator_.hoist(x, !is_read_once_[instruction.out[0]]); });
    default:
      return type.kind == TypeKind::kIndex ? RegisterValue(evaluate_index(instruction))
                                           : RegisterValue(evaluate_array(instruction));
  }
}

Ciphertexts Interpreter::evaluate_array(const Instruction& instruction) {
  const std::vector<Operand>& in = instruction.in;
  const std::vector<std::int64_t>& imm = instruction.imm;
  const double scale = plan_.type(instruction.out[0]).scale;
  const Evaluator& e = evaluator_;
  using Cipher = Ciphertext;
  using Index = std::size_t;
  switch (instruction.op) {
    case Opcode::kAdd:
      return each(instruction, [&](Cipher x, Index i) { return e.add(std::move(x), cipher(in[1], i)); });
    case Opcode::kSub:
      return each(instruction, [&](Cipher x, Index i) { return e.sub(std::move(x), cipher(in[1], i)); });
    case Opcode::kNeg:
      return each(instruction, [&](Cipher x, Index) { return e.neg(std::move(x)); });
    case Opcode::kAddPlain:
      return each(instruction, [&](Cipher x, Index i) { return e.add_plain(std::move(x), plain(in[1], i)); });
    case Opcode::kSubPlain:
      return each(instruction, [&](Cipher x, Index i) { return e.sub_plain(std::move(x), plain(in[1], i)); });
    case Opcode::kMulPlain:
      return each(instruction, [&](Cipher x, Index i) { return e.mul_plain(std::move(x), plain(in[1], i)); });
    case Opcode::kMulInt:
      return each(instruction, [&](Cipher x, Index) { return e.mul_int(std::move(x), imm[0], scale); });
    case Opcode::kMulMonomial:
      return each(instruction,
                  [&](Cipher x, Index) { return e.mul_monomial(std::move(x), static_cast<std::uint64_t>(imm[0])); });
    case Opcode::kAddInt:
      return each(instruction, [&](Cipher x, Index) { return scheme_->add_int(std::move(x), imm[0]); });
    case Opcode::kMul:
      return each(instruction, [&](Cipher x, Index i) { return scheme_->mul(x, cipher(in[1], i)); });
    case Opcode::kSquare:
      return each(instruction, [&](Cipher x, Index) { return scheme_->square(x); });
    case Opcode::kMulRelinearize: {
      const SwitchKeys& key = keys(instruction);
      return each(instruction, [&](Cipher x, Index i) { return scheme_->mul_relinearize(x, cipher(in[1], i), key); });
    }
    case Opcode::kTake: {
      const Ciphertexts x = spend(instruction);
      Ciphertexts taken;
      for (const std::int64_t number : imm) taken.push_back(x[static_cast<std::size_t>(number)]);
      return taken;
    }
    case Opcode::kConcat: {
      Ciphertexts joined;
      for (std::size_t i = 0; i < in.size(); ++i) {
        Ciphertexts part = spend(instruction, i);
        std::move(part.begin(), part.end(), std::back_inserter(joined));
      }
      return joined;
    }
    case Opcode::kTakeAt:
      return take_at(instruction);
    case Opcode::kPutAt:
      return put_at(instruction);
    case Opcode::kSum:
      return sums(instruction);
    case Opcode::kDot:
      return dots(instruction);
    case Opcode::kMapSums:
      return run_map_sums(instruction);
    default:
      return evaluate_key_switch(instruction);
  }
}

Ciphertexts Interpreter::evaluate_key_switch(const Instruction& instruction) {
  const std::vector<Operand>& in = instruction.in;
  const ValueType& type = plan_.type(instruction.out[0]);
  const Evaluator& e = evaluator_;
  using Cipher = Ciphertext;
  using Index = std::size_t;
  switch (instruction.op) {
    case Opcode::kKeyProduct: {
      const SwitchKeys& key = keys(instruction);
      Ciphertexts products;
      for (Digits& held : spend<Digits>(instruction)) {
        call(observers_.tick);
        const Digits digits = std::move(held);  // gone after its product
        products.push_back(e.key_product(digits, key));
      }
      return products;
    }
    case Opcode::kRotate: {
      const SwitchKeys& key = keys(instruction);
      return each(instruction, [&](Cipher x, Index) { return e.rotate(x, key, type.level); });
    }
    case Opcode::kRelinearize: {
      const SwitchKeys& key = keys(instruction);
      return each(instruction, [&](Cipher x, Index) { return e.relinearize(x, key, type.level); });
    }
    case Opcode::kToSparse: {
      const SwitchKeys& key = keys(instruction);
      return each(instruction, [&](Cipher x, Index) { return e.to_sparse(x, key); });
    }
    case Opcode::kModRaise: {
      const SwitchKeys& key = keys(instruction);
      return each(instruction, [&](Cipher x, Index) { return e.mod_raise(x, key, type.level, instruction.imm[0]); });
    }
    case Opcode::kExtend:
      return each(instruction, [&](Cipher x, Index) { return e.extend(x); });
    case Opcode::kModDown:
      return each(instruction, [&](Cipher x, Index) { return e.mod_down(x, type.level, type.scale); });
    case Opcode::kDropLevel:
      return each(instruction, [&](Cipher x, Index) { return e.drop_level(x, type.level); });
    case Opcode::kRelabel:
      return each(instruction, [&](Cipher x, Index) { return e.relabel(x, type.level, type.scale, type.slots); });
    default: {
      Ciphertexts values;
      for (Index i = 0; i < type.count; ++i) {
        values.push_back(e.trivial(plain(in[0], i)));
        values.back().key_set = key_set_;
      }
      return values;
    }
  }
}

std::int64_t Interpreter::evaluate_index(const Instruction& instruction) const {
  return index_value(instruction, [this](const Operand& operand) { return index(operand); });
}

}  // namespace lw
