// Circuits, schedules and prices as the search for lanes takes them from Python.
#pragma once

#include <nanobind/nanobind.h>

#include "lanes/circuit.hpp"
#include "lanes/schedule.hpp"

namespace lw {

/// {"code", "left", "right", "group": one entry a node; "packing", "fixed": one a group; "outputs", "width"}.
/// lw::Error(kValue) unless operands come before their uses and every number is in range.
lanes::Circuit to_circuit(const nanobind::dict& graph);
nanobind::dict from_circuit(const lanes::Circuit& circuit);

/// {"packs": [(code, nodes)], "lane", "exchanged"}; further entries are ignored.
lanes::Schedule to_schedule(const nanobind::dict& schedule);
nanobind::dict from_schedule(const lanes::Schedule& schedule);

/// [rotate, mul, mul_constant, add_constant, add, neg], and level if it is not 0
lanes::Weights to_weights(const nanobind::object& weights);

/// The entry of a dict, or `otherwise` if it has none.
template <class T>
T option(const nanobind::dict& options, const char* name, T otherwise) {
  return options.contains(name) ? nanobind::cast<T>(options[name]) : otherwise;
}

}  // namespace lw
