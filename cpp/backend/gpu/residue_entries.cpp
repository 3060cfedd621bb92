#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/gpu/entries.hpp"
#include "backend/gpu/launch.hpp"
#include "math/fast_sum.hpp"

namespace lw::gpu {
namespace {

// Packed limbs that are on their way together: a launch takes so many, and memory for so many bytes is got at once.
constexpr std::size_t kRunLimbs = 1 << 15, kRunBytes = 1 << 24;

/// Packed limbs that lie one after the other on the host and in whole words, numbers [first, first + count).
struct Run {
  std::size_t first, count, bytes;
};

/// Bytes of limb number i.
template <class Packed>
std::size_t packed_bytes(const Packed& packed, std::size_t degree, std::size_t i) noexcept {
  return degree / 8 * packed.widths[i % packed.widths.size()];
}

template <class Packed>
Run run_from(const Packed& packed, std::size_t degree, std::size_t first, std::size_t limbs) noexcept {
  Run run = {first, 1, packed_bytes(packed, degree, first)};
  const std::size_t most = std::min(limbs, first + kRunLimbs);
  for (std::size_t i = first + 1; i < most && run.bytes < kRunBytes && run.bytes % sizeof(Word) == 0; ++i) {
    if (packed.offsets[i] != packed.offsets[first] + run.bytes) break;
    ++run.count;
    run.bytes += packed_bytes(packed, degree, i);
  }
  return run;
}

/// The limbs of a run on the device.
template <class Packed, class AnyLimbs>
Global<const PackedLimb> put_limbs(Staging& staging, const Packed& packed, const AnyLimbs& view,
                                   const Run& run) noexcept {
  const std::size_t limbs = view.limbs.size();
  return staging.put<PackedLimb>(run.count, [&](std::size_t i) {
    const std::size_t number = run.first + i, j = number % limbs;
    const std::size_t first_word = (packed.offsets[number] - packed.offsets[run.first]) / sizeof(Word);
    return PackedLimb{const_cast<Word*>(view.limb(number / limbs, j)), first_word, view.limbs[j], packed.widths[j]};
  });
}

StreamKey stream_key(std::span<const std::uint8_t, 32> bytes) noexcept {
  StreamKey key;
  std::memcpy(key.words, bytes.data(), sizeof key);
  return key;
}

}  // namespace

template <class A>
void ResidueEntries<A>::import_signed(Queue& q, LimbView out, std::span<const std::int64_t> coefficients) noexcept {
  GpuQueue& queue = gpu_queue(q);
  Staging staging(queue);
  const auto staged = staging.put(coefficients.first(degree_of(queue)));
  import_integers(q, out, {reinterpret_cast<const Word*>(staged.address()), degree_of(queue)});
}

template <class A>
void ResidueEntries<A>::import_integers(Queue& q, LimbView out, const IntegerView& in) noexcept {
  GpuQueue& queue = gpu_queue(q);
  const auto log_gap = static_cast<std::uint32_t>(std::countr_zero(degree_of(queue) / in.count));
  queue.launch<ImportSigned<A>>(
      {queue.tables(), result(out), Global(in.words), log_gap, in.width == 4 ? 1u : 0u, numbers_of(out.limbs)},
      limb_grid(queue, out));
}

template <class A>
bool ResidueEntries<A>::import_residues(Queue& q, LimbView out, const PackedLimbs& canonical) noexcept {
  GpuQueue& queue = gpu_queue(q);
  const std::size_t degree = degree_of(queue), limbs = out.polys * out.limbs.size();
  Staging verdict(queue);
  Word is_wrong = 0;
  const Global<Word> flag = verdict.put_variable(is_wrong);
  for (std::size_t next = 0; next < limbs;) {
    const Run run = run_from(canonical, degree, next, limbs);
    Staging staging(queue);
    const Global<const PackedLimb> list = put_limbs(staging, canonical, out, run);
    const auto bytes = staging.put(std::span(canonical.base + canonical.offsets[run.first], run.bytes));
    const Global<const Word> packed(reinterpret_cast<const Word*>(bytes.address()));
    queue.launch<UnpackResidues<A>>({queue.tables(), list, packed, flag}, limb_grid(degree, run.count, 1));
    next += run.count;
  }
  queue.download(&is_wrong, flag.address(), sizeof is_wrong);
  return is_wrong == 0;
}

template <class A>
void ResidueEntries<A>::export_residues(Queue& q, const PackedLimbsOut& canonical, ConstLimbView in) noexcept {
  GpuQueue& queue = gpu_queue(q);
  const std::size_t degree = degree_of(queue), limbs = in.polys * in.limbs.size();
  for (std::size_t next = 0; next < limbs;) {
    const Run run = run_from(canonical, degree, next, limbs);
    Staging staging(queue);
    const Global<const PackedLimb> list = put_limbs(staging, canonical, in, run);
    const Global<Word> packed = staging.room<Word>((run.bytes + sizeof(Word) - 1) / sizeof(Word));
    // A limb of width w has N w / 64 words: a thread each for the widest, which lets some of the others go.
    const std::size_t widest = *std::max_element(canonical.widths.begin(), canonical.widths.end());
    const std::size_t words = (degree * widest + 63) / 64;
    const std::size_t threads = std::min<std::size_t>(words, kLimbThreads);
    const std::size_t blocks = (words + threads - 1) / threads;
    queue.launch<PackResidues<A>>({queue.tables(), list, packed}, limb_grid(blocks * threads, run.count, 1, threads));
    queue.download(canonical.base + canonical.offsets[run.first], packed.address(), run.bytes);
    next += run.count;
  }
}

template <class A>
void ResidueEntries<A>::expand_uniform(Queue& q, LimbView out, const UniformStream& stream) noexcept {
  using Kernel = ExpandUniform<A>;
  GpuQueue& queue = gpu_queue(q);
  Staging staging(queue);
  const std::uint32_t object = static_cast<std::uint32_t>(stream.object),
                      object_high = static_cast<std::uint32_t>(stream.object >> 32);
  const StreamFields name = {stream_key(stream.seed), {stream.domain, object, object_high, stream.digit}};
  const std::size_t limbs = out.limbs.size();
  const Global<const StreamKey> keys = staging.put<StreamKey>(limbs + 1, [&](std::size_t j) {  // and the seed
    return j < limbs ? KeyHash(name, out.limbs[j], 0).key() : name.seed;
  });
  const Grid grid = limb_grid(degree_of(queue) / Kernel::kBlockWords, limbs, out.polys, Kernel::kThreads);
  queue.launch<Kernel>({queue.tables(),
                        result(out),
                        keys,
                        keys + limbs,
                        0,
                        0,
                        {stream.domain, object, object_high, stream.digit},
                        numbers_of(out.limbs)},
                       grid, Kernel::shared_words(grid.threads));
}

template <class A>
bool ResidueEntries<A>::import_seeded(Queue& q, LimbView stored, LimbView expanded, const PackedLimbs& canonical,
                                      const UniformStream& stream, FastSum* sum) noexcept {
  if (sum != nullptr) sum->update(canonical.limb_bytes(0, degree_of(gpu_queue(q))));
  expand_uniform(q, expanded, stream);
  return import_residues(q, stored, canonical);
}

template struct ResidueEntries<Fp64>;
template struct ResidueEntries<U64>;

}  // namespace lw::gpu
