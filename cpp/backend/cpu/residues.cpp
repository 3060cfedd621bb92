// In and out of the encoding of `cpu`.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"
#include "backend/packing.hpp"

namespace lw::cpu {
namespace {

constexpr std::size_t kCycles = 2;
constexpr std::size_t kTile = 256;
constexpr unsigned kWidest = 57;         // that fits 8 bytes wherever it starts in a byte
constexpr std::size_t kReadBeyond = 16;  // coefficients: the vector kernel reads up to 16 bytes past its last group

/// Coefficients of any width, by way of words.
bool unpack_tiles(const RowKernels& row, Word* out, const std::byte* from, unsigned width, std::size_t count,
                  const Prime& prime) noexcept {
  bool all_reduced = true;
  for (std::size_t start = 0; start < count; start += kTile) {
    Word words[kTile];
    const std::size_t size = std::min(kTile, count - start);
    if (width == 64) {
      std::memcpy(words, from, size * sizeof(Word));
      from += size * sizeof(Word);
    } else {
      for (std::size_t i = 0; i < size; i += kPackedGroup, from += width) unpack_group(words + i, from, width);
    }
    all_reduced &= row.from_canonical(out + start, words, size, prime);
  }
  return all_reduced;
}

bool unpack_row(const CpuQueue& queue, Word* out, const std::byte* from, unsigned width, const Prime& prime) noexcept {
  if (width > kWidest) return unpack_tiles(queue.row, out, from, width, queue.degree, prime);
  const std::size_t before = queue.degree - kPackedGroup * ((kReadBeyond + width - 1) / width);
  const std::size_t fast = queue.degree < 8 * kReadBeyond ? 0 : before;
  const bool all_reduced = queue.row.unpack(out, from, width, fast, prime);
  return unpack_tiles(queue.row, out + fast, from + fast / kPackedGroup * width, width, queue.degree - fast, prime) &&
         all_reduced;
}

}  // namespace

bool import_residues(Queue& q, Rows out, const PackedRows& packed) noexcept {
  CpuQueue& queue = cpu_queue(q);
  std::atomic<bool> all_reduced = true;
  queue.for_rows(out, queue.degree * kCycles, [&](std::size_t poly, std::size_t j) {
    const std::byte* from = packed.base + packed.offsets[poly * out.limbs.size() + j];
    if (!unpack_row(queue, out.row(poly, j), from, packed.widths[j], queue.ntt[out.limbs[j]].prime)) {
      all_reduced.store(false, std::memory_order_relaxed);
    }
  });
  return all_reduced.load();
}

void export_residues(Queue& q, const PackedRowsOut& packed, ConstRows in) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const std::size_t limbs = in.limbs.size();
  queue.pool.parallel_for(in.polys * limbs, queue.degree * kCycles, [&](std::size_t row) {
    const unsigned width = packed.widths[row % limbs];
    const Prime& prime = queue.ntt[in.limbs[row % limbs]].prime;
    const Word* x = in.row(row / limbs, row % limbs);
    std::byte* to = packed.base + packed.offsets[row];
    const std::size_t tile = std::min<std::size_t>(kTile, queue.degree);
    for (std::size_t start = 0; start < queue.degree; start += tile, to += tile / kPackedGroup * width) {
      Word words[kTile];
      queue.row.to_canonical(words, x + start, tile, prime);
      if (width == 64) {
        std::memcpy(to, words, tile * sizeof(Word));
      } else {
        pack_words(to, words, tile, width);
      }
    }
  });
}

}  // namespace lw::cpu
