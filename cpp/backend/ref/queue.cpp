#include "backend/ref/queue.hpp"

#include "backend/embedding.hpp"
#include "math/bits.hpp"
#include "math/primes.hpp"

namespace lw::ref {

NttTable::NttTable(std::uint32_t ring_degree, std::uint64_t prime) : twiddles(ring_degree) {
  const Modulus modulus(prime);
  const std::uint64_t psi = smallest_primitive_root(prime, 2 * std::uint64_t{ring_degree});
  const unsigned log_degree = log2_exact(ring_degree);
  std::uint64_t power = 1;
  for (std::uint32_t i = 0; i < ring_degree; ++i) {
    twiddles[reverse_bits(i, log_degree)] = ShoupFactor(power, prime);
    power = modulus.mul(power, psi);
  }
  const std::uint64_t inverse = modulus.inverse(ring_degree % prime);
  inverse_degree = ShoupFactor(inverse, prime);
  inverse_last = ShoupFactor(modulus.mul(twiddles[1].value, inverse), prime);
}

RefQueue::RefQueue(std::uint32_t ring_degree, const std::vector<std::uint64_t>& primes, unsigned threads)
    : degree(ring_degree),
      log_degree(log2_exact(ring_degree)),
      moduli(primes.begin(), primes.end()),
      bit_reversal(ring_degree),
      roots(embedding_roots(ring_degree / 2)),
      pool(threads) {
  ntt.reserve(primes.size());
  for (const std::uint64_t prime : primes) ntt.emplace_back(ring_degree, prime);
  for (std::uint32_t i = 0; i < ring_degree; ++i) bit_reversal[i] = reverse_bits(i, log_degree);
}

}  // namespace lw::ref
