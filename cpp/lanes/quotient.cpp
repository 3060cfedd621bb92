#include "lanes/quotient.hpp"

#include <algorithm>
#include <numeric>

namespace lw::lanes {
namespace {

/// Classes of vertices, joined one pair at a time.
class Classes {
 public:
  explicit Classes(Number size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }

  Number find(Number x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }

  void join(Number a, Number b) {
    a = find(a), b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<Number> parent_;
};

/// Operands of each vertex, by vertex.
std::vector<std::vector<Number>> arcs_of(const ScalarCircuit& circuit, const std::vector<Number>& vertex,
                                         Number num_vertices) {
  std::vector<std::vector<Number>> arcs(num_vertices);
  for (std::size_t node = 0; node < circuit.nodes.size(); ++node) {
    if (vertex[node] < 0) continue;
    const auto [left, right] = operands(circuit.nodes[node]);
    for (const Number operand : {left, right}) {
      if (operand < 0 || vertex[operand] < 0 || vertex[operand] == vertex[node]) continue;
      arcs[vertex[node]].push_back(vertex[operand]);
    }
  }
  return arcs;
}

/// Joins the strongly connected components of a graph (Tarjan 1972, without recursion).
void condense(const std::vector<std::vector<Number>>& arcs, Classes& classes) {
  const Number size = static_cast<Number>(arcs.size());
  std::vector<Number> index(size, -1), low(size), stack;
  std::vector<bool> on_stack(size);
  struct Frame {
    Number vertex;
    std::size_t next;
  };
  std::vector<Frame> frames;
  Number count = 0;
  const auto enter = [&](Number v) {
    index[v] = low[v] = count++;
    stack.push_back(v);
    on_stack[v] = true;
    frames.push_back({v, 0});
  };
  for (Number root = 0; root < size; ++root) {
    if (index[root] >= 0) continue;
    enter(root);
    while (!frames.empty()) {
      const Number v = frames.back().vertex;
      if (frames.back().next < arcs[v].size()) {
        const Number w = arcs[v][frames.back().next++];
        if (index[w] < 0) {
          enter(w);
        } else if (on_stack[w]) {
          low[v] = std::min(low[v], index[w]);
        }
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) low[frames.back().vertex] = std::min(low[frames.back().vertex], low[v]);
      if (low[v] != index[v]) continue;
      for (Number w = -1; w != v; stack.pop_back()) {
        w = stack.back();
        on_stack[w] = false;
        classes.join(v, w);
      }
    }
  }
}

Quotient number_classes(const std::vector<Number>& vertex, Classes& classes, Number num_classes) {
  Quotient result{std::vector<Number>(vertex.size(), -1)};
  std::vector<Number> number(num_classes, -1);
  for (std::size_t node = 0; node < vertex.size(); ++node) {
    if (vertex[node] < 0) continue;
    Number& of_class = number[classes.find(vertex[node])];
    if (of_class < 0) of_class = result.num_vertices++;
    result.vertex[node] = of_class;
  }
  return result;
}

}  // namespace

Quotient singletons(const ScalarCircuit& circuit) {
  Quotient result{std::vector<Number>(circuit.nodes.size(), -1)};
  for (std::size_t node = 0; node < circuit.nodes.size(); ++node) {
    if (circuit.nodes[node].code != Code::kInput) result.vertex[node] = result.num_vertices++;
  }
  return result;
}

Quotient contract(const ScalarCircuit& circuit, const Quotient& quotient,
                  const std::vector<std::pair<Number, Number>>& pairs) {
  Classes joined(quotient.num_vertices);
  for (const auto& [a, b] : pairs) joined.join(a, b);
  const Quotient merged = number_classes(quotient.vertex, joined, quotient.num_vertices);
  Classes components(merged.num_vertices);
  condense(arcs_of(circuit, merged.vertex, merged.num_vertices), components);
  return number_classes(merged.vertex, components, merged.num_vertices);
}

}  // namespace lw::lanes
