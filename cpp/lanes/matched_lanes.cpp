// First lanes by matchings between epochs.
#include <algorithm>
#include <map>
#include <numeric>

#include "lanes/epoch_placement.hpp"

namespace lw::lanes {
namespace {

/// A matching of the most pairs; sources are taken in the given order, and each tries its targets in theirs, so what
/// comes first is matched if anything is (Kuhn).
class Matching {
 public:
  explicit Matching(const std::vector<std::vector<Number>>& targets, Number num_targets)
      : targets_(targets), source_of_(num_targets, -1), visited_(num_targets) {
    for (std::size_t source = 0; source < targets.size(); ++source) {
      std::fill(visited_.begin(), visited_.end(), false);
      augment(static_cast<Number>(source));
    }
  }

  const std::vector<Number>& source_of() const { return source_of_; }

 private:
  bool augment(Number source) {
    for (const Number target : targets_[source]) {
      if (visited_[target]) continue;
      visited_[target] = true;
      if (source_of_[target] >= 0 && !augment(source_of_[target])) continue;
      source_of_[target] = source;
      return true;
    }
    return false;
  }

  const std::vector<std::vector<Number>>& targets_;
  std::vector<Number> source_of_;
  std::vector<bool> visited_;
};

/// Places that shall share a lane: at most one of each epoch.
class Columns {
 public:
  explicit Columns(const Epochs& epochs)
      : epochs_(epochs), column_(epochs.epoch.size()), members_(epochs.epoch.size()) {
    std::iota(column_.begin(), column_.end(), 0);
    for (std::size_t place = 0; place < members_.size(); ++place) members_[place] = {static_cast<Number>(place)};
  }

  void join(Number a, Number b) {
    a = column_[a], b = column_[b];
    if (a == b || !can_join(members_[a], members_[b])) return;
    for (const Number place : members_[b]) {
      column_[place] = a;
      members_[a].push_back(place);
    }
    members_[b].clear();
  }

  const std::vector<std::vector<Number>>& members() const { return members_; }

 private:
  bool can_join(const std::vector<Number>& a, const std::vector<Number>& b) const {
    const auto is_forced = [&](Number place) { return place < epochs_.num_gates() && epochs_.gates[place].lane >= 0; };
    if (std::any_of(a.begin(), a.end(), is_forced) && std::any_of(b.begin(), b.end(), is_forced)) return false;
    return std::none_of(a.begin(), a.end(), [&](Number x) {
      return std::any_of(b.begin(), b.end(), [&](Number y) { return epochs_.epoch[x] == epochs_.epoch[y]; });
    });
  }

  const Epochs& epochs_;
  std::vector<Number> column_;
  std::vector<std::vector<Number>> members_;
};

using Arcs = std::vector<std::pair<Number, Number>>;

void join_matched(const Arcs& arcs, const std::vector<Number>& degree, Columns& columns) {
  std::map<Number, std::vector<Number>> targets_of;
  std::map<Number, Number> number_of_target;
  for (const auto& [source, target] : arcs) {
    targets_of[source].push_back(target);
    number_of_target.insert({target, 0});
  }
  const auto by_degree = [&](Number a, Number b) { return degree[a] != degree[b] ? degree[a] > degree[b] : a < b; };
  std::vector<Number> sources, targets;
  for (const auto& entry : targets_of) sources.push_back(entry.first);
  std::sort(sources.begin(), sources.end(), by_degree);
  for (auto& [target, number] : number_of_target) {
    number = static_cast<Number>(targets.size());
    targets.push_back(target);
  }
  std::vector<std::vector<Number>> numbers(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::vector<Number>& read_by = targets_of[sources[i]];
    std::sort(read_by.begin(), read_by.end(), by_degree);
    for (const Number target : read_by) numbers[i].push_back(number_of_target[target]);
  }
  const Matching matching(numbers, static_cast<Number>(targets.size()));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (matching.source_of()[i] >= 0) columns.join(sources[matching.source_of()[i]], targets[i]);
  }
}

}  // namespace

std::vector<Number> match_lanes(Epochs& epochs, Number width) {
  std::vector<Number> degree(epochs.epoch.size());
  std::map<std::pair<Number, Number>, Arcs> between;  // two epochs
  for (const auto& arc : epochs.arcs) {
    ++degree[arc.first];
    ++degree[arc.second];
    between[{epochs.epoch[arc.first], epochs.epoch[arc.second]}].push_back(arc);
  }
  Columns columns(epochs);
  for (const auto& entry : between) join_matched(entry.second, degree, columns);

  std::vector<std::vector<bool>> is_taken(epochs.members.size(), std::vector<bool>(width));
  std::vector<Number> lane(epochs.epoch.size());
  const auto put = [&](const std::vector<Number>& members, Number at) {
    for (const Number place : members) {
      if (is_taken[epochs.epoch[place]][at]) return false;
    }
    for (const Number place : members) {
      is_taken[epochs.epoch[place]][at] = true;
      lane[place] = at;
    }
    return true;
  };
  std::vector<std::vector<Number>> free_columns;
  for (const auto& members : columns.members()) {
    const auto forced = std::find_if(members.begin(), members.end(), [&](Number place) {
      return place < epochs.num_gates() && epochs.gates[place].lane >= 0;
    });
    if (forced != members.end()) {
      if (!put(members, epochs.gates[*forced].lane)) return enumerate_lanes(epochs);
    } else if (!members.empty()) {
      free_columns.push_back(members);
    }
  }
  // Long columns first: short ones fit between them.
  std::stable_sort(free_columns.begin(), free_columns.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (const auto& members : free_columns) {
    Number at = 0;
    while (at < width && !put(members, at)) ++at;
    if (at == width) return enumerate_lanes(epochs);
  }
  for (const Number at : lane) epochs.num_columns = std::max(epochs.num_columns, at + 1);
  return lane;
}

}  // namespace lw::lanes
