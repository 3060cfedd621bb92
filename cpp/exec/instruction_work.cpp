// The work of each instruction in a run: a function for each opcode. An opcode without one does not compile.
#include <algorithm>
#include <iterator>
#include <numeric>

#include "exec/index_values.hpp"
#include "exec/interpreter.hpp"
#include "exec/map_sums.hpp"
#include "math/error.hpp"

namespace lw {
namespace {

/// The number of an instruction of the body; past its end for one of another block.
std::size_t place_in_body(const Plan& plan, const Instruction& instruction) {
  const std::vector<Instruction>& code = plan.body().code;
  const auto found =
      std::find_if(code.begin(), code.end(), [&](const Instruction& other) { return &other == &instruction; });
  return static_cast<std::size_t>(found - code.begin());
}

}  // namespace

/// The results of an instruction that has one.
Interpreter::RegisterValues Interpreter::one(RegisterValue value) {
  RegisterValues results;
  results.push_back(std::move(value));
  return results;
}

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
auto Interpreter::each(const Instruction& instruction, const Function& function) -> RegisterValues {
  Ciphertexts x = spend(instruction);
  const std::size_t count = plan_.type(instruction.out[0]).count;
  std::vector<decltype(function(std::move(x[0]), std::size_t{}))> results;
  results.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) call(observers_.tick);
    results.push_back(x.size() == count ? function(std::move(x[i]), i) : function(Ciphertext(x[0]), i));
  }
  return one(std::move(results));
}

std::size_t Interpreter::part(const Operand& number, std::size_t count) const {
  const std::int64_t at = index(number);
  if (at < 0 || static_cast<std::uint64_t>(at) >= count) {
    throw Error(ErrorKind::kRange,
                "there is no number " + std::to_string(at) + " of " + std::to_string(count) + ", counted from 0");
  }
  return static_cast<std::size_t>(at);
}

// -- blocks ------------------------------------------------------------------------------

template <>
auto Interpreter::work<Opcode::kFor>(const Instruction& instruction) -> RegisterValues {
  const std::int64_t trip = index(instruction.in[0]), max_trip = instruction.imm[1];
  if (trip < 0 || trip > max_trip) {
    throw Error(ErrorKind::kRange,
                "for: trip count " + std::to_string(trip) + " is not between 0 and " + std::to_string(max_trip));
  }
  RegisterValues carried = take(instruction, 1);
  const std::size_t place = place_in_body(plan_, instruction);
  std::optional<StateOutline> outline;
  if (observers_.on_state && !is_repeating_) outline = loop_outline(plan_, place);
  std::int64_t first = 0;
  if (from_) {
    if (from_->of != trip) {
      throw Error(ErrorKind::kFormat, "for: the state is one of " + std::to_string(from_->of) + " iterations, not of " +
                                          std::to_string(trip));
    }
    first = from_->iterations;
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
    if (outline) report_state(*outline, carried, {static_cast<std::uint32_t>(place), i + 1, trip, {}});
  }
  return carried;
}

template <>
auto Interpreter::work<Opcode::kIf>(const Instruction& instruction) -> RegisterValues {
  const bool condition = index(instruction.in[0]) != 0;
  return run_block(static_cast<std::uint32_t>(instruction.imm[condition ? 0 : 1]), take(instruction, 1));
}

/// Runs a called block. No block that is under way is entered again, so it has its registers to itself.
template <>
auto Interpreter::work<Opcode::kCall>(const Instruction& instruction) -> RegisterValues {
  return run_block(static_cast<std::uint32_t>(instruction.imm[0]), take(instruction, 0));
}

// -- constants and keys ------------------------------------------------------------------

template <>
auto Interpreter::work<Opcode::kEncode>(const Instruction& instruction) -> RegisterValues {
  const auto constant = static_cast<std::uint32_t>(instruction.imm[0]);
  return one(constants_.acquire(constant, plan_.type(instruction.out[0]), is_for_sums_[instruction.out[0]]));
}

template <>
auto Interpreter::work<Opcode::kEncodeAt>(const Instruction& instruction) -> RegisterValues {
  const std::int64_t constant = instruction.imm[part(instruction.in[0], instruction.imm.size())];
  return one(constants_.acquire(static_cast<std::uint32_t>(constant), plan_.type(instruction.out[0]),
                                is_for_sums_[instruction.out[0]]));
}

template <>
auto Interpreter::work<Opcode::kKey>(const Instruction&) -> RegisterValues {
  return RegisterValues(1);  // a name: what reads it asks for the key
}

template <>
auto Interpreter::work<Opcode::kTrivial>(const Instruction& instruction) -> RegisterValues {
  Ciphertexts values;
  for (std::size_t i = 0; i < plan_.type(instruction.out[0]).count; ++i) {
    values.push_back(evaluator_.trivial(plain(instruction.in[0], i)));
    values.back().key_set = key_set_;
  }
  return one(std::move(values));
}

// -- sums --------------------------------------------------------------------------------

template <>
auto Interpreter::work<Opcode::kAdd>(const Instruction& instruction) -> RegisterValues {
  return each(instruction,
              [&](Ciphertext x, std::size_t i) { return evaluator_.add(std::move(x), cipher(instruction.in[1], i)); });
}

template <>
auto Interpreter::work<Opcode::kSub>(const Instruction& instruction) -> RegisterValues {
  return each(instruction,
              [&](Ciphertext x, std::size_t i) { return evaluator_.sub(std::move(x), cipher(instruction.in[1], i)); });
}

template <>
auto Interpreter::work<Opcode::kNeg>(const Instruction& instruction) -> RegisterValues {
  return each(instruction, [&](Ciphertext x, std::size_t) { return evaluator_.neg(std::move(x)); });
}

template <>
auto Interpreter::work<Opcode::kAddPlain>(const Instruction& instruction) -> RegisterValues {
  return each(instruction, [&](Ciphertext x, std::size_t i) {
    return evaluator_.add_plain(std::move(x), plain(instruction.in[1], i));
  });
}

template <>
auto Interpreter::work<Opcode::kSubPlain>(const Instruction& instruction) -> RegisterValues {
  return each(instruction, [&](Ciphertext x, std::size_t i) {
    return evaluator_.sub_plain(std::move(x), plain(instruction.in[1], i));
  });
}

template <>
auto Interpreter::work<Opcode::kAddInt>(const Instruction& instruction) -> RegisterValues {
  return each(instruction,
              [&](Ciphertext x, std::size_t) { return scheme_->add_int(std::move(x), instruction.imm[0]); });
}

template <>
auto Interpreter::work<Opcode::kSum>(const Instruction& instruction) -> RegisterValues {
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
  return one(std::move(results));
}

// -- products ----------------------------------------------------------------------------

template <>
auto Interpreter::work<Opcode::kMul>(const Instruction& instruction) -> RegisterValues {
  return each(instruction, [&](Ciphertext x, std::size_t i) { return scheme_->mul(x, cipher(instruction.in[1], i)); });
}

template <>
auto Interpreter::work<Opcode::kSquare>(const Instruction& instruction) -> RegisterValues {
  return each(instruction, [&](Ciphertext x, std::size_t) { return scheme_->square(x); });
}

template <>
auto Interpreter::work<Opcode::kMulRelinearize>(const Instruction& instruction) -> RegisterValues {
  const SwitchKeys& key = keys(instruction);
  return each(instruction, [&](Ciphertext x, std::size_t i) {
    return scheme_->mul_relinearize(x, cipher(instruction.in[1], i), key);
  });
}

template <>
auto Interpreter::work<Opcode::kMulPlain>(const Instruction& instruction) -> RegisterValues {
  return each(instruction, [&](Ciphertext x, std::size_t i) {
    return evaluator_.mul_plain(std::move(x), plain(instruction.in[1], i));
  });
}

template <>
auto Interpreter::work<Opcode::kMulInt>(const Instruction& instruction) -> RegisterValues {
  const double scale = plan_.type(instruction.out[0]).scale;
  return each(instruction,
              [&](Ciphertext x, std::size_t) { return evaluator_.mul_int(std::move(x), instruction.imm[0], scale); });
}

template <>
auto Interpreter::work<Opcode::kMulMonomial>(const Instruction& instruction) -> RegisterValues {
  const auto exponent = static_cast<std::uint64_t>(instruction.imm[0]);
  return each(instruction, [&](Ciphertext x, std::size_t) { return evaluator_.mul_monomial(std::move(x), exponent); });
}

template <>
auto Interpreter::work<Opcode::kDot>(const Instruction& instruction) -> RegisterValues {
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
  return one(std::move(results));
}

// -- key switches and divisions ----------------------------------------------------------

template <>
auto Interpreter::work<Opcode::kHoist>(const Instruction& instruction) -> RegisterValues {
  return each(instruction,
              [&](Ciphertext x, std::size_t) { return evaluator_.hoist(x, !is_read_once_[instruction.out[0]]); });
}

template <>
auto Interpreter::work<Opcode::kKeyProduct>(const Instruction& instruction) -> RegisterValues {
  const SwitchKeys& key = keys(instruction);
  Ciphertexts products;
  for (Digits& held : spend<Digits>(instruction)) {
    call(observers_.tick);
    const Digits digits = std::move(held);  // gone after its product
    products.push_back(evaluator_.key_product(digits, key));
  }
  return one(std::move(products));
}

template <>
auto Interpreter::work<Opcode::kModDown>(const Instruction& instruction) -> RegisterValues {
  const ValueType& type = plan_.type(instruction.out[0]);
  return each(instruction, [&](Ciphertext x, std::size_t) { return evaluator_.mod_down(x, type.level, type.scale); });
}

template <>
auto Interpreter::work<Opcode::kRotate>(const Instruction& instruction) -> RegisterValues {
  const SwitchKeys& key = keys(instruction);
  const Level to = plan_.type(instruction.out[0]).level;
  return each(instruction, [&](Ciphertext x, std::size_t) { return evaluator_.rotate(x, key, to); });
}

template <>
auto Interpreter::work<Opcode::kRotateOverP>(const Instruction& instruction) -> RegisterValues {
  const SwitchKeys& key = keys(instruction);
  return each(instruction, [&](Ciphertext x, std::size_t) { return evaluator_.rotate_over_p(x, key); });
}

template <>
auto Interpreter::work<Opcode::kRelinearize>(const Instruction& instruction) -> RegisterValues {
  const SwitchKeys& key = keys(instruction);
  const Level to = plan_.type(instruction.out[0]).level;
  return each(instruction, [&](Ciphertext x, std::size_t) { return evaluator_.relinearize(x, key, to); });
}

template <>
auto Interpreter::work<Opcode::kToSparse>(const Instruction& instruction) -> RegisterValues {
  const SwitchKeys& key = keys(instruction);
  return each(instruction, [&](Ciphertext x, std::size_t) { return evaluator_.to_sparse(x, key); });
}

template <>
auto Interpreter::work<Opcode::kModRaise>(const Instruction& instruction) -> RegisterValues {
  const SwitchKeys& key = keys(instruction);
  const Level to = plan_.type(instruction.out[0]).level;
  return each(instruction,
              [&](Ciphertext x, std::size_t) { return evaluator_.mod_raise(x, key, to, instruction.imm[0]); });
}

template <>
auto Interpreter::work<Opcode::kDiagSums>(const Instruction& instruction) -> RegisterValues {
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

template <>
auto Interpreter::work<Opcode::kMapSums>(const Instruction& instruction) -> RegisterValues {
  const SwitchKeys* keys = instruction.in.size() > 1 ? &this->keys(instruction) : nullptr;
  return one(map_sums(evaluator_, observers_.tick, constants_, static_cast<std::uint32_t>(instruction.imm[0]),
                      spend(instruction), keys, plan_.type(instruction.out[0])));
}

template <>
auto Interpreter::work<Opcode::kPublicMatmul>(const Instruction& instruction) -> RegisterValues {
  const ValueType& type = plan_.type(instruction.out[0]);
  const Ciphertexts x = spend(instruction);
  const double scale = type.scale / x[0].scale;
  const WeightMatrix& weights =
      constants_.weights(static_cast<std::uint32_t>(instruction.imm[0]), {type.count, x.size()}, scale);
  return one(evaluator_.matrix_product(x, weights, type.scale));
}

// -- what changes how values are held ----------------------------------------------------

template <>
auto Interpreter::work<Opcode::kDropLevel>(const Instruction& instruction) -> RegisterValues {
  const Level to = plan_.type(instruction.out[0]).level;
  return each(instruction, [&](Ciphertext x, std::size_t) { return evaluator_.drop_level(x, to); });
}

template <>
auto Interpreter::work<Opcode::kRelabel>(const Instruction& instruction) -> RegisterValues {
  const ValueType& type = plan_.type(instruction.out[0]);
  return each(instruction,
              [&](Ciphertext x, std::size_t) { return evaluator_.relabel(x, type.level, type.scale, type.slots); });
}

template <>
auto Interpreter::work<Opcode::kExtend>(const Instruction& instruction) -> RegisterValues {
  return each(instruction, [&](Ciphertext x, std::size_t) { return evaluator_.extend(x); });
}

template <>
auto Interpreter::work<Opcode::kTake>(const Instruction& instruction) -> RegisterValues {
  const Ciphertexts x = spend(instruction);
  Ciphertexts taken;
  for (const std::int64_t number : instruction.imm) taken.push_back(x[static_cast<std::size_t>(number)]);
  return one(std::move(taken));
}

template <>
auto Interpreter::work<Opcode::kConcat>(const Instruction& instruction) -> RegisterValues {
  Ciphertexts joined;
  for (std::size_t i = 0; i < instruction.in.size(); ++i) {
    Ciphertexts array = spend(instruction, i);
    std::move(array.begin(), array.end(), std::back_inserter(joined));
  }
  return one(std::move(joined));
}

template <>
auto Interpreter::work<Opcode::kTakeAt>(const Instruction& instruction) -> RegisterValues {
  const Ciphertexts x = spend(instruction);
  const std::size_t size = plan_.type(instruction.out[0]).count, at = part(instruction.in[1], x.size() / size);
  Ciphertexts taken;
  for (std::size_t i = at * size; i < (at + 1) * size; ++i) taken.push_back(x[i]);
  return one(std::move(taken));
}

template <>
auto Interpreter::work<Opcode::kPutAt>(const Instruction& instruction) -> RegisterValues {
  const Ciphertexts put = spend(instruction, 1);
  Ciphertexts array = spend(instruction);
  const std::size_t at = part(instruction.in[2], array.size() / put.size());
  for (std::size_t i = 0; i < put.size(); ++i) array[at * put.size() + i] = put[i];
  return one(std::move(array));
}

// ----------------------------------------------------------------------------------------

/// The function of an opcode; none of yield, at which whoever runs the block stops.
template <Opcode op>
constexpr auto Interpreter::work_of() -> Work {
  if constexpr (op == Opcode::kYield) {
    return nullptr;
  } else if constexpr (makes_index(op)) {
    return &Interpreter::count;
  } else {
    return &Interpreter::work<op>;
  }
}

Interpreter::RegisterValues Interpreter::count(const Instruction& instruction) {
  return one(index_value(instruction, [this](const Operand& operand) { return index(operand); }));
}

Interpreter::RegisterValues Interpreter::carry_out(const Instruction& instruction) {
  static constexpr Work kWork[] = {
#define LW_OPCODE(enumerator, name, in, out, imm, schemes) work_of<Opcode::enumerator>(),
#include "exec/opcodes.def"
#undef LW_OPCODE
  };
  if (linear_.has_part_in(instruction)) return combine(instruction);
  return (this->*kWork[static_cast<std::size_t>(instruction.op)])(instruction);
}

LinearRole linear_role(const Instruction& instruction, std::uint32_t ring_degree) noexcept {
  switch (instruction.op) {
    case Opcode::kMulInt:
      return fits_form(instruction.imm[0]) ? LinearRole::kMultiplies : LinearRole::kNone;
    case Opcode::kMulMonomial:
      return instruction.imm[0] % (ring_degree / 2) == 0 ? LinearRole::kTurns : LinearRole::kNone;
    case Opcode::kAdd:
    case Opcode::kSub:
    case Opcode::kNeg:
      return LinearRole::kJoins;
    default:
      return LinearRole::kNone;
  }
}

std::vector<LinearForm> Interpreter::forms(const Instruction& instruction, std::size_t operand) {
  if (auto* kept = std::get_if<std::vector<LinearForm>>(&registers_[instruction.in[operand].reg])) {
    return std::move(*kept);
  }
  std::vector<LinearForm> forms;
  for (Ciphertext& x : spend(instruction, operand)) forms.emplace_back(std::move(x));
  return forms;
}

auto Interpreter::combine(const Instruction& instruction) -> RegisterValues {
  std::vector<LinearForm> results;
  if (instruction.op == Opcode::kMulInt) {
    for (Ciphertext& x : spend(instruction)) results.emplace_back(std::move(x), instruction.imm[0]);
  } else {
    results = forms(instruction, 0);
    const std::uint64_t half = evaluator_.context().ring().degree() / 2;
    if (instruction.op == Opcode::kMulMonomial) {
      for (LinearForm& form : results) form.turn(static_cast<std::uint64_t>(instruction.imm[0]) / half);
    } else if (instruction.op == Opcode::kNeg) {
      for (LinearForm& form : results) form.negate();
    } else {
      std::vector<LinearForm> others = forms(instruction, 1);
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (instruction.op == Opcode::kSub) others[i].negate();
        results[i].add(std::move(others[i]));
      }
    }
  }
  const bool is_kept = linear_.is_kept(instruction.out[0]);
  const double scale = plan_.type(instruction.out[0]).scale;
  Ciphertexts values;
  for (LinearForm& form : results) {
    if (is_kept && !form.is_wasteful()) continue;
    call(observers_.tick);
    Ciphertext value = std::move(form).value(evaluator_, scale);
    if (is_kept) {
      form = LinearForm(std::move(value));
    } else {
      values.push_back(std::move(value));
    }
  }
  if (is_kept) return one(std::move(results));
  return one(std::move(values));
}

}  // namespace lw
