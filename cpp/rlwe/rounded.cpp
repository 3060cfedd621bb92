#include "rlwe/rounded.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "math/entropy.hpp"

namespace lw {

Rounded::Rounded(std::vector<std::int64_t> coefficients) {
  const bool is_narrow =
      std::ranges::all_of(coefficients, [](std::int64_t c) { return std::in_range<std::int32_t>(c); });
  if (is_narrow) {
    narrow.assign(coefficients.begin(), coefficients.end());
  } else {
    wide = std::move(coefficients);
  }
}

std::size_t Rounded::hash() const noexcept {
  const std::string_view narrow_bytes{reinterpret_cast<const char*>(narrow.data()), narrow.size() * sizeof(narrow[0])};
  const std::string_view wide_bytes{reinterpret_cast<const char*>(wide.data()), wide.size() * sizeof(wide[0])};
  return std::hash<std::string_view>{}(narrow.empty() ? wide_bytes : narrow_bytes);
}

std::vector<std::int64_t> Rounded::coefficients() const {
  return narrow.empty() ? wide : std::vector<std::int64_t>(narrow.begin(), narrow.end());
}

Plaintext lift_integers(const Context& context, std::span<const std::int64_t> coefficients, Level level, double scale,
                        Basis basis) {
  const Ring& ring = context.ring();
  const std::size_t gap = context.degree() / coefficients.size();
  SecretBuffer<std::int64_t> spread(context.degree());
  for (std::size_t i = 0; i < coefficients.size(); ++i) spread[i * gap] = coefficients[i];
  PolyRows rows(ring, context.limbs(level, basis), 1);
  ring.kernels().import_signed(ring.queue(), rows.rows(), spread.span());
  ring.kernels().ntt(ring.queue(), rows.rows(), rows.rows());
  return {std::make_shared<const PolyRows>(std::move(rows)),
          level,
          basis,
          scale,
          static_cast<std::uint32_t>(coefficients.size() / 2),
          context.parameters().fingerprint()};
}

}  // namespace lw
