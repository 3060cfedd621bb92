#include "rlwe/integer_plaintexts.hpp"

#include <utility>

#include "math/entropy.hpp"

namespace lw {
namespace {

/// Of coefficients in rows over the limbs of a level, of which `size` may be other than zero; mirrored: as of Integers.
Plaintext transformed(const Context& context, PolyRows rows, std::size_t size, bool mirrored, Level level, double scale,
                      Basis basis) {
  const Ring& ring = context.ring();
  (mirrored ? ring.kernels().ntt_mirrored : ring.kernels().ntt)(ring.queue(), rows.rows(), rows.rows());
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
  return transformed(context, std::move(rows), coefficients.size(), false, level, scale, basis);
}

Plaintext lift_integers(const Context& context, const Integers& coefficients, Level level, double scale, Basis basis) {
  const Ring& ring = context.ring();
  PolyRows rows(ring, context.limbs(level, basis), 1);
  ring.kernels().import_integers(ring.queue(), rows.rows(), coefficients.row());
  return transformed(context, std::move(rows), coefficients.size(), coefficients.is_mirrored(), level, scale, basis);
}

}  // namespace lw
