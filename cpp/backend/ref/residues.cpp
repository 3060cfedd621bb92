// In and out of the encoding of `ref`, which is the canonical residue itself:
// bit-packed rows, small signed integers, uniform polynomials.
#include <atomic>
#include <bit>
#include <cstring>

#include "backend/ref/kernels.hpp"
#include "backend/ref/queue.hpp"

namespace lw::ref {
namespace {

static_assert(std::endian::native == std::endian::little, "packed rows are read and written through the low bytes");

constexpr std::size_t kCycles = 4;
constexpr std::size_t kGroup = 8;  // coefficients that fill a whole number of bytes at every width

// Room for 8 coefficients of 64 bits and for the 16-byte accesses at the last of them.
using GroupBytes = std::byte[kGroup * 8 + 8];

void unpack_group(Word* out, const std::byte* from, unsigned width) noexcept {
  GroupBytes bytes = {};
  std::memcpy(bytes, from, width);
  const Word mask = ~Word{0} >> (64 - width);
  for (unsigned i = 0; i < kGroup; ++i) {
    const unsigned bit = i * width;
    U128 window;
    std::memcpy(&window, bytes + bit / 8, sizeof window);
    out[i] = static_cast<Word>(window >> bit % 8) & mask;
  }
}

void pack_group(std::byte* to, const Word* in, unsigned width) noexcept {
  GroupBytes bytes = {};
  for (unsigned i = 0; i < kGroup; ++i) {
    const unsigned bit = i * width;
    U128 window;
    std::memcpy(&window, bytes + bit / 8, sizeof window);
    window |= static_cast<U128>(in[i]) << bit % 8;
    std::memcpy(bytes + bit / 8, &window, sizeof window);
  }
  std::memcpy(to, bytes, width);
}

}  // namespace

void import_signed(Queue& q, Rows out, std::span<const std::int64_t> coefficients) noexcept {
  RefQueue& queue = ref_queue(q);
  queue.for_rows(out, kCycles, [&](std::size_t poly, std::size_t j) {
    const Modulus m = queue.moduli[out.limbs[j]];
    Word* x = out.row(poly, j);
    for (std::size_t i = 0; i < queue.degree; ++i) x[i] = m.from_signed(coefficients[i]);
  });
}

bool import_residues(Queue& q, Rows out, const PackedRows& canonical) noexcept {
  RefQueue& queue = ref_queue(q);
  std::atomic<bool> all_reduced = true;
  queue.for_rows(out, kCycles, [&](std::size_t poly, std::size_t j) {
    const unsigned width = canonical.widths[j];
    const std::byte* from = canonical.base + canonical.offsets[poly * out.limbs.size() + j];
    Word* x = out.row(poly, j);
    Word largest = 0;
    for (std::size_t i = 0; i < queue.degree; i += kGroup, from += width) {
      unpack_group(x + i, from, width);
      for (std::size_t k = i; k < i + kGroup; ++k) largest = std::max(largest, x[k]);
    }
    if (largest >= queue.moduli[out.limbs[j]].value()) all_reduced.store(false, std::memory_order_relaxed);
  });
  return all_reduced.load();
}

void export_residues(Queue& q, const PackedRowsOut& canonical, ConstRows in) noexcept {
  RefQueue& queue = ref_queue(q);
  const std::size_t limbs = in.limbs.size();
  queue.pool.parallel_for(in.polys * limbs, queue.degree * kCycles, [&](std::size_t row) {
    const unsigned width = canonical.widths[row % limbs];
    const Word* x = in.row(row / limbs, row % limbs);
    std::byte* to = canonical.base + canonical.offsets[row];
    for (std::size_t i = 0; i < queue.degree; i += kGroup, to += width) pack_group(to, x + i, width);
  });
}

}  // namespace lw::ref
