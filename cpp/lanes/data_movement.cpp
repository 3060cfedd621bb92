#include "lanes/data_movement.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "math/error.hpp"

namespace lw::lanes {
namespace {

constexpr std::size_t kManyParts = 32, kFewLanes = 8, kMostParts = 256;

// Lanes that a register computes for use, where they may stand for `lanes`: a blend of two packs then serves all.
std::vector<Number> useful_lanes(Builder& builder, const Part& part) {
  std::vector<Number> lanes = part.lanes;
  for (const auto& [lane, node] : builder.instruction(part.source).computes) lanes.push_back(lane);
  std::sort(lanes.begin(), lanes.end());
  lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
  return lanes;
}

// Which part is wanted in each lane.
class Owners {
 public:
  explicit Owners(const std::vector<Part>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (const Number lane : parts[i].lanes) lanes_.emplace_back(lane, i);
    }
    std::sort(lanes_.begin(), lanes_.end());
  }

  // Whether no lane is wanted of two parts.
  bool is_apart() const {
    const auto equal = [](const auto& a, const auto& b) { return a.first == b.first; };
    return std::adjacent_find(lanes_.begin(), lanes_.end(), equal) == lanes_.end();
  }

  // Whether a vector that stands for one part holds something where others are wanted: any, or any but `but`.
  bool is_polluted(const Content& content, std::size_t part, std::size_t but) const {
    auto owned = lanes_.begin();
    for (const Held& held : content) {
      while (owned != lanes_.end() && owned->first < held.lane) ++owned;
      if (owned == lanes_.end()) return false;
      for (auto it = owned; it != lanes_.end() && it->first == held.lane; ++it) {
        if (it->second != part && it->second != but) return true;
      }
    }
    return false;
  }

 private:
  std::vector<std::pair<Number, std::size_t>> lanes_;  // lane, part; ascending
};

// Parts that are rotated already, added up; those that hold something where others are wanted are masked.
Number merge_parts(Builder& builder, std::vector<Part> parts, const MovementOptions& options) {
  if (parts.size() == 1) return parts[0].source;
  const auto polluters_of = [&](const Owners& owners) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      builder.add_work(static_cast<double>(builder.content(parts[i].source).size()) / 8);
      if (!options.zero_lanes || owners.is_polluted(builder.content(parts[i].source), i, i)) found.push_back(i);
    }
    return found;
  };
  Owners owners(parts);
  std::vector<std::size_t> polluters = polluters_of(owners);
  if (!polluters.empty()) {
    std::vector<Part> wider = parts;
    for (Part& part : wider) part.lanes = useful_lanes(builder, part);
    if (Owners all(wider); all.is_apart()) {
      parts = std::move(wider);
      owners = std::move(all);
      polluters = polluters_of(owners);
    }
    builder.count_blend();
  }
  Number sum = -1;
  if (polluters.size() == 2) {
    for (int order = 0; order < 2 && sum < 0; ++order) {
      // x + mask * (y - x): one mask for two, if x is in the way of y alone.
      const std::size_t x = polluters[order], y = polluters[1 - order];
      const bool is_alone = options.zero_lanes && !owners.is_polluted(builder.content(parts[x].source), x, y);
      if (!is_alone || builder.weights().mul_constant < builder.weights().add) continue;
      const Number difference = builder.combine(Code::kSub, parts[y].source, parts[x].source);
      const Number chosen = builder.mask(difference, parts[y].lanes);
      sum = builder.combine(Code::kAdd, parts[x].source, chosen);
      // The lanes of y hold its values now, which the contents do not tell: x's cancel out.
      builder.restate(sum, parts[y].source, parts[y].lanes);
      parts[x].source = sum;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(y));
    }
  }
  if (sum < 0) {
    for (const std::size_t i : polluters) parts[i].source = builder.mask(parts[i].source, parts[i].lanes);
  }
  Number total = parts[0].source;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    total = builder.combine(Code::kAdd, total, parts[i].source, i + 1 < parts.size());
  }
  return total;
}

// Parts as they come out of `cover`: rotated, those of the same steps merged before, and added up.
Number assemble(Builder& builder, std::vector<Part> parts, const MovementOptions& options) {
  const Number width = builder.circuit().width;
  std::map<Number, std::vector<Part>> by_steps;
  for (Part& part : parts) by_steps[part.steps].push_back(std::move(part));
  std::vector<Part> turned;
  for (auto& [steps, group] : by_steps) {
    const auto is_new = [&](const Part& part) { return !builder.is_rotated(part.source, part.steps); };
    if (options.joined && steps != 0 && std::count_if(group.begin(), group.end(), is_new) > 1) {
      std::vector<Part> still = group;
      std::vector<Number> lanes;
      for (Part& part : still) {
        lanes.insert(lanes.end(), part.lanes.begin(), part.lanes.end());
        for (Number& lane : part.lanes) lane = modulo(lane + steps, width);
        std::sort(part.lanes.begin(), part.lanes.end());
        part.steps = 0;
      }
      std::sort(lanes.begin(), lanes.end());
      group = {{merge_parts(builder, std::move(still), options), steps, std::move(lanes)}};
    }
    for (Part& part : group) turned.push_back({builder.rotate(part.source, steps), 0, std::move(part.lanes)});
  }
  return merge_parts(builder, std::move(turned), options);
}

std::ptrdiff_t turns(const std::vector<Part>& parts) {
  return std::count_if(parts.begin(), parts.end(), [](const Part& part) { return part.steps != 0; });
}

// Add a vector to itself rotated, as long as fewer and fewer parts of it hold what is wanted; false if that is of no
// use.
bool spread(Builder& builder, Number source, const std::vector<Want>& wants) {
  const Number width = builder.circuit().width;
  std::vector<Part> parts = cover_from(builder, source, builder.content(source), wants);
  const std::size_t most = parts.size();
  // Many parts of a few lanes each are no pattern that copies of copies could follow.
  if (parts.size() > kManyParts && wants.size() < kFewLanes * parts.size()) return false;
  while (parts.size() > 2) {
    std::set<Number> differences;
    for (const Part& a : parts) {
      for (const Part& b : parts) {
        if (a.steps != b.steps) differences.insert(modulo(a.steps - b.steps, width));
      }
    }
    if (differences.size() > 64) {  // of regular ones, the differences from the first are enough
      differences.clear();
      for (const Part& part : parts) {
        if (part.steps != parts[0].steps) differences.insert(modulo(part.steps - parts[0].steps, width));
      }
    }
    Number best = 0;
    std::vector<Part> fewest = parts;
    for (const Number difference : differences) {
      const Content& now = builder.content(source);
      const Content sum = combine_contents(Code::kAdd, now, rotate_content(now, difference, width), builder.values());
      builder.add_work(static_cast<double>(sum.size()));
      std::vector<Part> left = cover_from(builder, source, sum, wants);
      if (left.empty() || left.size() >= parts.size()) continue;
      if (best == 0 || left.size() < fewest.size() || (left.size() == fewest.size() && turns(left) < turns(fewest))) {
        best = difference;
        fewest = std::move(left);
      }
    }
    if (best == 0) break;
    source = builder.combine(Code::kAdd, source, builder.rotate(source, best));
    parts = std::move(fewest);
  }
  return parts.size() < most;
}

std::vector<Want> from(const std::vector<Want>& wants, const std::vector<Part>& parts, Number source) {
  std::set<Number> lanes;
  for (const Part& part : parts) {
    if (part.source == source) lanes.insert(part.lanes.begin(), part.lanes.end());
  }
  std::vector<Want> found;
  for (const Want& want : wants) {
    if (want.source < 0 && lanes.contains(want.lane)) found.push_back(want);
  }
  return found;
}

}  // namespace

Number moved(Builder& builder, const std::vector<Want>& wants, const MovementOptions& options) {
  const Builder::Mark start = builder.mark();
  const std::vector<Part> parts = cover(builder, wants);
  if (parts.empty()) {
    throw Error(ErrorKind::kValue, "schedule: a pack reads a value that no pack before it computes, or nothing at all");
  }
  const Number masks = start.counts.masks;
  Number result = assemble(builder, parts, options);
  if (!options.spread || parts.size() < 2 || parts.size() > kMostParts) return result;
  const bool is_masked = builder.program().counts.masks > masks;
  std::map<Number, int> rotations;
  for (const Part& part : parts) rotations[part.source] += part.steps != 0;
  struct Way {
    Number source;
    bool isolated;
  };
  std::vector<Way> ways;
  for (const auto& [source, count] : rotations) {
    if (count >= 2) ways.push_back({source, false});
    if (is_masked && count >= 1) ways.push_back({source, true});
  }
  if (ways.empty()) return result;
  const auto go = [&](const Way& way) -> Number {
    const std::vector<Want> own = from(wants, parts, way.source);
    if (own.empty()) return -1;
    Number source = way.source;
    if (way.isolated) {
      std::set<Number> lanes;
      for (const Part& part : parts) {
        if (part.source != source) continue;
        for (const Number lane : part.lanes) lanes.insert(modulo(lane + part.steps, builder.circuit().width));
      }
      builder.count_blend();
      source = builder.mask(source, {lanes.begin(), lanes.end()});
    }
    if (!spread(builder, source, own) && !way.isolated) return -1;
    return assemble(builder, cover(builder, wants), options);
  };
  double lowest = builder.cost();
  const Way* best = nullptr;
  builder.go_back(start);
  for (const Way& way : ways) {
    if (go(way) >= 0 && builder.cost() < lowest) {
      lowest = builder.cost();
      best = &way;
    }
    builder.go_back(start);
  }
  return best != nullptr ? go(*best) : assemble(builder, cover(builder, wants), options);
}

}  // namespace lw::lanes
