// The extension module latticework._core.
#include "bindings/bindings.hpp"

NB_MODULE(_core, m) {
  nanobind::set_leak_warnings(false);  // interpreter shutdown order, not leaks: types outlive cached instances
  m.doc() = "The compiled core of latticework: rings, keys, ciphertexts, containers and the plan executor.";
  lw::bind_errors(m);
  lw::bind_io(m);
  lw::bind_kernels(m);
  lw::bind_kernel_loops(m);
  lw::bind_rlwe(m);
  lw::bind_exec(m);
  lw::bind_gpu(m);
  lw::bind_gpu_rates(m);
  lw::bind_matrix_products(m);
  lw::bind_transform_loops(m);
  lw::bind_simulator(m);
  lw::bind_profile(m);
  nanobind::module_ lanes = m.def_submodule("lanes", "The search for schedules and lanes of scalar circuits.");
  lw::bind_lanes(lanes);
  lw::bind_annealing(lanes);
  nanobind::module_ maps = m.def_submodule("maps", "Where linear maps have diagonals, counted.");
  lw::bind_maps(maps);
}
