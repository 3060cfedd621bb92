#include "lanes/synthesis.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lanes/input_copies.hpp"
#include "math/error.hpp"

namespace lw::lanes {
namespace {

class Synthesis {
 public:
  Synthesis(const ScalarCircuit& circuit, const Values& values, const LaneSchedule& schedule,
            const InstructionWeights& weights, const MovementOptions& options)
      : circuit_(circuit), schedule_(schedule), options_(options), builder_(circuit, values, weights) {}

  VectorProgram run(double limit) {
    for (std::size_t i = 0; i < schedule_.packs.size(); ++i) plan(i);
    lay_out_inputs();
    for (std::size_t i = 0; i < schedule_.packs.size(); ++i) {
      compute(i);
      if (builder_.cost() <= limit) continue;
      builder_.program().cost = std::numeric_limits<double>::infinity();
      return std::move(builder_.program());
    }
    Number depth = 0;
    for (const Number output : circuit_.outputs) depth = std::max(depth, builder_.depth(find_output(output)));
    builder_.program().depth = depth;
    builder_.program().cost *= 1 + builder_.weights().level * depth;
    return std::move(builder_.program());
  }

  double work() const { return builder_.work(); }

 private:
  struct OperandWants {
    std::vector<Want> wants;
    std::map<Number, std::size_t> reads;  // group -> number of the read that it reads
  };

  OperandWants operand(const Pack& pack, bool is_right) {
    OperandWants made;
    for (const Number node : pack.nodes) {
      const Node& own = circuit_.nodes[node];
      const bool crosses = is_binary(own.code) && schedule_.exchanged[node] != 0;
      const Number value = is_right != crosses ? own.right : own.left;
      made.wants.push_back({schedule_.lane[node], builder_.values().first(value)});
    }
    std::sort(made.wants.begin(), made.wants.end(), [](const Want& a, const Want& b) { return a.lane < b.lane; });
    for (std::size_t i = 1; i < made.wants.size(); ++i) {
      if (made.wants[i].lane == made.wants[i - 1].lane) {
        throw Error(ErrorKind::kValue,
                    "schedule: two operations of a pack share lane " + std::to_string(made.wants[i].lane));
      }
    }
    return made;
  }

  bool is_placed_by_use(Number node) const {
    const Node& own = circuit_.nodes[node];
    return own.code == Code::kInput && circuit_.groups[own.group].packing != Packing::kGrouped;
  }

  void plan(std::size_t number) {
    const Pack& pack = schedule_.packs[number];
    for (const bool is_right : {false, true}) {
      if (is_right && !is_binary(pack.code)) break;
      OperandWants made = operand(pack, is_right);
      std::map<Number, GroupRead> own;
      for (const Want& want : made.wants) {
        if (!is_placed_by_use(want.value)) continue;
        const Number group = circuit_.nodes[want.value].group;
        own[group].group = group;
        own[group].entries.emplace_back(want.lane, want.value);
      }
      for (auto& [group, read] : own) {
        for (const Want& want : made.wants) {
          if (circuit_.nodes[want.value].code != Code::kInput || circuit_.nodes[want.value].group != group) {
            read.cleared.push_back(want.lane);
          }
        }
        made.reads[group] = reads_.size();
        reads_.push_back(std::move(read));
      }
      operands_.push_back(std::move(made));
    }
  }

  void lay_out_inputs() {
    // Outputs that are inputs are read from the vectors of inputs: they want some lane, whichever.
    for (const Number output : circuit_.outputs) {
      if (!is_placed_by_use(output)) continue;
      GroupRead read{.group = circuit_.nodes[output].group, .entries = {{0, output}}, .cleared = {}};
      reads_.push_back(std::move(read));
    }
    const std::vector<std::vector<Lanes>> vectors = place_reads(circuit_, reads_);
    registers_.resize(circuit_.groups.size());
    std::vector<std::map<Number, Number>> grouped(circuit_.groups.size());
    for (std::size_t i = 0; i < circuit_.nodes.size(); ++i) {
      const Node& node = circuit_.nodes[i];
      if (node.code != Code::kInput || circuit_.groups[node.group].packing != Packing::kGrouped) continue;
      const Number lane = schedule_.lane[i];
      if (!grouped[node.group].emplace(lane, static_cast<Number>(i)).second) {
        throw Error(ErrorKind::kValue, "schedule: two inputs of a group share lane " + std::to_string(lane));
      }
    }
    for (std::size_t group = 0; group < circuit_.groups.size(); ++group) {
      const Number number = static_cast<Number>(group);
      if (!grouped[group].empty()) make_input(number, 0, grouped[group]);
      for (std::size_t i = 0; i < vectors[group].size(); ++i)
        make_input(number, static_cast<Number>(i), vectors[group][i]);
    }
    for (OperandWants& operand : operands_) {
      std::map<Number, std::size_t> next;  // entry of each group's read: wants are in the order of their lanes, too
      for (Want& want : operand.wants) {
        if (!is_placed_by_use(want.value)) continue;
        const Number group = circuit_.nodes[want.value].group;
        const GroupRead& read = reads_[operand.reads.at(group)];
        want.source = registers_[group][read.vector];
        want.steps = read.steps[next[group]++];
      }
    }
  }

  void make_input(Number group, Number vector, const Lanes& lanes) {
    Content content;
    for (const auto& [lane, node] : lanes) {
      if (node >= 0) content.push_back({lane, node});
    }
    registers_[group].push_back(builder_.input(group, vector, std::move(content)));
  }

  Number move_operand(std::size_t number) { return moved(builder_, operands_[number].wants, options_); }

  void compute(std::size_t number) {
    const Pack& pack = schedule_.packs[number];
    builder_.set_stage(static_cast<Number>(number));
    Number made;
    if (is_binary(pack.code)) {
      const std::size_t first = next_;
      next_ += 2;
      // What needs no rotation goes first: its blend may hold what the other one wants.
      const bool right_first = rotates(operands_[first]) && !rotates(operands_[first + 1]);
      Number left = right_first ? -1 : move_operand(first);
      const Number right = move_operand(first + 1);
      if (right_first) left = move_operand(first);
      made = builder_.combine(pack.code, left, right);
    } else {
      const Number operand = move_operand(next_++);
      if (pack.code == Code::kNeg) {
        made = builder_.negate(operand);
      } else {
        std::vector<LaneEntry> table;
        for (const Number node : pack.nodes) table.emplace_back(schedule_.lane[node], circuit_.nodes[node].right);
        std::sort(table.begin(), table.end());
        made = builder_.with_table(pack.code, operand, std::move(table));
      }
    }
    std::vector<LaneEntry>& computes = builder_.instruction(made).computes;
    for (const Number node : pack.nodes) computes.emplace_back(schedule_.lane[node], node);
    std::sort(computes.begin(), computes.end());
    check(made);
  }

  bool rotates(const OperandWants& operand) {
    for (const Want& want : operand.wants) {
      if (want.source >= 0) {
        if (want.steps != 0) return true;
        continue;
      }
      bool is_there = false;
      for (const ValuePlace& place : builder_.places(want.value)) is_there = is_there || place.lane == want.lane;
      if (!is_there) return true;
    }
    return false;
  }

  // Every operation of the pack lies in its lane: what the contents say does not rest on what was intended.
  void check(Number made) {
    const Content& content = builder_.content(made);
    auto held = content.begin();
    for (const auto& [lane, node] : builder_.instruction(made).computes) {
      while (held != content.end() && held->lane < lane) ++held;
      if (held == content.end() || held->lane != lane || held->value != builder_.values().first(node)) {
        throw Error(ErrorKind::kValue, "schedule: node " + std::to_string(node) + " is not computed in lane " +
                                           std::to_string(lane) + "; are its operands computed before it?");
      }
    }
  }

  Number find_output(Number output) {
    const std::vector<ValuePlace>& places = builder_.places(builder_.values().first(output));
    if (places.empty())
      throw Error(ErrorKind::kValue, "schedule: output " + std::to_string(output) + " is not computed");
    builder_.program().outputs.push_back({places[0].instruction, places[0].lane});
    return places[0].instruction;
  }

  const ScalarCircuit& circuit_;
  const LaneSchedule& schedule_;
  const MovementOptions& options_;
  Builder builder_;
  std::vector<OperandWants> operands_;
  std::vector<GroupRead> reads_;
  std::vector<std::vector<Number>> registers_;
  std::size_t next_ = 0;
};

}  // namespace

VectorProgram synthesize(const ScalarCircuit& circuit, const Values& values, const LaneSchedule& schedule,
                         const InstructionWeights& weights, const MovementOptions& options, SynthesisBudget* budget) {
  SynthesisBudget none;
  if (budget == nullptr) budget = &none;
  Synthesis synthesis(circuit, values, schedule, weights, options);
  VectorProgram program = synthesis.run(budget->limit);
  budget->work += synthesis.work();
  return program;
}

}  // namespace lw::lanes
