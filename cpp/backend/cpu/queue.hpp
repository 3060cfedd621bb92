// The one queue of `cpu`: synchronous, with the tables its kernels read.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "backend/cpu/limb_kernels.hpp"
#include "backend/cpu/tables.hpp"
#include "backend/device.hpp"
#include "backend/thread_pool.hpp"
#include "math/modulus.hpp"

namespace lw::cpu {

class CpuQueue final : public Queue {
 public:
  CpuQueue(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads,
           const LimbKernels& limb_kernels);

  /// body(poly, j) for every limb of `view`, each about `cycles` long; those of one prime follow each other.
  template <class Body>
  void for_limbs(const LimbView& view, std::size_t cycles, const Body& body) noexcept {
    const std::size_t polys = view.polys;
    pool.parallel_for(polys * view.limbs.size(), cycles, [&](std::size_t i) { body(i % polys, i / polys); });
  }

  const std::uint32_t degree;
  const unsigned log_degree;
  const LimbKernels& limb;      // the best for this machine
  std::vector<Modulus> moduli;  // by limb number, like ntt
  std::vector<NttTable> ntt;
  std::vector<std::uint32_t> block_reversal;  // of the N/4 aligned blocks of 4
  std::vector<std::complex<double>> roots;
  ThreadPool pool;
};

inline CpuQueue& cpu_queue(Queue& queue) noexcept { return static_cast<CpuQueue&>(queue); }

}  // namespace lw::cpu
