// The only place that knows which modulus is secure at which ring degree.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "rlwe/parameters.hpp"

namespace lw {

/// Largest log2 of the modulus of one LWE instance, uniform ternary secret, error sigma >= 3.19, classical attacks.
struct SecurityRow {
  std::uint32_t ring_degree;
  std::array<std::optional<std::uint32_t>, 3> max_log2_modulus;  // for 128, 192 and 256 bits
};

// Security Guidelines for Implementing Homomorphic Encryption (2024), ePrint 2024/463, ternary secret, classical
// cost model (MATZOV; usvp, bdd and dual-hybrid attacks). Where sources that quote it differ by one (2^12, 2^14),
// the smaller number stands. There is no value above 128 bits at 2^10.
inline constexpr std::array<SecurityRow, 8> kSecurityTable{{
    {1u << 10, {26, std::nullopt, std::nullopt}},
    {1u << 11, {53, 36, 27}},
    {1u << 12, {106, 73, 56}},
    {1u << 13, {214, 148, 114}},
    {1u << 14, {430, 297, 230}},
    {1u << 15, {868, 597, 463}},
    {1u << 16, {1747, 1199, 929}},
    {1u << 17, {3523, 2411, 1866}},
}};

/// The same for a secret that is distributed as errors are: the "gaussian" rows of the same source. Secrets and errors
/// are centred binomial here, with a larger deviation than the source's 3.19.
inline constexpr std::array<SecurityRow, 8> kGaussianSecurityTable{{
    {1u << 10, {29, std::nullopt, std::nullopt}},
    {1u << 11, {55, 38, 30}},
    {1u << 12, {109, 75, 59}},
    {1u << 13, {216, 150, 116}},
    {1u << 14, {433, 299, 232}},
    {1u << 15, {870, 599, 465}},
    {1u << 16, {1749, 1201, 931}},
    {1u << 17, {3525, 2413, 1868}},
}};

/// The same for a secret of `kSparseWeight` nonzero coefficients, which only ever masks modulo q0 and one special
/// prime: the largest moduli in use, 86 bits at 2^15, 98 at 2^16 and above. Lattice estimator 27a581b (MATZOV, primal
/// and dual hybrid with a meet in the middle): 2^150, 2^173 and 2^196 operations. By guessing as in Meet-LWE, the model
/// most generous to the attacker, the 86 bits are at 2^128.6 and not to be raised. No entry: not allowed.
inline constexpr std::uint32_t kSparseWeight = 32;
inline constexpr std::array<SecurityRow, 3> kSparseSecurityTable{{
    {1u << 15, {86, std::nullopt, std::nullopt}},
    {1u << 16, {98, std::nullopt, std::nullopt}},
    {1u << 17, {98, std::nullopt, std::nullopt}},
}};

/// The table's entry, or nothing where the level cannot be reached.
std::optional<std::uint32_t> max_log2_modulus(std::uint32_t ring_degree, std::uint32_t security_bits) noexcept;

/// The same of the table for sparse secrets.
std::optional<std::uint32_t> max_log2_sparse_modulus(std::uint32_t ring_degree, std::uint32_t security_bits) noexcept;

/// The same of the table for secrets of a distribution and weight, as of ParameterFields; nothing where no table has
/// such secrets.
std::optional<std::uint32_t> max_log2_modulus_of(std::string_view secret, std::uint32_t secret_weight,
                                                 std::uint32_t ring_degree, std::uint32_t security_bits) noexcept;

/// Checks one generated object (a key or a ciphertext: `what` names it) modulo `limbs`, masked by the secret.
/// Throws lw::Error(kSecurity) if it is below the level the parameters promise and they are not marked insecure.
void check_security(const Parameters& parameters, std::span<const std::uint16_t> limbs, std::string_view what);
/// The same for an object masked by a uniform ternary polynomial that is not the secret.
void check_mask_security(const Parameters& parameters, std::span<const std::uint16_t> limbs, std::string_view what);
/// The same for an object masked by a sparse secret.
void check_sparse_security(const Parameters& parameters, std::span<const std::uint16_t> limbs, std::string_view what);

}  // namespace lw
