// Base conversions, by themselves and in the first pass of the transforms of what they make.
#include <algorithm>
#include <bit>

#include "backend/gpu/batches.hpp"
#include "backend/gpu/entries.hpp"
#include "backend/gpu/launch.hpp"
#include "backend/gpu/tile_stages.hpp"

namespace lw::gpu {
namespace {

/// Source limbs up to which a block that has one limb of its own splits for that limb alone. It reads as many limbs,
/// where a conversion by itself writes one that is read again; a few more are less than a launch.
constexpr std::size_t kMostSplitAnew = 4;

std::size_t place_in(std::span<const std::uint16_t> limbs, std::uint16_t limb) noexcept {
  return static_cast<std::size_t>(std::find(limbs.begin(), limbs.end(), limb) - limbs.begin());
}

std::size_t num_limbs(std::span<const ConversionPart> parts) noexcept {
  std::size_t limbs = 0;
  for (const ConversionPart& part : parts) limbs += part.count;
  return limbs;
}
std::size_t most_targets(std::span<const ConversionPart> parts) noexcept {
  std::size_t most = 0;
  for (const ConversionPart& part : parts) most = std::max(most, part.count);
  return most;
}
std::size_t most_sources(std::span<const ConversionPart> parts) noexcept {
  std::size_t most = 0;
  for (const ConversionPart& part : parts) most = std::max(most, part.table->from.size());
  return most;
}

/// Whether the source limbs follow each other in `in`, as jobs have them.
bool is_in_order(const ConversionPart& part) noexcept {
  const std::span<const std::uint16_t> from = part.table->from;
  if (from.empty()) return false;
  const std::size_t first = place_in(part.in.limbs, from.front());
  return first + from.size() <= part.in.limbs.size() &&
         std::ranges::equal(from, part.in.limbs.subspan(first, from.size()));
}

ConversionJob job_of(GpuQueue& queue, Staging& staging, const ConversionPart& part, std::size_t limb) noexcept {
  Source in = operand(part.in);
  in.base = part.in.limb(0, place_in(part.in.limbs, part.table->from.front()));
  return {queue.conversion(*part.table, staging), in, static_cast<std::uint32_t>(part.first),
          static_cast<std::uint32_t>(part.count), static_cast<std::uint32_t>(limb)};
}

/// Whether its parts fit the registers of a thread, and its sums take all of them without a reduction.
template <class A>
bool is_short(const GpuQueue& queue, const ConversionPart& part) noexcept {
  const BaseConversionTable& table = *part.table;
  if (table.from.size() > kMostSources) return false;
  if constexpr (A::kArithmetic == Arithmetic::kFp64) {
    std::uint64_t largest = 0;
    for (const std::uint16_t limb : table.to) largest = std::max(largest, queue.moduli()[limb].value());
    return conversion_accumulator(queue.moduli(), table, largest).terms > table.from.size();
  }
  return true;
}

/// Makes the jobs of one launch: one for each of `parts`, whose limbs begin at `limb`.
ConversionJobs jobs_of(GpuQueue& queue, Staging& staging, std::span<const ConversionPart> parts,
                       std::size_t limb) noexcept {
  ConversionJobs jobs = {};
  for (const ConversionPart& part : parts) {
    jobs.job[jobs.count++] = job_of(queue, staging, part, limb);
    limb += part.count;
  }
  return jobs;
}

template <class A>
void convert_part(Queue& q, const LimbView& out, const ConversionPart& part) noexcept {
  GpuQueue& queue = gpu_queue(q);
  Staging staging(queue);
  const BaseConversionTable& table = *part.table;
  LimbNumbers limbs = {};
  for (std::size_t j = 0; j < table.from.size(); ++j) {
    limbs.number[j] = static_cast<std::uint16_t>(place_in(part.in.limbs, table.from[j]));
  }
  const std::size_t terms = table.from.size();
  const std::size_t fitting = std::bit_floor(kConversionSharedWords / std::max<std::size_t>(terms, 1));
  const std::size_t groups = (part.count + kConversionTargets - 1) / kConversionTargets;
  const Grid grid =
      limb_grid(degree_of(queue), groups, out.polys, std::min<std::size_t>(fitting, BaseConvert<A>::kThreads));
  queue.launch<BaseConvert<A>>({queue.tables(), queue.conversion(table, staging), result(out), operand(part.in), limbs,
                                static_cast<std::uint32_t>(part.first), static_cast<std::uint32_t>(part.count)},
                               grid, static_cast<std::uint32_t>(terms * grid.threads));
}

/// call(parts, the limb of the first one) for as many parts as a launch takes.
template <class Call>
void for_each_launch(std::span<const ConversionPart> parts, const Call& call) noexcept {
  std::size_t limb = 0;
  for (std::size_t first = 0; first < parts.size(); first += kMostJobs) {
    const auto some = parts.subspan(first, std::min(kMostJobs, parts.size() - first));
    call(some, limb);
    limb += num_limbs(some);
  }
}

/// Limbs of a full tile.
template <class A>
void convert_whole_tiles(GpuQueue& queue, const LimbView& out, std::span<const ConversionPart> parts) noexcept {
  Staging staging(queue);
  for_each_launch(parts, [&](std::span<const ConversionPart> some, std::size_t limb) {
    queue.launch<BaseConvertNtt<A>>(
        {tile_shape(queue, rest_of<Radix8>(Radix8::kLogTile)), jobs_of(queue, staging, some, limb), result(out)},
        tile_grid(queue, most_targets(some), static_cast<std::uint32_t>(some.size()) * out.polys, Radix8::kLogTile,
                  Radix8::kThreads),
        ntt_shared_words(Radix8::kLogTile));
  });
}

/// Limbs of any length, from few source limbs.
template <class A>
void convert_short(GpuQueue& queue, const LimbView& out, std::span<const ConversionPart> parts) noexcept {
  using Kernel = BaseConvertLimbs<A>;
  const std::size_t threads = degree_of(queue) / 2;  // of a limb
  const std::size_t most = most_targets(parts),
                    blocks = num_limbs(parts) * out.polys * limb_grid(threads, 1, 1).blocks[0];
  const std::size_t wanted = std::clamp<std::size_t>(blocks / (Kernel::kBlocks * num_processors(queue)), 1, most);
  const std::size_t groups = (most + wanted - 1) / wanted, group = (most + groups - 1) / groups;
  Staging staging(queue);
  for_each_launch(parts, [&](std::span<const ConversionPart> some, std::size_t first) {
    queue.launch<Kernel>(
        {queue.tables(), jobs_of(queue, staging, some, first), result(out), static_cast<std::uint32_t>(group)},
        limb_grid(threads, (most_targets(some) + group - 1) / group, some.size() * out.polys),
        SharedConversionConstants<A>::words(static_cast<std::uint32_t>(most_sources(some)),
                                            static_cast<std::uint32_t>(group)));
  });
}

/// Limbs of any length.
template <class A>
void convert_parts(Queue& q, const LimbView& out, std::span<const ConversionPart> parts) noexcept {
  GpuQueue& queue = gpu_queue(q);
  const auto fits = [&](const ConversionPart& part) { return is_in_order(part) && is_short<A>(queue, part); };
  if (std::ranges::all_of(parts, fits)) return convert_short<A>(queue, out, parts);
  std::size_t limb = 0;
  for (const ConversionPart& part : parts) {
    convert_part<A>(q, cut(out, limb, std::span(part.table->to).subspan(part.first, part.count)), part);
    limb += part.count;
  }
}

}  // namespace

template <class A>
void ConversionEntries<A>::base_convert(Queue& q, LimbView out, ConstLimbView in,
                                        const BaseConversionTable& table) noexcept {
  const ConversionPart part = {&table, in, 0, table.to.size()};
  convert_parts<A>(q, out, {&part, 1});
}

template <class A>
bool ConversionEntries<A>::convert_ntt_begin(Queue& q, LimbView out, std::span<const ConversionPart> parts) noexcept {
  GpuQueue& queue = gpu_queue(q);
  if (parts.empty()) return false;
  if (queue.transform() == NttForm::kRadix8 && queue.tables().log_degree == Radix8::kLogTile &&
      std::ranges::all_of(parts, is_in_order) && most_sources(parts) <= kMostSplitAnew) {
    convert_whole_tiles<A>(queue, out, parts);
    return false;
  }
  convert_parts<A>(q, out, parts);
  for (std::size_t first = 0; first < out.limbs.size(); first += kMaxLimbs) {
    TransformEntries<A>::ntt_begin(
        q, cut(out, first, out.limbs.subspan(first, std::min(kMaxLimbs, out.limbs.size() - first))));
  }
  return true;
}

template <class A>
void ConversionEntries<A>::convert_ntt_sub_scale(Queue& q, LimbView out, ConstLimbView a, const ConversionPart& part,
                                                 std::span<const Word> scalars, Word* scratch) noexcept {
  GpuQueue& queue = gpu_queue(q);
  const std::size_t stride = degree_of(queue);
  const bool is_tile = ends_in_full_tiles(queue) && queue.tables().log_degree == Radix8::kLogTile;
  if (is_tile && is_in_order(part) && part.table->from.size() <= kMostSplitAnew) {
    Staging staging(queue);
    const NttArgs ntt = ntt_args(queue, out, out, rest_of<Radix8>(Radix8::kLogTile));
    queue.launch<BaseConvertNttSubScale<A>>(
        {sub_scale_args<A>(queue, out, a, ntt, scalars), job_of(queue, staging, part, 0)},
        tile_grid(queue, out.limbs.size(), out.polys, Radix8::kLogTile, Radix8::kThreads),
        ntt_shared_words(Radix8::kLogTile));
    return;
  }
  const LimbView converted = {scratch, stride, stride * part.count, out.limbs, out.polys};
  if (convert_ntt_begin(q, converted, {&part, 1}))
    return TransformEntries<A>::ntt_end_sub_scale(q, out, a, converted, scalars);
  LimbEntries<A>::sub_scale(q, out, a, converted, scalars);
}

template struct ConversionEntries<Fp64>;
template struct ConversionEntries<U64>;

}  // namespace lw::gpu
