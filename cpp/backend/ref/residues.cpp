// Import and export of residues in the encoding of `ref`, which is the canonical residue itself:
// bit-packed limbs, small signed integers, uniform polynomials.
#include <algorithm>
#include <atomic>

#include "backend/packing.hpp"
#include "backend/ref/kernels.hpp"
#include "backend/ref/queue.hpp"

namespace lw::ref {
namespace {

constexpr std::size_t kCycles = 4;

}  // namespace

void import_signed(Queue& q, LimbView out, std::span<const std::int64_t> coefficients) noexcept {
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, kCycles, [&](std::size_t poly, std::size_t j) {
    const Modulus m = queue.moduli[out.limbs[j]];
    Word* x = out.limb(poly, j);
    for (std::size_t i = 0; i < queue.degree; ++i) x[i] = m.from_signed(coefficients[i]);
  });
}

void import_integers(Queue& q, LimbView out, const IntegerView& in) noexcept {
  RefQueue& queue = ref_queue(q);
  const std::size_t gap = queue.degree / in.count;
  queue.for_limbs(out, kCycles, [&](std::size_t poly, std::size_t j) {
    const Modulus m = queue.moduli[out.limbs[j]];
    Word* x = out.limb(poly, j);
    std::fill_n(x, queue.degree, Word{0});
    for (std::size_t i = 0; i < in.count; ++i) x[i * gap] = m.from_signed(integer_at(in, i));
  });
}

void ntt_integers(Queue& q, LimbView out, const IntegerView& in) noexcept {
  import_integers(q, out, in);
  ntt(q, out, out);
}

bool import_residues(Queue& q, LimbView out, const PackedLimbs& canonical) noexcept {
  RefQueue& queue = ref_queue(q);
  std::atomic<bool> all_reduced = true;
  queue.for_limbs(out, kCycles, [&](std::size_t poly, std::size_t j) {
    const unsigned width = canonical.widths[j];
    const std::byte* from = canonical.base + canonical.offsets[poly * out.limbs.size() + j];
    Word* x = out.limb(poly, j);
    Word largest = 0;
    for (std::size_t i = 0; i < queue.degree; i += kPackedGroup, from += width) {
      unpack_group(x + i, from, width);
      for (std::size_t k = i; k < i + kPackedGroup; ++k) largest = std::max(largest, x[k]);
    }
    if (largest >= queue.moduli[out.limbs[j]].value()) all_reduced.store(false, std::memory_order_relaxed);
  });
  return all_reduced.load();
}

void export_residues(Queue& q, const PackedLimbsOut& canonical, ConstLimbView in) noexcept {
  RefQueue& queue = ref_queue(q);
  const std::size_t limbs = in.limbs.size();
  queue.pool.parallel_for(in.polys * limbs, queue.degree * kCycles, [&](std::size_t number) {
    const unsigned width = canonical.widths[number % limbs];
    const Word* x = in.limb(number / limbs, number % limbs);
    std::byte* to = canonical.base + canonical.offsets[number];
    pack_words(to, x, queue.degree, width);
  });
}

}  // namespace lw::ref
