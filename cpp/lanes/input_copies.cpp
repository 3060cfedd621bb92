#include "lanes/input_copies.hpp"

#include "lanes/rotation_cover.hpp"
#include "math/error.hpp"

namespace lw::lanes {
namespace {

bool fits(const Lanes& lanes, const GroupRead& read, Number steps, Number width, bool keeps_zeros) {
  for (const auto& [lane, node] : read.entries) {
    const auto found = lanes.find(modulo(lane + steps, width));
    if (found == lanes.end() || found->second == node) continue;
    if (found->second >= 0 || keeps_zeros) return false;
  }
  if (!keeps_zeros) return true;
  for (const Number lane : read.cleared) {
    const auto found = lanes.find(modulo(lane + steps, width));
    if (found != lanes.end() && found->second >= 0) return false;
  }
  return true;
}

void put(Lanes& lanes, GroupRead& read, Number vector, Number steps, Number width) {
  read.vector = vector;
  read.steps.assign(read.entries.size(), steps);
  for (const auto& [lane, node] : read.entries) lanes[modulo(lane + steps, width)] = node;
  for (const Number lane : read.cleared) lanes.emplace(modulo(lane + steps, width), kAnything);
}

void put_free(std::vector<Lanes>& vectors, GroupRead& read, Number width) {
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    if (!fits(vectors[i], read, 0, width, true)) continue;
    put(vectors[i], read, static_cast<Number>(i), 0, width);
    return;
  }
  vectors.emplace_back();
  put(vectors.back(), read, static_cast<Number>(vectors.size() - 1), 0, width);
}

// Every entry by itself: where its input lies already, or in the next lane that is free.
bool put_pieces(Lanes& lanes, GroupRead& read, Number width) {
  read.vector = 0;
  read.steps.clear();
  for (const auto& [lane, node] : read.entries) {
    Number found = -1;
    for (const auto& [other, held] : lanes) {
      if (held == node) found = other;
    }
    for (Number steps = 0; found < 0 && steps < width; ++steps) {
      const Number next = modulo(lane + steps, width);
      const auto taken = lanes.find(next);
      if (taken == lanes.end() || taken->second < 0) found = next;
    }
    if (found < 0) return false;
    lanes[found] = node;
    read.steps.push_back(modulo(found - lane, width));
  }
  return true;
}

bool put_replicated(Lanes& lanes, std::vector<Number>& shifts, GroupRead& read, Number width) {
  for (const bool keeps_zeros : {true, false}) {
    for (const Number steps : shifts) {
      if (!fits(lanes, read, steps, width, keeps_zeros)) continue;
      put(lanes, read, 0, steps, width);
      return true;
    }
  }
  for (const bool keeps_zeros : {true, false}) {
    for (Number steps = 1; steps < width; ++steps) {
      if (!fits(lanes, read, steps, width, keeps_zeros)) continue;
      shifts.push_back(steps);
      put(lanes, read, 0, steps, width);
      return true;
    }
  }
  return put_pieces(lanes, read, width);
}

}  // namespace

std::vector<std::vector<Lanes>> place_reads(const ScalarCircuit& circuit, std::vector<GroupRead>& reads) {
  std::vector<std::vector<Lanes>> vectors(circuit.groups.size());
  std::vector<std::vector<Number>> shifts(circuit.groups.size(), {0});
  for (GroupRead& read : reads) {
    std::vector<Lanes>& own = vectors[read.group];
    if (circuit.groups[read.group].packing == Packing::kFree) {
      put_free(own, read, circuit.width);
      continue;
    }
    if (own.empty()) own.emplace_back();
    if (!put_replicated(own[0], shifts[read.group], read, circuit.width)) {
      throw Error(ErrorKind::kRange, "the copies of replicated input group " + std::to_string(read.group) +
                                         " do not fit one vector of " + std::to_string(circuit.width) + " lanes");
    }
  }
  return vectors;
}

}  // namespace lw::lanes
