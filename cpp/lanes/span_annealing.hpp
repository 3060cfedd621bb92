// A quick annealing of lanes on an estimate of their price that each move changes in a few places.
#pragma once

#include <unordered_map>
#include <vector>

#include "lanes/random.hpp"
#include "lanes/schedule.hpp"

namespace lw::lanes {

// The estimate: a rotation for every pair of a source and a span that occurs, and for every further source of an
// operand an addition and half a mask. Packs stay as they are.
class SpanAnnealing {
 public:
  SpanAnnealing(const ScalarCircuit& circuit, const LaneSchedule& schedule, const InstructionWeights& weights);

  double cost() const { return cost_; }
  // The same counted anew.
  double recount() const;
  const LaneSchedule& schedule() const { return schedule_; }

  // One random move, kept if it is no dearer or as the temperature allows; returns how many arcs were looked at.
  std::size_t step(Random& random, double temperature);

 private:
  using Counter = std::unordered_map<std::uint64_t, int>;

  struct OperandArc {
    Number from, to;
    bool is_right;  // operand of `to`, before any exchange
  };

  void count(const OperandArc& arc, int sign);  // put an arc into the estimate, or take it out
  void put(Number node, Number lane);
  Number span(const OperandArc& arc) const;
  std::uint64_t side(const OperandArc& arc) const;  // of which operand of which pack an arc is
  bool propose(Random& random, std::vector<std::pair<Number, Number>>& moved) const;

  const ScalarCircuit& circuit_;
  LaneSchedule schedule_;
  InstructionWeights weights_;
  double read_;                 // price of a further source of an operand
  std::vector<Number> source_;  // of every node with a lane: its pack, or past the packs its input group
  std::vector<OperandArc> arcs_;
  std::vector<std::vector<Number>> arcs_of_;
  std::vector<Number> movable_, commutative_;
  std::vector<std::unordered_map<Number, Number>> held_;  // of every source: lane -> node
  Counter rotations_;                                     // (source, span) -> arcs
  Counter reads_;                                         // (operand, source, span) -> arcs
  double cost_ = 0;
};

}  // namespace lw::lanes
