#include "lanes/builder.hpp"

#include <algorithm>
#include <utility>

namespace lw::lanes {
namespace {

std::uint64_t key(Number operand, Number steps) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(operand)) << 32) | static_cast<std::uint32_t>(steps);
}

VectorCode vector_code(Code code) {
  switch (code) {
    case Code::kAdd:
      return VectorCode::kAdd;
    case Code::kSub:
      return VectorCode::kSub;
    case Code::kMul:
      return VectorCode::kMul;
    case Code::kNeg:
      return VectorCode::kNeg;
    case Code::kAddConstant:
      return VectorCode::kAddConstant;
    case Code::kMulConstant:
      return VectorCode::kMulConstant;
    case Code::kInput:
      break;
  }
  return VectorCode::kInput;
}

}  // namespace

Builder::Builder(const ScalarCircuit& circuit, const Values& values, const InstructionWeights& weights)
    : circuit_(circuit), values_(values), weights_(weights), places_(circuit.nodes.size()) {}

Number Builder::emit(VectorInstruction instruction, Content content, double cost, bool is_offered) {
  const Number number = size();
  work_ += 4 + static_cast<double>(content.size());
  is_offered = is_offered && instruction.code != VectorCode::kRotate;
  offered_.push_back(is_offered);
  if (is_offered) {
    for (const Held& held : content) {
      if (held.value >= 0) places_[held.value].push_back({number, held.lane});
    }
  }
  const bool is_product = instruction.code == VectorCode::kMul || instruction.code == VectorCode::kMulConstant;
  const bool is_binary = instruction.code == VectorCode::kMul || instruction.code == VectorCode::kAdd ||
                         instruction.code == VectorCode::kSub;
  const Number left = instruction.code == VectorCode::kInput ? 0 : depths_[instruction.left];
  depths_.push_back(is_product + std::max(left, is_binary ? depths_[instruction.right] : 0));
  instruction.stage = stage_;
  program_.code.push_back(std::move(instruction));
  program_.cost += cost;
  contents_.push_back(std::move(content));
  return number;
}

Number Builder::input(Number group, Number vector, Content content) {
  ++program_.counts.inputs;
  VectorInstruction made{.code = VectorCode::kInput, .left = group, .right = vector};
  for (const Held& held : content) made.table.emplace_back(held.lane, held.value);
  return emit(std::move(made), std::move(content), 0);
}

bool Builder::is_rotated(Number operand, Number steps) const { return rotations_.contains(key(operand, steps)); }

Number Builder::rotate(Number operand, Number steps) {
  if (steps == 0) return operand;
  const auto found = rotations_.find(key(operand, steps));
  if (found != rotations_.end()) return found->second;
  ++program_.counts.rotations;
  const Number made = emit({.code = VectorCode::kRotate, .left = operand, .steps = steps},
                           rotate_content(contents_[operand], steps, circuit_.width), weights_.rotate);
  rotations_.emplace(key(operand, steps), made);
  return made;
}

Number Builder::combine(Code code, Number left, Number right, bool is_partial) {
  ++(code == Code::kMul ? program_.counts.muls : program_.counts.adds);
  return emit({.code = vector_code(code), .left = left, .right = right},
              combine_contents(code, contents_[left], contents_[right], values_),
              code == Code::kMul ? weights_.mul : weights_.add, !is_partial);
}

Number Builder::negate(Number operand) {
  ++program_.counts.negs;
  Content content = contents_[operand];
  for (Held& held : content) held.value = values_.find(Code::kNeg, held.value, -1);
  return emit({.code = VectorCode::kNeg, .left = operand}, std::move(content), weights_.neg);
}

Number Builder::with_table(Code code, Number operand, std::vector<LaneEntry> table) {
  const bool is_product = code == Code::kMulConstant;
  ++(is_product ? program_.counts.mul_constants : program_.counts.add_constants);
  Content content = with_constants(code, contents_[operand], table, values_);
  return emit({.code = vector_code(code), .left = operand, .table = std::move(table)}, std::move(content),
              is_product ? weights_.mul_constant : weights_.add_constant);
}

Number Builder::mask(Number operand, const std::vector<Number>& lanes) {
  ++program_.counts.masks;
  VectorInstruction made{.code = VectorCode::kMulConstant, .left = operand, .is_mask = true};
  for (const Number lane : lanes) made.table.emplace_back(lane, kOne);
  return emit(std::move(made), keep_lanes(contents_[operand], lanes), weights_.mul_constant);
}

void Builder::restate(Number instruction, Number as, const std::vector<Number>& lanes) {
  Content& content = contents_[instruction];
  for (const Held& held : content) {
    if (held.value >= 0) places_[held.value].pop_back();
  }
  const Content taken = keep_lanes(contents_[as], lanes);
  Content stated;
  auto lane = lanes.begin();
  auto own = content.begin();
  auto other = taken.begin();
  while (own != content.end() || other != taken.end()) {
    const bool is_own = other == taken.end() || (own != content.end() && own->lane < other->lane);
    const Held held = is_own ? *own++ : *other++;
    if (!is_own && own != content.end() && own->lane == held.lane) ++own;
    while (lane != lanes.end() && *lane < held.lane) ++lane;
    if (is_own && lane != lanes.end() && *lane == held.lane) continue;  // the other one holds zero there
    stated.push_back(held);
  }
  content = std::move(stated);
  for (const Held& held : content) {
    if (held.value >= 0) places_[held.value].push_back({instruction, held.lane});
  }
}

void Builder::go_back(const Mark& mark) {
  while (program_.code.size() > mark.code) {
    const VectorInstruction& last = program_.code.back();
    if (last.code == VectorCode::kRotate) rotations_.erase(key(last.left, last.steps));
    if (offered_.back() != 0) {
      for (const Held& held : contents_.back()) {
        if (held.value >= 0) places_[held.value].pop_back();
      }
    }
    program_.code.pop_back();
    contents_.pop_back();
    offered_.pop_back();
    depths_.pop_back();
  }
  program_.counts = mark.counts;
  program_.cost = mark.cost;
}

}  // namespace lw::lanes
