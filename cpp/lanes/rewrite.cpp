#include "lanes/rewrite.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace lw::lanes {
namespace {

bool is_sum(Code code) { return code == Code::kAdd || code == Code::kSub; }

class Rewriter {
 public:
  Rewriter(const Circuit& circuit, bool reassociate) : from_(circuit), reassociate_(reassociate) {
    made_.circuit.groups = circuit.groups;
    for (Group& group : made_.circuit.groups) {
      if (!group.fixed.empty()) group.packing = Packing::kGrouped;  // every element lies where it is said to
    }
    made_.circuit.width = circuit.width;
  }

  Rewritten run() {
    const std::size_t count = from_.nodes.size();
    uses_.assign(count, 0);
    user_.assign(count, -1);
    std::vector<unsigned char> needed(count, 0);
    for (const Number output : from_.outputs) {
      needed[output] = 1;
      uses_[output] += 2;  // the value itself is wanted, whatever else reads it
    }
    for (std::size_t i = count; i-- > 0;) {
      if (needed[i] == 0) continue;
      for (const Number operand : operands(from_.nodes[i])) {
        needed[operand] = 1;
        ++uses_[operand];
        user_[operand] = static_cast<Number>(i);
      }
    }
    becomes_.assign(count, -1);
    for (std::size_t i = 0; i < count; ++i) {
      const Number number = static_cast<Number>(i);
      const bool is_input = from_.nodes[i].code == Code::kInput;  // kept, so that fixed lanes stay in step
      if (is_input || (needed[i] != 0 && !is_inner(number))) becomes_[i] = rebuilt(number);
    }
    for (const Number output : from_.outputs) made_.circuit.outputs.push_back(becomes_[output]);
    return std::move(made_);
  }

 private:
  static std::vector<Number> operands(const Node& node) {
    if (node.code == Code::kInput) return {};
    if (is_binary(node.code)) return {node.left, node.right};
    return {node.left};
  }

  // Whether a node is a part of a longer sum or product and nothing else.
  bool is_inner(Number number) const {
    if (!reassociate_ || uses_[number] != 1) return false;
    const Code own = from_.nodes[number].code, user = from_.nodes[user_[number]].code;
    return (is_sum(own) && is_sum(user)) || (own == Code::kMul && user == Code::kMul);
  }

  Number rebuilt(Number number) {
    const Node& node = from_.nodes[number];
    if (node.code == Code::kInput) return add(node, number);
    if (reassociate_ && (is_sum(node.code) || node.code == Code::kMul)) {
      std::vector<Number> plus, minus;
      collect(number, false, plus, minus);
      const Code code = node.code == Code::kMul ? Code::kMul : Code::kAdd;
      if (plus.empty()) {  // only of differences of differences: leave them as they are
        return add({node.code, becomes_[node.left], becomes_[node.right]}, number);
      }
      Number result = tree(code, plus, 0, plus.size());
      if (!minus.empty()) result = add({Code::kSub, result, tree(Code::kAdd, minus, 0, minus.size())}, -1);
      made_.origin[result] = number;
      return result;
    }
    Node own = node;
    own.left = becomes_[node.left];
    if (is_binary(node.code)) own.right = becomes_[node.right];
    return add(own, number);
  }

  void collect(Number number, bool is_negative, std::vector<Number>& plus, std::vector<Number>& minus) {
    const Node& node = from_.nodes[number];
    for (const bool is_right : {false, true}) {
      const Number operand = is_right ? node.right : node.left;
      const bool sign = is_negative != (is_right && node.code == Code::kSub);
      if (is_inner(operand)) {
        collect(operand, sign, plus, minus);
      } else {
        (sign ? minus : plus).push_back(becomes_[operand]);
      }
    }
  }

  Number tree(Code code, const std::vector<Number>& terms, std::size_t first, std::size_t last) {
    if (last - first == 1) return terms[first];
    const std::size_t left = std::bit_floor(last - first - 1);
    const Number a = tree(code, terms, first, first + left), b = tree(code, terms, first + left, last);
    return add({code, a, b}, -1);
  }

  Number add(Node node, Number origin) {
    if (node.code != Code::kInput) {
      auto key = std::make_tuple(node.code, node.left, node.right);
      if (is_commutative(node.code) && node.right < node.left) key = std::make_tuple(node.code, node.right, node.left);
      const auto [found, is_new] = numbers_.emplace(key, static_cast<Number>(made_.circuit.nodes.size()));
      if (!is_new) return found->second;
    }
    made_.circuit.nodes.push_back(node);
    made_.origin.push_back(origin);
    return static_cast<Number>(made_.circuit.nodes.size()) - 1;
  }

  const Circuit& from_;
  bool reassociate_;
  Rewritten made_;
  std::vector<Number> uses_, user_, becomes_;
  std::map<std::tuple<Code, Number, Number>, Number> numbers_;
};

}  // namespace

Rewritten rewritten(const Circuit& circuit, bool reassociate) { return Rewriter(circuit, reassociate).run(); }

}  // namespace lw::lanes
