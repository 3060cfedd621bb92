#include "lanes/search.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "lanes/moves.hpp"
#include "lanes/starts.hpp"

namespace lw::lanes {
namespace {

constexpr std::size_t kAnnealed = 3;    // of the best first schedules
constexpr double kWarm = 0.7, kCold = 0.02;  // temperatures, in rotations

struct Candidate {
  const Rewritten* circuit;
  const Values* values;
  Schedule schedule;
  double cost;
};

class Search {
 public:
  Search(const Weights& weights, const SearchOptions& options) : weights_(weights), options_(options), random_(options.seed) {}

  double price(const Candidate& candidate) {
    ++tried_;
    return synthesize(candidate.circuit->circuit, *candidate.values, candidate.schedule, weights_, options_.movement, &work_)
        .cost;
  }

  void start(const Rewritten& rewritten, const Values& values) {
    const Circuit& circuit = rewritten.circuit;
    consider({&rewritten, &values, scalar_schedule(circuit), 0});
    for (const PackOrder packs : {PackOrder::kReady, PackOrder::kLevel, PackOrder::kLate}) {
      for (const LaneOrder lanes : {LaneOrder::kTrees, LaneOrder::kPadded, LaneOrder::kPositions}) {
        for (const bool is_right : {false, true}) {
          Candidate made{&rewritten, &values, {}, 0};
          made.schedule.packs = packs_of(circuit, packs);
          if (!fits(circuit, made.schedule)) continue;
          assign_lanes(circuit, made.schedule, lanes, is_right);
          place_inputs(circuit, made.schedule);
          consider(std::move(made));
        }
      }
    }
  }

  // Anneal a candidate within a budget of work.
  void anneal(Candidate candidate, double budget) {
    const Moves moves(candidate.circuit->circuit);
    const double begun = work_, first = kWarm * weights_.rotate, last = kCold * weights_.rotate;
    Candidate best = candidate;
    while (work_ - begun < budget) {
      const double done = (work_ - begun) / budget;
      const double temperature = first * std::pow(last / first, done);
      Candidate next = candidate;
      work_ += 8 + static_cast<double>(next.schedule.lane.size()) / 8;
      if (!moves.change(next.schedule, random_)) continue;
      next.cost = price(next);
      const double worse = next.cost - candidate.cost;
      if (worse > 0 && random_.unit() >= std::exp(-worse / temperature)) continue;
      candidate = std::move(next);
      if (candidate.cost < best.cost) best = candidate;
    }
    found_.push_back(std::move(best));
  }

  void run() {
    std::stable_sort(found_.begin(), found_.end(), [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
    std::vector<Candidate> starts(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(std::min(kAnnealed, found_.size())));
    const double left = options_.work - work_;
    for (Candidate& start : starts) anneal(start, left * 0.6 / static_cast<double>(starts.size()));
    if (left > 0) anneal(best(), left * 0.4);
  }

  const Candidate& best() const {
    return *std::min_element(found_.begin(), found_.end(), [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  }

  Found finished() const {
    const Candidate& chosen = best();
    return {*chosen.circuit, chosen.schedule,
            synthesize(chosen.circuit->circuit, *chosen.values, chosen.schedule, weights_, options_.movement), tried_};
  }

 private:
  static bool fits(const Circuit& circuit, const Schedule& schedule) {
    return std::all_of(schedule.packs.begin(), schedule.packs.end(), [&](const Pack& pack) {
      return pack.nodes.size() <= static_cast<std::size_t>(circuit.width);
    });
  }

  void consider(Candidate candidate) {
    candidate.cost = price(candidate);
    const bool is_new = std::none_of(found_.begin(), found_.end(), [&](const Candidate& other) {
      return other.circuit == candidate.circuit && other.cost == candidate.cost && other.schedule.lane == candidate.schedule.lane;
    });
    if (is_new) found_.push_back(std::move(candidate));
  }

  Weights weights_;
  SearchOptions options_;
  Random random_;
  std::vector<Candidate> found_;
  double work_ = 0;
  std::int64_t tried_ = 0;
};

}  // namespace

Found search(const Circuit& circuit, const Weights& weights, const SearchOptions& options) {
  const Rewritten plain = rewritten(circuit, false), trees = rewritten(circuit, true);
  const Values plain_values(plain.circuit), tree_values(trees.circuit);
  Search search(weights, options);
  search.start(trees, tree_values);
  search.start(plain, plain_values);
  search.run();
  return search.finished();
}

}  // namespace lw::lanes
