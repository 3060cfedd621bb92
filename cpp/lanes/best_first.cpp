#include "lanes/best_first.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace lw::lanes {
namespace {

class QuotientSearch {
 public:
  QuotientSearch(const ScalarCircuit& circuit, const AnnealOptions& options)
      : circuit_(circuit), options_(options), random_(options.seed) {}

  PlacedQuotient run(AnnealTrace& trace) {
    seen_.insert(singletons(circuit_).vertex);
    std::vector<PlacedQuotient> known;
    std::set<std::pair<double, std::size_t>> open;  // cost and number of those with something left to try
    std::size_t best = 0;
    const auto add = [&](PlacedQuotient candidate) {
      trace.tried.push_back(candidate.cost);
      if (known.empty() || candidate.cost < known[best].cost) best = known.size();
      open.insert({candidate.cost, known.size()});
      known.push_back(std::move(candidate));
      trace.best.push_back(known[best].cost);
    };
    add(place(singletons(circuit_)));
    for (int round = 0; round < options_.rounds && work_ < options_.work && !open.empty(); ++round) {
      std::optional<Quotient> next;
      while (!next && !open.empty()) {
        next = contraction_of(known[open.begin()->second]);
        if (!next) open.erase(open.begin());
      }
      if (next) add(place(std::move(*next)));
    }
    trace.work = work_;
    return std::move(known[best]);
  }

 private:
  PlacedQuotient place(Quotient quotient) {
    PlacedQuotient result;
    result.quotient = std::move(quotient);
    result.epochs = find_epochs(circuit_, result.quotient, options_.weights);
    std::vector<Number> first = options_.start == AnnealOptions::Start::kMatched
                                    ? match_lanes(result.epochs, circuit_.width)
                                    : enumerate_lanes(result.epochs);
    Placement placement(result.epochs, circuit_.width, std::move(first));
    result.lane = anneal_lanes(placement, result.epochs, options_.cooling, random_, &result.rotations);
    work_ += static_cast<double>(placement.num_looked_at());
    result.cost = result.rotations * options_.weights.rotate + result.epochs.height;
    find_untried(result);
    return result;
  }

  /// Finds the arcs that may be contracted: those between operations in different lanes. Loads stay by themselves.
  void find_untried(PlacedQuotient& candidate) const {
    const Number gates = candidate.epochs.num_gates();
    std::map<std::pair<Number, Number>, std::size_t> class_of;  // by epoch that is read, and distance
    for (const auto& [source, target] : candidate.epochs.arcs) {
      const Number distance = candidate.lane[target] - candidate.lane[source];
      if (source < gates || distance == 0) continue;
      std::size_t at = candidate.untried.size();
      if (options_.contraction == AnnealOptions::Contraction::kClass) {
        at = class_of.insert({{candidate.epochs.epoch[source], distance}, at}).first->second;
      }
      if (at == candidate.untried.size()) candidate.untried.emplace_back();
      candidate.untried[at].push_back({source - gates, target - gates});
    }
  }

  /// A quotient not seen before, or nothing if all contractions have been tried.
  std::optional<Quotient> contraction_of(PlacedQuotient& candidate) {
    while (!candidate.untried.empty()) {
      std::swap(candidate.untried[random_.below(static_cast<std::uint32_t>(candidate.untried.size()))],
                candidate.untried.back());
      Quotient next = contract(circuit_, candidate.quotient, candidate.untried.back());
      candidate.untried.pop_back();
      if (seen_.insert(next.vertex).second) return next;
    }
    return std::nullopt;
  }

  const ScalarCircuit& circuit_;
  const AnnealOptions& options_;
  Random random_;
  double work_ = 0;
  std::set<std::vector<Number>> seen_;
};

}  // namespace

PlacedQuotient best_quotient(const ScalarCircuit& circuit, const AnnealOptions& options, AnnealTrace& trace) {
  return QuotientSearch(circuit, options).run(trace);
}

}  // namespace lw::lanes
