#include "lanes/rewrite.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "lanes/grouped_sums.hpp"

namespace lw::lanes {
namespace {

bool is_sum(Code code) { return code == Code::kAdd || code == Code::kSub; }

// The same without nodes that no output needs; inputs stay.
Rewritten needed_of(const Rewritten& all) {
  const std::vector<Node>& nodes = all.circuit.nodes;
  std::vector<unsigned char> needed(nodes.size(), 0);
  for (const Number output : all.circuit.outputs) needed[output] = 1;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].code == Code::kInput) needed[i] = 1;
    if (needed[i] == 0 || nodes[i].code == Code::kInput) continue;
    needed[nodes[i].left] = 1;
    if (is_binary(nodes[i].code)) needed[nodes[i].right] = 1;
  }
  Rewritten made{{{}, all.circuit.groups, {}, all.circuit.width}, {}};
  std::vector<Number> place(nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (needed[i] == 0) continue;
    Node own = nodes[i];
    if (own.code != Code::kInput) own.left = place[own.left];
    if (is_binary(own.code)) own.right = place[own.right];
    place[i] = static_cast<Number>(made.circuit.nodes.size());
    made.circuit.nodes.push_back(own);
    made.origin.push_back(all.origin[i]);
  }
  for (const Number output : all.circuit.outputs) made.circuit.outputs.push_back(place[output]);
  return made;
}

class Rewriter {
 public:
  Rewriter(const ScalarCircuit& circuit, Association association) : from_(circuit), association_(association) {
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
    return association_ == Association::kRows ? needed_of(made_) : std::move(made_);
  }

 private:
  static std::vector<Number> operands(const Node& node) {
    if (node.code == Code::kInput) return {};
    if (is_binary(node.code)) return {node.left, node.right};
    return {node.left};
  }

  bool is_reassociated() const { return association_ != Association::kAsWritten; }

  // Whether a node is a part of a longer sum or product and nothing else.
  bool is_inner(Number number) const {
    if (!is_reassociated() || uses_[number] != 1) return false;
    const Code own = from_.nodes[number].code, user = from_.nodes[user_[number]].code;
    return (is_sum(own) && is_sum(user)) || (own == Code::kMul && user == Code::kMul);
  }

  Number rebuilt(Number number) {
    const Node& node = from_.nodes[number];
    if (node.code == Code::kInput) return add(node, number);
    if (is_reassociated() && (is_sum(node.code) || node.code == Code::kMul)) {
      std::vector<SumTerm> terms;
      if (association_ == Association::kRows && is_sum(node.code)) {
        terms = rows_of(number);
      } else {
        collect(number, {}, terms);
      }
      std::vector<Number> plus, minus;
      for (const SumTerm& term : terms) (term.is_negative ? minus : plus).push_back(term.node);
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

  // The terms of a sum, in rows where that may be; sums times a public number are terms times it there.
  std::vector<SumTerm> rows_of(Number number) {
    std::vector<SumTerm> terms, scaled;
    collect(number, {}, terms);
    if (std::all_of(terms.begin(), terms.end(), [](const SumTerm& term) { return term.is_negative; })) return terms;
    collect(number, {.is_scaled = true}, scaled);
    const MakeNode make = [this](Node made) { return add(made, -1); };
    std::vector<SumTerm> rows = in_rows(scaled, made_.circuit.nodes, kinds_, make);
    return rows.size() < scaled.size() ? rows : terms;
  }

  struct Collecting {
    bool is_negative = false;
    bool is_scaled = false;  // whether sums times a public number are gone into
    Number constant = -1;    // that every term is multiplied by
  };

  void collect(Number number, Collecting how, std::vector<SumTerm>& terms) {
    const Node& node = from_.nodes[number];
    for (const bool is_right : {false, true}) {
      const Number operand = is_right ? node.right : node.left;
      Collecting own = how;
      own.is_negative = how.is_negative != (is_right && node.code == Code::kSub);
      if (is_inner(operand)) {
        collect(operand, own, terms);
      } else if (how.is_scaled && how.constant < 0 && is_scaled_sum(operand)) {
        own.constant = from_.nodes[operand].right;
        collect(from_.nodes[operand].left, own, terms);
      } else {
        const Number made = becomes_[operand];
        terms.push_back({how.constant < 0 ? made : add({Code::kMulConstant, made, how.constant}, -1), own.is_negative});
      }
    }
  }

  // Whether a node is a public number times a sum, and both a part of a larger sum and nothing else.
  bool is_scaled_sum(Number number) const {
    const Node& node = from_.nodes[number];
    return node.code == Code::kMulConstant && uses_[number] == 1 && uses_[node.left] == 1 &&
           is_sum(from_.nodes[node.left].code);
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

  const ScalarCircuit& from_;
  Association association_;
  Kinds kinds_;
  Rewritten made_;
  std::vector<Number> uses_, user_, becomes_;
  std::map<std::tuple<Code, Number, Number>, Number> numbers_;
};

}  // namespace

namespace {

class Copier {
 public:
  explicit Copier(const Rewritten& shared) : from_(shared), input_(shared.circuit.nodes.size(), -1) {}

  // Nodes that the outputs take if nothing is shared, or more than `most`.
  std::size_t count(std::size_t most) const {
    const std::vector<Node>& nodes = from_.circuit.nodes;
    std::vector<std::size_t> sizes(nodes.size(), 0);
    std::size_t total = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      if (node.code == Code::kInput) continue;
      sizes[i] = 1 + sizes[node.left] + (is_binary(node.code) ? sizes[node.right] : 0);
      sizes[i] = std::min(sizes[i], most + 1);
    }
    for (const Number output : from_.circuit.outputs) total = std::min(total + sizes[output], most + 1);
    return total;
  }

  Rewritten run() {
    made_.circuit.groups = from_.circuit.groups;
    made_.circuit.width = from_.circuit.width;
    for (std::size_t i = 0; i < input_.size(); ++i) {
      if (from_.circuit.nodes[i].code == Code::kInput) input_[i] = add(from_.circuit.nodes[i], from_.origin[i]);
    }
    for (const Number output : from_.circuit.outputs) made_.circuit.outputs.push_back(copy_node(output));
    return std::move(made_);
  }

 private:
  Number copy_node(Number number) {
    Node node = from_.circuit.nodes[number];
    if (node.code == Code::kInput) return input_[number];
    node.left = copy_node(node.left);
    if (is_binary(node.code)) node.right = copy_node(node.right);
    return add(node, from_.origin[number]);
  }

  Number add(const Node& node, Number origin) {
    made_.circuit.nodes.push_back(node);
    made_.origin.push_back(origin);
    return static_cast<Number>(made_.circuit.nodes.size()) - 1;
  }

  const Rewritten& from_;
  Rewritten made_;
  std::vector<Number> input_;  // number of every input among the copies
};

}  // namespace

Rewritten unshare(const Rewritten& shared, std::size_t most) {
  const std::vector<Node>& nodes = shared.circuit.nodes;
  const auto inputs = static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.code == Code::kInput; }));
  Copier copier(shared);
  const std::size_t count = copier.count(most);
  if (count > most || count <= nodes.size() - inputs) return {};
  return copier.run();
}

Rewritten rewritten(const ScalarCircuit& circuit, Association association) {
  return Rewriter(circuit, association).run();
}

}  // namespace lw::lanes
