#include "backend/cpu/tables.hpp"

#include <algorithm>
#include <iterator>

#include "backend/cpu/ntt_ranges.hpp"
#include "math/bits.hpp"
#include "math/modulus.hpp"
#include "math/primes.hpp"

namespace lw::cpu {

static_assert(std::size(kNttRanges4) == std::size(kNttRanges8));
static_assert(std::equal(std::begin(kNttRanges4), std::end(kNttRanges4), std::begin(kNttRanges8),
                         [](const NttRanges& a, const NttRanges& b) { return a.bits == b.bits; }));

NttTable::NttTable(std::uint32_t ring_degree, std::uint64_t q) : prime(q), degree(ring_degree), range(0) {
  while (q >= std::uint64_t{1} << kNttRanges4[range].bits) ++range;
  const Modulus modulus(q);
  const auto centred = [&](std::uint64_t residue) { return static_cast<double>(modulus.centred(residue)); };
  const std::uint64_t psi = smallest_primitive_root(q, 2 * std::uint64_t{ring_degree});
  const unsigned log_degree = log2_exact(ring_degree);
  std::vector<double> w(ring_degree);
  std::uint64_t power = 1;
  for (std::uint32_t i = 0; i < ring_degree; ++i) {
    w[reverse_bits(i, log_degree)] = centred(power);
    power = modulus.mul(power, psi);
  }
  const std::uint32_t quarter = ring_degree / 4;
  heads.assign(w.begin(), w.begin() + quarter);
  tails.reserve(3 * quarter);
  for (std::uint32_t i = quarter; i < 2 * quarter; i += 4) {
    for (std::uint32_t k = i; k < i + 4; ++k) tails.push_back(w[k]);
    for (std::uint32_t k = 2 * i; k < 2 * i + 8; k += 2) tails.push_back(w[k]);
    for (std::uint32_t k = 2 * i + 1; k < 2 * i + 8; k += 2) tails.push_back(w[k]);
  }
  const std::uint64_t inverse = modulus.inverse(ring_degree % q);
  const std::uint64_t root = modulus.pow(psi, ring_degree / 2);  // w[1]
  inverse_degree = centred(inverse);
  inverse_degree_root = centred(modulus.mul(root, inverse));
}

}  // namespace lw::cpu
