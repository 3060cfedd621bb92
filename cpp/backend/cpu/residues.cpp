// In and out of the encoding of `cpu`.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"

namespace lw::cpu {
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

bool import_residues(Queue& q, Rows out, const PackedRows& packed) noexcept {
  CpuQueue& queue = cpu_queue(q);
  std::atomic<bool> all_reduced = true;
  queue.for_rows(out, queue.degree * kCycles, [&](std::size_t poly, std::size_t j) {
    const unsigned width = packed.widths[j];
    const std::byte* from = packed.base + packed.offsets[poly * out.limbs.size() + j];
    Word* x = out.row(poly, j);
    const Word prime = queue.moduli[out.limbs[j]].value();
    Word largest = 0;
    for (std::size_t i = 0; i < queue.degree; i += kGroup, from += width) {
      unpack_group(x + i, from, width);
      for (std::size_t k = i; k < i + kGroup; ++k) {
        largest = std::max(largest, x[k]);
        x[k] = balanced_word(std::min(x[k], prime - 1), prime);
      }
    }
    if (largest >= prime) all_reduced.store(false, std::memory_order_relaxed);
  });
  return all_reduced.load();
}

void export_residues(Queue& q, const PackedRowsOut& packed, ConstRows in) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const std::size_t limbs = in.limbs.size();
  queue.pool.parallel_for(in.polys * limbs, queue.degree * kCycles, [&](std::size_t row) {
    const unsigned width = packed.widths[row % limbs];
    const Word prime = queue.moduli[in.limbs[row % limbs]].value();
    const Word* x = in.row(row / limbs, row % limbs);
    std::byte* to = packed.base + packed.offsets[row];
    for (std::size_t i = 0; i < queue.degree; i += kGroup, to += width) {
      Word group[kGroup];
      for (std::size_t k = 0; k < kGroup; ++k) group[k] = canonical(x[i + k], prime);
      pack_group(to, group, width);
    }
  });
}

}  // namespace lw::cpu
