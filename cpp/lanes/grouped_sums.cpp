#include "lanes/grouped_sums.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace lw::lanes {
namespace {

constexpr std::size_t kMostVisited = 64;  // nodes of a term that are looked at for the inputs it reads
constexpr std::size_t kMostReaders = 16;  // terms of a kind that read an input which still tells them apart

using Terms = std::vector<SumTerm>;
using Shares = std::vector<std::vector<std::pair<std::size_t, int>>>;

std::set<Number> inputs_of(Number node, const std::vector<Node>& nodes) {
  std::set<Number> seen, inputs;
  std::vector<Number> waiting = {node};
  while (!waiting.empty() && seen.size() < kMostVisited) {
    const Number at = waiting.back();
    waiting.pop_back();
    if (!seen.insert(at).second) continue;
    const Node& own = nodes[at];
    if (own.code == Code::kInput) {
      inputs.insert(at);
      continue;
    }
    waiting.push_back(own.left);
    if (is_binary(own.code)) waiting.push_back(own.right);
  }
  return inputs;
}

// Adds kind after kind to rows.
class KindRows {
 public:
  KindRows(Terms rows, const std::vector<Node>& nodes, const MakeNode& make)
      : rows_(std::move(rows)), nodes_(nodes), make_(make) {}

  void add(const Terms& terms) {
    if (!gather_terms(terms)) fold(terms.size());
    const Shares shares = shared(terms, rows_);
    const Terms before = rows_;
    std::vector<unsigned char> is_taken(rows_.size(), 0);
    Terms rest;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const std::pair<std::size_t, int>* best = nullptr;
      for (const auto& share : shares[i]) {
        if (is_taken[share.first] == 0 && (best == nullptr || share.second > best->second)) best = &share;
      }
      if (best == nullptr) {
        rest.push_back(terms[i]);
        continue;
      }
      is_taken[best->first] = 1;
      rows_[best->first] = sum(before[best->first], terms[i]);
    }
    std::size_t row = 0;
    for (const SumTerm& term : rest) {
      while (is_taken[row] != 0) ++row;
      is_taken[row] = 1;
      rows_[row] = sum(before[row], term);
    }
  }

  Terms rows() && { return std::move(rows_); }

 private:
  SumTerm sum(SumTerm a, SumTerm b) const {
    if (a.is_negative == b.is_negative) return {make_({Code::kAdd, a.node, b.node}), a.is_negative};
    if (a.is_negative) std::swap(a, b);
    return {make_({Code::kSub, a.node, b.node}), false};
  }

  // Of every one of some terms those of others that read the same inputs, and how many of them.
  Shares shared(const Terms& terms, const Terms& others) const {
    std::map<Number, std::vector<std::size_t>> readers;
    for (std::size_t i = 0; i < others.size(); ++i) {
      for (const Number input : inputs_of(others[i].node, nodes_)) readers[input].push_back(i);
    }
    Shares shares(terms.size());
    for (std::size_t i = 0; i < terms.size(); ++i) {
      std::map<std::size_t, int> counted;
      for (const Number input : inputs_of(terms[i].node, nodes_)) {
        const auto found = readers.find(input);
        if (found == readers.end() || found->second.size() > kMostReaders) continue;
        for (const std::size_t reader : found->second) ++counted[reader];
      }
      shares[i].assign(counted.begin(), counted.end());
    }
    return shares;
  }

  // Adds up the rows that share inputs with the same term, if that gives each term equally many.
  bool gather_terms(const Terms& terms) {
    if (rows_.size() == terms.size()) return true;
    if (rows_.size() % terms.size() != 0) return false;
    const Shares shares = shared(rows_, terms);
    std::vector<Terms> parts(terms.size());
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const auto best = std::max_element(shares[row].begin(), shares[row].end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      if (best == shares[row].end()) return false;
      parts[best->first].push_back(rows_[row]);
    }
    const std::size_t each = rows_.size() / terms.size();
    if (std::any_of(parts.begin(), parts.end(), [&](const Terms& part) { return part.size() != each; })) return false;
    rows_.clear();
    for (const Terms& part : parts) rows_.push_back(total(part, 0, part.size()));
    return true;
  }

  SumTerm total(const Terms& terms, std::size_t first, std::size_t last) const {
    if (last - first == 1) return terms[first];
    const std::size_t middle = first + std::bit_floor(last - first - 1);
    const SumTerm left = total(terms, first, middle);
    return sum(left, total(terms, middle, last));
  }

  // Adds up rows at one distance, until about as many are left as another kind has terms.
  void fold(std::size_t count) {
    while (rows_.size() > std::bit_ceil(count)) {
      const std::size_t half = std::bit_ceil(rows_.size()) / 2;
      const std::size_t kept = rows_.size() == 2 * count ? count : half;
      for (std::size_t row = kept; row < rows_.size(); ++row) rows_[row - kept] = sum(rows_[row - kept], rows_[row]);
      rows_.resize(kept);
    }
  }

  Terms rows_;
  const std::vector<Node>& nodes_;
  const MakeNode& make_;
};

}  // namespace

Number Kinds::of(const std::vector<Node>& nodes, Number node) {
  for (std::size_t i = kinds_.size(); i < nodes.size(); ++i) {
    const Node& own = nodes[i];
    Number left = own.code == Code::kInput ? own.group : kinds_[own.left];
    Number right = is_binary(own.code) ? kinds_[own.right] : -1;
    if (is_commutative(own.code) && right < left) std::swap(left, right);
    const auto key = std::make_tuple(own.code, left, right);
    kinds_.push_back(numbers_.emplace(key, static_cast<Number>(numbers_.size())).first->second);
  }
  return kinds_[node];
}

std::vector<SumTerm> in_rows(const std::vector<SumTerm>& terms, const std::vector<Node>& nodes, Kinds& kinds,
                             const MakeNode& make) {
  std::map<std::pair<Number, bool>, std::size_t> numbers;
  std::vector<Terms> parts;  // by kind and sign, in the order in which they appear
  std::set<Number> frequent;
  for (const SumTerm& term : terms) {
    const Number kind = kinds.of(nodes, term.node);
    const auto [found, is_new] = numbers.emplace(std::make_pair(kind, term.is_negative), parts.size());
    if (is_new) parts.emplace_back();
    parts[found->second].push_back(term);
    if (parts[found->second].size() > 1) frequent.insert(kind);
  }
  if (frequent.size() < 2) return terms;
  // Of kinds with equally many terms the one that reads most comes first: others find their rows by what it reads.
  const auto order = [&](const Terms& part) {
    return std::make_pair(part.size(), inputs_of(part[0].node, nodes).size());
  };
  std::stable_sort(parts.begin(), parts.end(), [&](const Terms& a, const Terms& b) { return order(a) > order(b); });
  Terms alone;  // left to the last sum: in a row they would set it apart from the others
  KindRows rows(parts[0], nodes, make);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].size() > 1) {
      rows.add(parts[i]);
    } else {
      alone.push_back(parts[i][0]);
    }
  }
  Terms made = std::move(rows).rows();
  made.insert(made.end(), alone.begin(), alone.end());
  return made;
}

}  // namespace lw::lanes
