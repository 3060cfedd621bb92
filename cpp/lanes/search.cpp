#include "lanes/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "lanes/annealing.hpp"
#include "lanes/initial_schedules.hpp"
#include "lanes/repeated_parts.hpp"
#include "lanes/schedule_moves.hpp"
#include "lanes/span_annealing.hpp"
#include "lanes/stencils.hpp"
#include "math/error.hpp"

namespace lw::lanes {
namespace {

struct PricedSchedule {
  const Rewritten* circuit;
  const Values* values;
  LaneSchedule schedule;
  double cost;
  bool is_quotient = false;  // annealed further in any case
};

void check_groups(const ScalarCircuit& circuit) {
  std::vector<Number> inputs(circuit.groups.size(), 0);
  for (const Node& node : circuit.nodes) {
    if (node.code == Code::kInput) ++inputs[node.group];
  }
  for (std::size_t group = 0; group < inputs.size(); ++group) {
    if (inputs[group] <= circuit.width || circuit.groups[group].packing == Packing::kFree) continue;
    throw Error(ErrorKind::kRange, "group " + std::to_string(group) + " has " + std::to_string(inputs[group]) +
                                       " inputs, a vector has " + std::to_string(circuit.width) + " lanes");
  }
}

// Whether some inputs may lie in several lanes.
bool has_copies(const ScalarCircuit& circuit) {
  return std::any_of(circuit.groups.begin(), circuit.groups.end(),
                     [](const Group& group) { return group.packing != Packing::kGrouped && group.fixed.empty(); });
}

// The same with every input of a replicated vector in one lane alone.
Rewritten without_copies(const Rewritten& rewritten) {
  Rewritten made = rewritten;
  for (Group& group : made.circuit.groups) {
    if (group.packing == Packing::kReplicated) group.packing = Packing::kGrouped;
  }
  return made;
}

class ProgramSearch {
 public:
  // One or more forms of the circuit, each with its values, of which the first is the most promising.
  using Forms = std::vector<std::pair<const Rewritten*, const Values*>>;

  ProgramSearch(const InstructionWeights& weights, const SearchOptions& options)
      : weights_(weights), options_(options), random_(options.seed) {}

  // Infinite if the copies of inputs do not fit, or where it exceeds the limit.
  double price(const PricedSchedule& candidate, double limit) {
    ++tried_;
    SynthesisBudget budget{.limit = limit};
    try {
      const VectorProgram made = synthesize(candidate.circuit->circuit, *candidate.values, candidate.schedule, weights_,
                                            options_.movement, &budget);
      work_ += budget.work;
      return made.cost;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kRange) throw;
      work_ += static_cast<double>(candidate.schedule.lane.size());
      return std::numeric_limits<double>::infinity();
    }
  }

  // The most promising ones first: large circuits leave no time for the others.
  void start(const Forms& forms) {
    for (const PackOrder packs : {PackOrder::kReady, PackOrder::kLevel, PackOrder::kLate}) {
      for (const bool is_right : {false, true}) {
        for (const LaneOrder lanes : {LaneOrder::kTrees, LaneOrder::kPadded, LaneOrder::kPositions}) {
          for (const auto& [form, values] : forms) {
            if (is_spent()) return;
            PricedSchedule made{form, values, {}, 0};
            made.schedule.packs = packs_of(form->circuit, packs);
            assign_lanes(form->circuit, made.schedule, lanes, is_right);
            place_inputs(form->circuit, made.schedule);
            consider(std::move(made));
          }
        }
        if (packs == PackOrder::kReady && !is_right) start_from_stencils(forms);
      }
    }
  }

  void start_from_stencils(const Forms& forms) {
    for (const auto& [form, values] : forms) {
      PricedSchedule made{form, values, stencil_schedule(form->circuit), 0};
      if (!made.schedule.packs.empty()) consider(std::move(made));
    }
  }

  void start_from_scalars(const Forms& forms) {
    for (const auto& [form, values] : forms) {
      if (!is_spent()) consider({form, values, scalar_schedule(form->circuit), 0});
    }
  }

  // Schedules of the search over quotients, which has other packs: more of them, where that saves rotations.
  void start_from_quotients(const Forms& forms) {
    for (const auto& [form, values] : forms) {
      if (form->circuit.nodes.size() > options_.tuning.most_quotiented) continue;
      AnnealOptions options;
      options.weights = weights_;
      options.work =
          options_.tuning.quotients_share * options_.work * options_.tuning.arcs / static_cast<double>(forms.size());
      options.contraction = AnnealOptions::Contraction::kClass;
      options.start = AnnealOptions::Start::kMatched;
      options.seed = options_.seed;
      AnnealTrace trace;
      PricedSchedule made{form, values, lanes::anneal(form->circuit, options, &trace), 0, true};
      work_ += trace.work / options_.tuning.arcs;
      consider(std::move(made));
    }
  }

  // Better lanes for the best schedules so far, by the quick estimate.
  void estimate() {
    sort_found();
    const std::size_t count = std::min(options_.tuning.annealed, found_.size());
    const double budget = options_.tuning.estimates_share * options_.work / static_cast<double>(count);
    for (std::size_t i = 0; i < count; ++i) {
      PricedSchedule made = found_[i];
      SpanAnnealing annealing(made.circuit->circuit, made.schedule, weights_);
      const double before = annealing.cost();
      const double first = options_.tuning.hot * weights_.rotate, last = options_.tuning.cold * weights_.rotate;
      for (double used = 0; used < budget;) {
        const double temperature = first * std::pow(last / first, used / budget);
        for (int step = 0; step < 64; ++step) used += static_cast<double>(annealing.step(random_, temperature));
      }
      work_ += budget;
      if (annealing.cost() >= before) continue;
      made.schedule = annealing.schedule();
      consider(std::move(made));
    }
  }

  // Schedules put together from those of the circuit's separate parts, each computation solved once.
  void start_from_parts(const Rewritten& rewritten, const Values& values) {
    const ScalarCircuit& circuit = rewritten.circuit;
    const std::vector<RepeatedPart> repeated = find_repeated_parts(circuit);
    std::size_t instances = 0, operations = 0;
    for (const RepeatedPart& one : repeated) {
      instances += one.instances.size();
      operations += one.instances[0].size();
    }
    if (instances < 2) return;
    std::vector<LaneSchedule> schedules;
    for (const RepeatedPart& one : repeated) {
      const CircuitPart part = part_of(circuit, one.instances[0]);
      const Rewritten own{part.circuit, {}};
      const Values own_values(part.circuit);
      SearchOptions options = options_;
      options.work = options_.tuning.parts_share * options_.work * static_cast<double>(one.instances[0].size()) /
                     static_cast<double>(operations);
      ProgramSearch search(weights_, options);
      search.start({{&own, &own_values}});
      if (!search.has_found()) return;
      search.run();
      work_ += search.work_;
      tried_ += search.tried_;
      schedules.push_back(search.best().schedule);
    }
    for (const Tiling tiling : {Tiling::kTight, Tiling::kPadded, Tiling::kInterleaved}) {
      PricedSchedule made{&rewritten, &values, tile_schedules(circuit, repeated, schedules, tiling, weights_), 0};
      if (made.schedule.packs.empty()) continue;
      split(circuit, made.schedule);
      place_inputs(circuit, made.schedule);
      consider(std::move(made));
    }
  }

  // Anneal a candidate within a budget of work.
  void anneal(PricedSchedule candidate, double budget, double warm) {
    const Moves moves(candidate.circuit->circuit);
    const double begun = work_, first = warm * weights_.rotate, last = options_.tuning.cold * weights_.rotate;
    PricedSchedule best = candidate, next = candidate;
    while (work_ - begun < budget) {
      const double done = (work_ - begun) / budget;
      const double temperature = first * std::pow(last / first, done);
      next = candidate;
      work_ += 8 + static_cast<double>(next.schedule.lane.size()) / 8;
      if (!moves.change(next.schedule, random_)) continue;
      next.cost = price(next, candidate.cost + options_.tuning.hopeless * temperature);
      const double worse = next.cost - candidate.cost;
      if (worse > 0 && random_.unit() >= std::exp(-worse / temperature)) continue;
      std::swap(candidate, next);
      if (candidate.cost < best.cost) best = candidate;
    }
    found_.push_back(std::move(best));
  }

  bool has_found() const { return !found_.empty(); }

  void run() {
    estimate();
    sort_found();
    std::vector<PricedSchedule> starts(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                            options_.tuning.annealed, found_.size())));
    for (std::size_t i = starts.size(); i < found_.size(); ++i) {
      if (found_[i].is_quotient) starts.push_back(found_[i]);
    }
    // Small circuits settle early: they begin anew more often.
    const double left = options_.work - work_;
    const double rounds = left / work_ * static_cast<double>(tried_) / options_.tuning.settled;
    const int count =
        static_cast<int>(std::clamp(rounds, static_cast<double>(starts.size()), options_.tuning.most_rounds));
    for (int round = 0; round < count; ++round) {
      const std::size_t turn = static_cast<std::size_t>(round);
      anneal(starts[turn % starts.size()], left * (1 - options_.tuning.last_share) / count,
             turn / starts.size() % 2 == 0 ? options_.tuning.warm : options_.tuning.hot);
    }
    if (left > 0) anneal(best(), left * options_.tuning.last_share, options_.tuning.warm);
  }

  const PricedSchedule& best() const {
    return *std::min_element(found_.begin(), found_.end(),
                             [](const PricedSchedule& a, const PricedSchedule& b) { return a.cost < b.cost; });
  }

  FoundProgram finish() const {
    const PricedSchedule& chosen = best();
    return {*chosen.circuit, chosen.schedule,
            synthesize(chosen.circuit->circuit, *chosen.values, chosen.schedule, weights_, options_.movement), tried_};
  }

 private:
  bool is_spent() const { return !found_.empty() && work_ >= options_.work * options_.tuning.starts_share; }

  // Packs of more operations than there are lanes become several.
  static void split(const ScalarCircuit& circuit, LaneSchedule& schedule) {
    const auto width = static_cast<std::ptrdiff_t>(circuit.width);
    std::vector<Pack> packs;
    for (const Pack& pack : schedule.packs) {
      for (auto first = pack.nodes.begin(); first < pack.nodes.end();
           first += std::min(width, pack.nodes.end() - first)) {
        packs.push_back({pack.code, {first, first + std::min(width, pack.nodes.end() - first)}});
      }
    }
    schedule.packs = std::move(packs);
  }

  void sort_found() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const PricedSchedule& a, const PricedSchedule& b) { return a.cost < b.cost; });
  }

  void consider(PricedSchedule candidate) {
    candidate.cost =
        price(candidate, found_.empty() ? std::numeric_limits<double>::infinity() : options_.tuning.far * lowest_);
    lowest_ = found_.empty() ? candidate.cost : std::min(lowest_, candidate.cost);
    if (!std::isfinite(candidate.cost)) return;
    const bool is_new = std::none_of(found_.begin(), found_.end(), [&](const PricedSchedule& other) {
      return other.circuit == candidate.circuit && other.cost == candidate.cost &&
             other.schedule.lane == candidate.schedule.lane;
    });
    if (is_new) found_.push_back(std::move(candidate));
  }

  InstructionWeights weights_;
  SearchOptions options_;
  Random random_;
  std::vector<PricedSchedule> found_;
  double lowest_ = 0;  // cost of the candidates
  double work_ = 0;
  std::int64_t tried_ = 0;
};

}  // namespace

FoundProgram search(const ScalarCircuit& circuit, const InstructionWeights& weights, const SearchOptions& options) {
  check_groups(circuit);
  const Rewritten plain = rewritten(circuit, Association::kAsWritten);
  const Rewritten trees = rewritten(circuit, Association::kTrees), rows = rewritten(circuit, Association::kRows);
  const Values plain_values(plain.circuit), tree_values(trees.circuit), row_values(rows.circuit);
  const bool has_rows = rows.circuit.nodes != trees.circuit.nodes;
  const Rewritten& regular = has_rows ? rows : trees;
  const Values& regular_values = has_rows ? row_values : tree_values;
  const Rewritten single = without_copies(regular);
  const Rewritten copies =
      options.copies && has_copies(circuit) ? unshare(regular, options.tuning.most_copies) : Rewritten{};
  const Values copy_values(copies.circuit);
  ProgramSearch search(weights, options);
  ProgramSearch::Forms forms = {{&trees, &tree_values}, {&plain, &plain_values}};
  if (has_rows) forms.insert(forms.begin(), {&rows, &row_values});
  if (!copies.circuit.nodes.empty()) forms.insert(forms.begin(), {&copies, &copy_values});
  // Copies of replicated inputs may not fit where operations hardly do.
  if (circuit.nodes.size() > static_cast<std::size_t>(circuit.width))
    forms.insert(forms.begin() + 1, {&single, &regular_values});
  search.start(forms);
  search.start_from_scalars(forms);
  search.start_from_quotients(forms);
  search.start_from_parts(regular, regular_values);
  if (!search.has_found()) {
    throw Error(ErrorKind::kRange, "no schedule of " + std::to_string(circuit.nodes.size()) + " operations fits " +
                                       std::to_string(circuit.width) + " lanes");
  }
  search.run();
  return search.finish();
}

}  // namespace lw::lanes
