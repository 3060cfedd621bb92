// The canonical embedding on the host, for backends that have no faster one: contracts of embed and unembed in
// backend/kernels.def.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace lw {

/// Roots of the canonical embedding: roots[h + j] = zeta_(8h)^(5^j), j < h, for the stage that joins halves of h slots.
std::vector<std::complex<double>> embedding_roots(std::uint32_t max_slots);

/// Applies the canonical embedding in place to `values`, at most max_slots of them.
void embed_values(std::span<const std::complex<double>> roots, std::span<std::complex<double>> values) noexcept;
void unembed_values(std::span<const std::complex<double>> roots, std::span<std::complex<double>> values) noexcept;

}  // namespace lw
