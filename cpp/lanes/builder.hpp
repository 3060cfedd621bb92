// Emits vector instructions, keeping track of what every register holds, where every value lies and what it all costs.
#pragma once

#include <unordered_map>
#include <vector>

#include "lanes/lane_contents.hpp"
#include "lanes/vector_program.hpp"

namespace lw::lanes {

struct ValuePlace {
  Number instruction, lane;
};

class Builder {
 public:
  // State to go back to, so that ways of doing something can be tried.
  struct Mark {
    std::size_t code;
    InstructionCounts counts;
    double cost;
  };

  Builder(const ScalarCircuit& circuit, const Values& values, const InstructionWeights& weights);

  Number input(Number group, Number vector, Content content);
  Number rotate(Number operand, Number steps);  // one instruction for each (operand, steps)
  bool is_rotated(Number operand, Number steps) const;
  // A result that is only a part of a sum is not offered as a place of what it holds.
  Number combine(Code code, Number left, Number right, bool is_partial = false);
  Number negate(Number operand);
  Number with_table(Code code, Number operand, std::vector<LaneEntry> table);
  Number mask(Number operand, const std::vector<Number>& lanes);
  // State that a register holds, in these lanes, what another one does.
  void restate(Number instruction, Number as, const std::vector<Number>& lanes);
  void count_blend() { ++program_.counts.blends; }

  Mark mark() const { return {program_.code.size(), program_.counts, program_.cost}; }
  void go_back(const Mark& mark);

  const Content& content(Number instruction) const { return contents_[instruction]; }
  const std::vector<ValuePlace>& places(Number value) const { return places_[value]; }
  VectorInstruction& instruction(Number number) { return program_.code[number]; }
  Number size() const { return static_cast<Number>(program_.code.size()); }
  double cost() const { return program_.cost; }  // but for levels
  Number depth(Number instruction) const { return depths_[instruction]; }
  double work() const { return work_; }
  const ScalarCircuit& circuit() const { return circuit_; }
  const InstructionWeights& weights() const { return weights_; }
  const Values& values() const { return values_; }
  void set_stage(Number stage) { stage_ = stage; }
  void add_work(double units) { work_ += units; }
  VectorProgram& program() { return program_; }

 private:
  Number emit(VectorInstruction instruction, Content content, double cost, bool is_offered = true);

  const ScalarCircuit& circuit_;
  const Values& values_;
  InstructionWeights weights_;
  VectorProgram program_;
  std::vector<Content> contents_;
  std::vector<unsigned char> offered_;           // whether the values of a register are among the places
  std::vector<Number> depths_;                   // products in a row, by constants and masks too
  std::vector<std::vector<ValuePlace>> places_;  // of every node, but for those in rotated registers
  std::unordered_map<std::uint64_t, Number> rotations_;
  Number stage_ = -1;
  double work_ = 0;  // lanes looked at: a measure of time that does not depend on the machine
};

}  // namespace lw::lanes
