#include "rlwe/integer_plaintexts.hpp"

#include <utility>

#include "math/entropy.hpp"

namespace lw {
namespace {

/// Of rows over the limbs of a level, in NTT form; of their coefficients `size` may be other than zero.
Plaintext plaintext_of(const Context& context, PolyRows rows, std::size_t size, Level level, double scale,
                       Basis basis) {
  return {std::make_shared<const PolyRows>(std::move(rows)),
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
  PolyRows rows(ring, context.limbs(level, basis), 1);
  ring.kernels().import_signed(ring.queue(), rows.rows(), spread.span());
  ring.kernels().ntt(ring.queue(), rows.rows(), rows.rows());
  return plaintext_of(context, std::move(rows), coefficients.size(), level, scale, basis);
}

Plaintext lift_integers(const Context& context, const Integers& coefficients, Level level, double scale, Basis basis) {
  const Ring& ring = context.ring();
  PolyRows rows(ring, context.limbs(level, basis), 1);
  ring.kernels().ntt_integers(ring.queue(), rows.rows(), coefficients.row());
  return plaintext_of(context, std::move(rows), coefficients.size(), level, scale, basis);
}

}  // namespace lw
