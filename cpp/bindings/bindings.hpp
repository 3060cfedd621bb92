// One bind_* function per part of the core; module.cpp calls them all.
#pragma once

#include <nanobind/nanobind.h>

namespace lw {

void bind_errors(nanobind::module_& m);
void bind_io(nanobind::module_& m);       // hash, cbor, container
void bind_kernels(nanobind::module_& m);  // Ring with its kernels on NumPy arrays: what the conformance suite drives
void bind_kernel_loops(nanobind::module_& m);     // kernels on resident limbs, to be timed
void bind_rlwe(nanobind::module_& m);             // parameters, keys, encryptor, decryptor, encoder, evaluator
void bind_exec(nanobind::module_& m);             // plan decoder, executor
void bind_lanes(nanobind::module_& m);            // schedules, lanes and data movement of scalar circuits
void bind_annealing(nanobind::module_& m);        // the search for lanes by annealing
void bind_maps(nanobind::module_& m);             // diagonals of linear maps, counted
void bind_gpu(nanobind::module_& m);              // drivers of GPUs, and the simulated one
void bind_gpu_rates(nanobind::module_& m);        // devices, to be measured
void bind_matrix_products(nanobind::module_& m);  // of ciphertexts, to be timed
void bind_transform_loops(nanobind::module_& m);  // many transforms at a time, on several queues
void bind_simulator(nanobind::module_& m);        // simulated GPUs, with kernels planted for tests
void bind_profile(nanobind::module_& m);          // profiles of devices

}  // namespace lw
