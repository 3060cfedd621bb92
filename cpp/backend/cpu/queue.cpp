#include "backend/cpu/queue.hpp"

#include "math/bits.hpp"
#include "math/double_double.hpp"

namespace lw::cpu {

std::vector<std::complex<double>> embedding_roots(std::uint32_t max_slots) {
  std::vector<std::complex<double>> roots(max_slots);
  for (std::uint64_t half = 1; half < max_slots; half *= 2) {
    std::uint64_t exponent = 1;  // 5^j mod 8 * half
    for (std::uint64_t j = 0; j < half; ++j) {
      const CosSin root = cos_sin_turn(exponent, 8 * half);
      roots[half + j] = {root.cos, root.sin};
      exponent = exponent * 5 % (8 * half);
    }
  }
  return roots;
}

CpuQueue::CpuQueue(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads,
                   const RowKernels& row_kernels)
    : degree(ring_degree),
      log_degree(log2_exact(ring_degree)),
      row(row_kernels),
      moduli(primes.begin(), primes.end()),
      block_reversal(ring_degree / 4),
      roots(embedding_roots(ring_degree / 2)),
      pool(threads) {
  ntt.reserve(primes.size());
  for (const std::uint64_t prime : primes) ntt.emplace_back(ring_degree, prime);
  for (std::uint32_t i = 0; i < ring_degree / 4; ++i) block_reversal[i] = reverse_bits(i, log_degree - 2);
}

}  // namespace lw::cpu
