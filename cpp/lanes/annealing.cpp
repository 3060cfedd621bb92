#include "lanes/annealing.hpp"

#include "lanes/alignment.hpp"
#include "lanes/best_first.hpp"

namespace lw::lanes {

LaneSchedule anneal(const ScalarCircuit& circuit, const AnnealOptions& options, AnnealTrace* trace) {
  AnnealTrace own;
  AnnealTrace& record = trace != nullptr ? *trace : own;
  const PlacedQuotient best = best_quotient(circuit, options, record);
  record.cost = best.cost;
  record.rotations = best.rotations;
  record.height = best.epochs.height;

  const Number gates = best.epochs.num_gates();
  LaneSchedule schedule;
  schedule.lane.assign(circuit.nodes.size(), -1);
  schedule.exchanged.assign(circuit.nodes.size(), false);
  record.epoch.assign(circuit.nodes.size(), -1);
  for (Number gate = 0; gate < gates; ++gate) {
    const Number input = best.epochs.gates[gate].input;
    record.loads.push_back({input, best.epochs.epoch[gate], best.lane[gate]});
    if (circuit.groups[circuit.nodes[input].group].packing == Packing::kGrouped) {
      schedule.lane[input] = best.lane[gate];
    }
  }
  for (std::size_t node = 0; node < circuit.nodes.size(); ++node) {
    const Number vertex = best.quotient.vertex[node];
    if (vertex < 0) continue;
    schedule.lane[node] = best.lane[gates + vertex];
    record.epoch[node] = best.epochs.epoch[gates + vertex];
  }
  schedule.packs = list_schedule(circuit, record.epoch, schedule.lane);
  return schedule;
}

}  // namespace lw::lanes
