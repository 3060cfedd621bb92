// The one queue of `ref`: synchronous, with the tables its kernels read.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "backend/device.hpp"
#include "backend/thread_pool.hpp"
#include "math/modulus.hpp"
#include "math/shoup.hpp"

namespace lw::ref {

/// Constants of the negacyclic transform modulo one prime.
struct NttTable {
  NttTable(std::uint32_t ring_degree, std::uint64_t prime);

  // twiddles[m + i] = psi^bitrev(m + i), the factor of block i in the stage of m blocks. The inverse factor of
  // that block is -twiddles[2m - 1 - i], so one table serves both directions.
  std::vector<ShoupFactor> twiddles;
  ShoupFactor inverse_degree;
  ShoupFactor inverse_last;  // twiddles[1] / N: the last inverse stage also divides by N
};

class RefQueue final : public Queue {
 public:
  RefQueue(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads);

  /// body(poly, j) for every limb of `view`, each about `cycles_per_word` times N cycles long.
  template <class Body>
  void for_limbs(const LimbView& view, std::size_t cycles_per_word, const Body& body) noexcept {
    const std::size_t limbs = view.limbs.size();
    pool.parallel_for(view.polys * limbs, degree * cycles_per_word, [&](std::size_t i) { body(i / limbs, i % limbs); });
  }

  const std::uint32_t degree;
  const unsigned log_degree;
  std::vector<Modulus> moduli;  // by limb number, like ntt
  std::vector<NttTable> ntt;
  std::vector<std::uint32_t> bit_reversal;
  std::vector<std::complex<double>> roots;
  ThreadPool pool;
};

inline RefQueue& ref_queue(Queue& queue) noexcept { return static_cast<RefQueue&>(queue); }

}  // namespace lw::ref
