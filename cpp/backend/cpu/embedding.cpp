// Canonical embedding by radix-2 stages of half the ring's size. Each part of a product is one rounded product and one
// fused multiply-add, as in `ref`; taking two stages at a time changes no operation.
#include <utility>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"
#include "math/bits.hpp"

namespace lw::cpu {
namespace {

using Complex = std::complex<double>;

void reverse_order(std::span<Complex> values) noexcept {
  const unsigned bits = log2_exact(values.size());
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint32_t j = reverse_bits(i, bits);
    if (i < j) std::swap(values[i], values[j]);
  }
}

double* parts(std::span<Complex> values) noexcept { return reinterpret_cast<double*>(values.data()); }

}  // namespace

void embed(Queue& q, std::span<Complex> values) noexcept {
  if (values.size() == 1) return;
  const CpuQueue& queue = cpu_queue(q);
  reverse_order(values);
  queue.limb.embed(parts(values), values.size(), reinterpret_cast<const double*>(queue.roots.data()));
}

void unembed(Queue& q, std::span<Complex> values) noexcept {
  if (values.size() == 1) return;
  const CpuQueue& queue = cpu_queue(q);
  queue.limb.unembed(parts(values), values.size(), reinterpret_cast<const double*>(queue.roots.data()));
  reverse_order(values);
}

}  // namespace lw::cpu
