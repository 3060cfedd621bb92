#include "lanes/lane_contents.hpp"

#include <algorithm>

namespace lw::lanes {
namespace {

std::uint64_t key(Code code, Number left, Number right) {
  return (static_cast<std::uint64_t>(code) << 60) ^
         (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 30) ^ static_cast<std::uint32_t>(right);
}

}  // namespace

Values::Values(const ScalarCircuit& circuit) {
  for (std::size_t i = 0; i < circuit.nodes.size(); ++i) {
    const Node& node = circuit.nodes[i];
    first_.push_back(static_cast<Number>(i));
    if (node.code == Code::kInput) continue;
    const Number left = first_[node.left], right = is_binary(node.code) ? first_[node.right] : node.right;
    first_[i] = numbers_.emplace(key(node.code, left, right), static_cast<Number>(i)).first->second;
    if (is_commutative(node.code)) numbers_.emplace(key(node.code, right, left), first_[i]);
  }
}

Number Values::find(Code code, Number left, Number right) const {
  if (left < 0 || (right < 0 && code != Code::kNeg)) return kAnything;
  const auto found = numbers_.find(key(code, left, right));
  return found == numbers_.end() ? kAnything : found->second;
}

Content rotate_content(const Content& content, Number steps, Number width) {
  Content result;
  result.reserve(content.size());
  const auto first = std::lower_bound(content.begin(), content.end(), steps,
                                      [](const Held& held, Number lane) { return held.lane < lane; });
  for (auto it = first; it != content.end(); ++it) result.push_back({it->lane - steps, it->value});
  for (auto it = content.begin(); it != first; ++it) result.push_back({it->lane - steps + width, it->value});
  return result;
}

Content keep_lanes(const Content& content, const std::vector<Number>& lanes) {
  Content result;
  auto lane = lanes.begin();
  for (const Held& held : content) {
    while (lane != lanes.end() && *lane < held.lane) ++lane;
    if (lane == lanes.end()) break;
    if (*lane == held.lane) result.push_back(held);
  }
  return result;
}

Content combine_contents(Code code, const Content& left, const Content& right, const Values& values) {
  Content result;
  result.reserve(code == Code::kMul ? std::min(left.size(), right.size()) : left.size() + right.size());
  auto a = left.begin();
  auto b = right.begin();
  while (a != left.end() || b != right.end()) {
    if (b == right.end() || (a != left.end() && a->lane < b->lane)) {
      if (code != Code::kMul) result.push_back(*a);
      ++a;
    } else if (a == left.end() || b->lane < a->lane) {
      if (code == Code::kAdd) result.push_back(*b);
      if (code == Code::kSub) result.push_back({b->lane, values.find(Code::kNeg, b->value, -1)});
      ++b;
    } else {
      result.push_back({a->lane, values.find(code, a->value, b->value)});
      ++a;
      ++b;
    }
  }
  return result;
}

Content with_constants(Code code, const Content& content, const std::vector<std::pair<Number, Number>>& table,
                       const Values& values) {
  Content result;
  auto a = content.begin();
  for (const auto& [lane, constant] : table) {
    for (; a != content.end() && a->lane < lane; ++a) {
      if (code == Code::kAddConstant) result.push_back(*a);
    }
    if (a != content.end() && a->lane == lane) {
      result.push_back({lane, values.find(code, a->value, constant)});
      ++a;
    } else if (code == Code::kAddConstant) {
      result.push_back({lane, kAnything});
    }
  }
  if (code == Code::kAddConstant) result.insert(result.end(), a, content.end());
  return result;
}

}  // namespace lw::lanes
