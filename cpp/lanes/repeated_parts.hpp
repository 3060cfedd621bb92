// Parts of a circuit that share no operation, and which of them are the same computation on other inputs.
#pragma once

#include <vector>

#include "lanes/schedule.hpp"

namespace lw::lanes {

// The same computation several times: each instance lists its operations, in one order for all of them.
struct Kernel {
  std::vector<std::vector<Number>> instances;
};

// Every operation of the circuit that an output needs, in exactly one instance of one kernel. Inputs may be shared.
std::vector<Kernel> kernels_of(const Circuit& circuit);

// One instance as a circuit by itself: its inputs, then its operations in their order.
struct PartOfCircuit {
  Circuit circuit;
  std::vector<Number> nodes;  // of the whole circuit
};
PartOfCircuit part_of(const Circuit& circuit, const std::vector<Number>& operations);

// How instances lie beside each other.
enum class Tiling {
  kTight,       // one after the other
  kPadded,      // the same, at multiples of a power of two
  kInterleaved  // their first lanes, their second lanes...
};

// A schedule of the whole circuit from one of each kernel (of `part_of` its first instance), with the operations of all
// instances in one instruction; instructions of different kernels are joined where that saves most. Without packs if
// the lanes do not suffice. Grouped inputs have no lanes yet.
Schedule tiled(const Circuit& circuit, const std::vector<Kernel>& kernels, const std::vector<Schedule>& schedules,
               Tiling tiling, const Weights& weights);

}  // namespace lw::lanes
