#include "backend/cpu/queue.hpp"

#include "backend/embedding.hpp"
#include "math/bits.hpp"

namespace lw::cpu {

CpuQueue::CpuQueue(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads,
                   const LimbKernels& limb_kernels)
    : degree(ring_degree),
      log_degree(log2_exact(ring_degree)),
      limb(limb_kernels),
      moduli(primes.begin(), primes.end()),
      block_reversal(ring_degree / 4),
      roots(embedding_roots(ring_degree / 2)),
      pool(threads) {
  ntt.reserve(primes.size());
  for (const std::uint64_t prime : primes) ntt.emplace_back(ring_degree, prime);
  for (std::uint32_t i = 0; i < ring_degree / 4; ++i) block_reversal[i] = reverse_bits(i, log_degree - 2);
}

}  // namespace lw::cpu
