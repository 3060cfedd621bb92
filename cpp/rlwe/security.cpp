#include "rlwe/security.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "math/error.hpp"

namespace lw {

namespace {

std::optional<std::uint32_t> entry(std::span<const SecurityRow> table, std::uint32_t ring_degree,
                                   std::uint32_t security_bits) noexcept {
  const std::size_t column = security_bits == 128 ? 0 : security_bits == 192 ? 1 : security_bits == 256 ? 2 : 3;
  for (const SecurityRow& row : table) {
    if (row.ring_degree == ring_degree && column < 3) return row.max_log2_modulus[column];
  }
  return std::nullopt;
}

void check(const Parameters& parameters, std::span<const std::uint16_t> limbs, std::optional<std::uint32_t> limit,
           std::string_view what, const char* secret) {
  if (parameters.insecure()) return;
  const std::uint32_t bits = parameters.fields().security_bits, degree = parameters.ring_degree();
  const double used = parameters.log2_product(limbs);
  if (limit && used <= *limit) return;
  char used_text[32];
  for (int digits = 1; digits < 12; ++digits) {  // as many as show that it is too much
    std::snprintf(used_text, sizeof used_text, "%.*f", digits, used);
    if (!limit || std::strtod(used_text, nullptr) > *limit) break;
  }
  const std::string allowed = limit ? "at most " + std::to_string(*limit) : std::string("none");
  throw Error(ErrorKind::kSecurity, std::string(what) + ": its modulus has " + used_text +
                                        " bits, where N = " + std::to_string(degree) + " allows " + allowed + " for " +
                                        std::to_string(bits) + "-bit security" + secret +
                                        "; use a larger ring degree, fewer levels or fewer special "
                                        "primes (insecure=True is for tests only)");
}

}  // namespace

std::optional<std::uint32_t> max_log2_modulus(std::uint32_t ring_degree, std::uint32_t security_bits) noexcept {
  return entry(kSecurityTable, ring_degree, security_bits);
}

std::optional<std::uint32_t> max_log2_sparse_modulus(std::uint32_t ring_degree, std::uint32_t security_bits) noexcept {
  return entry(kSparseSecurityTable, ring_degree, security_bits);
}

std::optional<std::uint32_t> max_log2_modulus_of(std::string_view secret, std::uint32_t secret_weight,
                                                 std::uint32_t ring_degree, std::uint32_t security_bits) noexcept {
  if (secret == "gaussian") return entry(kGaussianSecurityTable, ring_degree, security_bits);
  if (secret_weight == kSparseWeight) return entry(kSparseSecurityTable, ring_degree, security_bits);
  if (secret_weight != 0) return std::nullopt;
  return entry(kSecurityTable, ring_degree, security_bits);
}

void check_security(const Parameters& parameters, std::span<const std::uint16_t> limbs, std::string_view what) {
  const ParameterFields& f = parameters.fields();
  const char* secret = f.secret_weight != 0     ? " of a secret of this weight"
                       : f.secret == "gaussian" ? " of a gaussian secret"
                                                : "";
  check(parameters, limbs, max_log2_modulus_of(f.secret, f.secret_weight, f.ring_degree, f.security_bits), what,
        secret);
}

void check_mask_security(const Parameters& parameters, std::span<const std::uint16_t> limbs, std::string_view what) {
  check(parameters, limbs, max_log2_modulus(parameters.ring_degree(), parameters.fields().security_bits), what, "");
}

void check_sparse_security(const Parameters& parameters, std::span<const std::uint16_t> limbs, std::string_view what) {
  check(parameters, limbs, max_log2_sparse_modulus(parameters.ring_degree(), parameters.fields().security_bits), what,
        " of a sparse secret");
}

}  // namespace lw
