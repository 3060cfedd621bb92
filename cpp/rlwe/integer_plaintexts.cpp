#include "rlwe/integer_plaintexts.hpp"

#include <utility>

#include "math/entropy.hpp"

namespace lw {
namespace {

/// A plaintext of residues at a level, in NTT form; of their coefficients `size` may be other than zero.
Plaintext plaintext_of(const Context& context, RnsPolys residues, std::size_t size, Level level, double scale,
                       Basis basis) {
  return {std::make_shared<const RnsPolys>(std::move(residues)),
          level,
          basis,
          scale,
          static_cast<std::uint32_t>(size / 2),
          context.parameters().fingerprint()};
}

}  // namespace

Plaintext lift_integers(const Context& context, std::span<const std::int64_t> coefficients, Level level, double scale,
                        Basis basis) {
  const Ring& ring = context.ring();
  const std::size_t gap = context.degree() / coefficients.size();
  SecretBuffer<std::int64_t> spread(context.degree());
  for (std::size_t i = 0; i < coefficients.size(); ++i) spread[i * gap] = coefficients[i];
  RnsPolys residues(ring, context.limbs(level, basis), 1);
  ring.kernels().import_signed(ring.queue(), residues.view(), spread.span());
  ring.kernels().ntt(ring.queue(), residues.view(), residues.view());
  return plaintext_of(context, std::move(residues), coefficients.size(), level, scale, basis);
}

Plaintext lift_integers(const Context& context, const Integers& coefficients, Level level, double scale, Basis basis) {
  const Ring& ring = context.ring();
  RnsPolys residues(ring, context.limbs(level, basis), 1);
  ring.kernels().ntt_integers(ring.queue(), residues.view(), coefficients.view());
  return plaintext_of(context, std::move(residues), coefficients.size(), level, scale, basis);
}

}  // namespace lw
