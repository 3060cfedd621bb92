#include "exec/key_uses.hpp"

#include <numeric>

#include "exec/index_values.hpp"

namespace lw {

std::vector<std::uint32_t> keys_of(const Plan& plan, const Instruction& instruction) {
  std::vector<std::uint32_t> keys;
  if (info(instruction.op).num_blocks() > 0 || instruction.op == Opcode::kYield) return keys;  // hand their names on
  for (const Operand& operand : instruction.in) {
    const ValueType& type = plan.type(operand.reg);
    if (type.kind == TypeKind::kKey) keys.push_back(type.key);
  }
  return keys;
}

Level key_level(const Plan& plan, const Instruction& instruction) {
  const std::vector<std::uint32_t> keys = keys_of(plan, instruction);
  const bool is_late = !keys.empty() && plan.keys()[keys[0]].kind == KeyKind::kToDense;  // read when it is raised
  return is_late ? plan.type(instruction.out[0]).level : plan.type(instruction.in[0].reg).level;
}

namespace {

/// The ways through the limbs that an instruction makes for all ciphertexts of its arrays.
std::vector<std::vector<std::size_t>> passes(const Context& context, const Plan& plan,
                                             const PlaintextProvider& plaintexts, const Instruction& instruction,
                                             std::size_t num_keys) {
  std::vector<std::size_t> all(num_keys);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const ValueType& result = plan.type(instruction.out[0]);
  if (!info(instruction.op).names('m')) return std::vector<std::vector<std::size_t>>(result.count, all);
  const std::uint32_t num_inputs = plan.type(instruction.in[0].reg).count;
  std::vector<std::vector<std::size_t>> found;
  const std::vector<MapProduct> products = plaintexts.products(static_cast<std::uint32_t>(instruction.imm[0]));
  const std::size_t at_once = plaintexts_at_once(context, plaintexts, result);
  for (std::uint32_t input = 0; input < num_inputs; ++input) {
    for (const MapPass& pass : map_passes(products, input, at_once)) {
      if (!pass.keys.empty()) found.push_back(pass.keys);
    }
  }
  return found;
}

}  // namespace

std::optional<KeyUse> use_of(const Context& context, const Plan& plan, const PlaintextProvider& plaintexts,
                             const Instruction& instruction) {
  const std::vector<std::uint32_t> keys = keys_of(plan, instruction);
  if (keys.empty()) return std::nullopt;
  KeyUse use;
  for (const std::uint32_t key : keys) use.keys.push_back(plan.keys()[key]);
  use.level = key_level(plan, instruction);
  use.passes = passes(context, plan, plaintexts, instruction, keys.size());
  return use;
}

PlanKeyUses::PlanKeyUses(const Context& context, const Plan& plan, const PlaintextProvider& plaintexts,
                         const std::vector<Input>& inputs, const std::optional<RunState>& from)
    : context_(context), plan_(plan), plaintexts_(plaintexts), values_(plan.num_registers()) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (const std::int64_t* value = std::get_if<std::int64_t>(&inputs[i])) values_[plan.body().args[i]] = *value;
  }
  if (from) {
    outline_ = outline_of(plan, *from);
    resumed_place_ = from->place;
    first_iteration_ = from->iterations;
  }
  frames_.push_back({0});
}

std::optional<KeyUse> PlanKeyUses::next() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    const std::vector<Instruction>& code = plan_.blocks()[frame.block].code;
    const Instruction& instruction = code[frame.place];
    if (frame.place + 1 == code.size()) {
      leave();
      continue;
    }
    const std::size_t place = frame.place++;
    if (outline_ && frames_.size() == 1 && place < resumed_place_ && !outline_->is_repeated[place]) continue;
    if (auto use = use_of(context_, plan_, plaintexts_, instruction)) return use;
    step(instruction);
  }
  return std::nullopt;
}

void PlanKeyUses::step(const Instruction& instruction) {
  switch (instruction.op) {
    case Opcode::kFor:
      start_loop(instruction);
      return;
    case Opcode::kIf: {
      const std::uint32_t block =
          static_cast<std::uint32_t>(instruction.imm[values_[instruction.in[0].reg] != 0 ? 0 : 1]);
      pass(instruction.in, 1, plan_.blocks()[block].args);
      enter(block, &instruction, 0, 0);
      return;
    }
    case Opcode::kCall: {
      const std::uint32_t block = static_cast<std::uint32_t>(instruction.imm[0]);
      pass(instruction.in, 0, plan_.blocks()[block].args);
      enter(block, &instruction, 0, 0);
      return;
    }
    default:
      break;
  }
  if (instruction.out.empty() || plan_.type(instruction.out[0]).kind != TypeKind::kIndex) return;
  values_[instruction.out[0]] =
      index_value(instruction, [this](const Operand& operand) { return values_[operand.reg]; });
}

void PlanKeyUses::start_loop(const Instruction& instruction) {
  const std::uint32_t block = static_cast<std::uint32_t>(instruction.imm[0]);
  const std::vector<std::uint32_t>& args = plan_.blocks()[block].args;
  const std::int64_t trips = values_[instruction.in[0].reg];
  std::int64_t first = 0;
  if (outline_ && frames_.size() == 1 && frames_[0].place == resumed_place_ + 1) {
    first = first_iteration_;
    outline_.reset();
  }
  if (first >= trips) {
    pass(instruction.in, 1, instruction.out);
    return;
  }
  pass(instruction.in, 1, {args.begin() + 1, args.end()});
  values_[args[0]] = first;
  enter(block, &instruction, first, trips);
}

void PlanKeyUses::enter(std::uint32_t block, const Instruction* outer, std::int64_t iteration, std::int64_t trips) {
  frames_.push_back({block, 0, outer, iteration, trips});
}

/// Leaves a block: the values that it yields go round its loop, or to the results of the instruction that ran it.
void PlanKeyUses::leave() {
  Frame& frame = frames_.back();
  const Block& block = plan_.blocks()[frame.block];
  if (frame.loop == nullptr) {
    frames_.pop_back();
    return;
  }
  const std::vector<Operand>& yielded = block.code.back().in;
  if (frame.loop->op == Opcode::kFor && ++frame.iteration < frame.trips) {
    pass(yielded, 0, {block.args.begin() + 1, block.args.end()});
    values_[block.args[0]] = frame.iteration;
    frame.place = 0;
    return;
  }
  pass(yielded, 0, frame.loop->out);
  frames_.pop_back();
}

/// Passes integers between registers, all at once: a carried value may be read by another.
void PlanKeyUses::pass(const std::vector<Operand>& from, std::size_t first, const std::vector<std::uint32_t>& to) {
  std::vector<std::int64_t> moved;
  for (std::size_t i = 0; i < to.size(); ++i) moved.push_back(values_[from[first + i].reg]);
  for (std::size_t i = 0; i < to.size(); ++i) values_[to[i]] = moved[i];
}

}  // namespace lw
