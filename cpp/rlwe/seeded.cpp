#include "rlwe/seeded.hpp"

namespace lw {

UniformStream uniform_stream(StreamDomain domain, const SeedRef& seed, std::uint32_t digit) noexcept {
  return {seed.seed, static_cast<std::uint32_t>(domain), seed.object, digit};
}

void expand_uniform(const Ring& ring, LimbView out, StreamDomain domain, const SeedRef& seed, std::uint32_t digit) {
  ring.kernels().expand_uniform(ring.queue(), out, uniform_stream(domain, seed, digit));
}

RnsPolys expand_key(const Ring& ring, const LimbList& limbs, std::span<const std::uint32_t> digits,
                    const SeedRef& seed) {
  RnsPolys a(ring, limbs, static_cast<std::uint32_t>(digits.size()));
  for (std::uint32_t d = 0; d < digits.size(); ++d) {
    expand_uniform(ring, a.view(d, 1, 0, limbs.size()), StreamDomain::kEvaluationKey, seed, digits[d]);
  }
  return a;
}

}  // namespace lw
