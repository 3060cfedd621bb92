// Import and export of residues in the encoding of `cpu`.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"
#include "backend/limb_stream.hpp"
#include "backend/packing.hpp"

namespace lw::cpu {
namespace {

constexpr std::size_t kCycles = 2, kExpandCycles = 8;
constexpr std::size_t kTile = 256;
constexpr unsigned kWidest = 57;         // that fits 8 bytes wherever it starts in a byte
constexpr std::size_t kReadBeyond = 16;  // coefficients: the vector kernel reads up to 16 bytes past its last group

/// Coefficients of any width, by way of words.
bool unpack_tiles(const LimbKernels& kernels, Word* out, const std::byte* from, unsigned width, std::size_t count,
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
    all_reduced &= kernels.from_canonical(out + start, words, size, prime);
  }
  return all_reduced;
}

/// The number of coefficients of a limb that the vector kernel unpacks.
std::size_t unpacked_fast(const CpuQueue& queue, unsigned width) noexcept {
  if (width > kWidest || queue.degree < 8 * kReadBeyond) return 0;
  return queue.degree - kPackedGroup * ((kReadBeyond + width - 1) / width);
}

/// Unpacks the coefficients of a limb that the vector kernel leaves, those from limb.count on.
bool unpack_last(const CpuQueue& queue, const LimbToUnpack& limb, const Prime& prime) noexcept {
  return unpack_tiles(queue.limb, limb.out + limb.count, limb.from + limb.count / kPackedGroup * limb.width, limb.width,
                      queue.degree - limb.count, prime);
}

bool unpack_limb(const CpuQueue& queue, const LimbToUnpack& limb, const Prime& prime) noexcept {
  const bool all_reduced = queue.limb.unpack(limb.out, limb.from, limb.width, limb.count, prime);
  return unpack_last(queue, limb, prime) && all_reduced;
}

/// The residues of a stream for one limb, and beside them those of a packed limb as far as it is unpacked fast.
void expand_limb(const CpuQueue& queue, Word* out, const UniformStream& stream, std::uint16_t limb,
                 LimbToUnpack* packed) noexcept {
  const Prime& prime = queue.ntt[limb].prime;
  const Word value = queue.moduli[limb].value();
  const Word largest_accepted = ~Word{0} / value * value - 1;
  const LimbStream of_limb(stream, limb);
  const ChaChaState state = of_limb.first_state();
  const std::size_t degree = queue.degree;
  std::size_t at = 0;
  while ((at = queue.limb.expand(out, at, degree, state, largest_accepted, prime, packed)) < degree) {
    std::array<Word, kExpandStep> words;
    const std::size_t size = std::min(kExpandStep, degree - at);
    of_limb.first_round(at, {words.data(), size});
    for (std::size_t i = 0; i < size; ++i) {
      if (words[i] <= largest_accepted) continue;
      out[at + i] = balanced_word(of_limb.accepted(at + i, words[i], largest_accepted) % value, value);
    }
    at += size;
  }
}

}  // namespace

bool import_residues(Queue& q, LimbView out, const PackedLimbs& packed) noexcept {
  CpuQueue& queue = cpu_queue(q);
  std::atomic<bool> all_reduced = true;
  queue.for_limbs(out, queue.degree * kCycles, [&](std::size_t poly, std::size_t j) {
    const std::byte* from = packed.base + packed.offsets[poly * out.limbs.size() + j];
    const LimbToUnpack limb = {out.limb(poly, j), from, packed.widths[j], unpacked_fast(queue, packed.widths[j])};
    if (!unpack_limb(queue, limb, queue.ntt[out.limbs[j]].prime)) all_reduced.store(false, std::memory_order_relaxed);
  });
  return all_reduced.load();
}

void expand_uniform(Queue& q, LimbView out, const UniformStream& stream) noexcept {
  CpuQueue& queue = cpu_queue(q);
  queue.for_limbs(out, queue.degree * kExpandCycles, [&](std::size_t poly, std::size_t j) {
    expand_limb(queue, out.limb(poly, j), stream, out.limbs[j], nullptr);
  });
}

bool import_seeded(Queue& q, LimbView stored, LimbView expanded, const PackedLimbs& packed, const UniformStream& stream,
                   FastSum* sum) noexcept {
  CpuQueue& queue = cpu_queue(q);
  std::atomic<bool> all_reduced = true;
  queue.for_limbs(stored, queue.degree * kExpandCycles, [&](std::size_t, std::size_t j) {
    const unsigned width = packed.widths[j];
    LimbToUnpack limb = {stored.limb(0, j), packed.base + packed.offsets[j], width, unpacked_fast(queue, width)};
    FastSum::Sums sums = sum == nullptr ? FastSum::Sums{} : sum->partial_sums();
    if (sum != nullptr) limb.sums = &sums;
    expand_limb(queue, expanded.limb(0, j), stream, stored.limbs[j], &limb);
    if (sum != nullptr) {
      sum->put_back(sums, limb.stripes);
      sum->update(packed.limb_bytes(j, queue.degree).subspan(limb.stripes * FastSum::kStripeBytes));
    }
    if (!unpack_last(queue, limb, queue.ntt[stored.limbs[j]].prime) || !limb.all_reduced) {
      all_reduced.store(false, std::memory_order_relaxed);
    }
  });
  return all_reduced.load();
}

void export_residues(Queue& q, const PackedLimbsOut& packed, ConstLimbView in) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const std::size_t limbs = in.limbs.size();
  queue.pool.parallel_for(in.polys * limbs, queue.degree * kCycles, [&](std::size_t number) {
    const unsigned width = packed.widths[number % limbs];
    const Prime& prime = queue.ntt[in.limbs[number % limbs]].prime;
    const Word* x = in.limb(number / limbs, number % limbs);
    std::byte* to = packed.base + packed.offsets[number];
    const std::size_t tile = std::min<std::size_t>(kTile, queue.degree);
    for (std::size_t start = 0; start < queue.degree; start += tile, to += tile / kPackedGroup * width) {
      Word words[kTile];
      queue.limb.to_canonical(words, x + start, tile, prime);
      if (width == 64) {
        std::memcpy(to, words, tile * sizeof(Word));
      } else {
        pack_words(to, words, tile, width);
      }
    }
  });
}

}  // namespace lw::cpu
