#include "backend/gpu/client_entries.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "backend/gpu/launch.hpp"

namespace lw::gpu {
namespace {

constexpr std::size_t kMostSlots = std::size_t{1} << kLogEmbeddingTile;

std::uint32_t log_of(std::size_t power) noexcept { return static_cast<std::uint32_t>(std::countr_zero(power)); }

Global<const StreamKey> keys_at(const Word* words) noexcept {
  return Global(reinterpret_cast<const StreamKey*>(words));
}
Global<const ComplexValue> values_at(const Word* words) noexcept {
  return Global(reinterpret_cast<const ComplexValue*>(words));
}
Numbers<const Word> complex_numbers(const Word* words) noexcept { return {Global(words), 0}; }

/// `count` things in tiles or parts of 2^log of them, by so many threads, for each message.
Grid message_grid(std::size_t blocks, std::size_t threads, std::size_t messages) noexcept {
  return {{static_cast<std::uint32_t>(blocks), 1, static_cast<std::uint32_t>(messages)},
          static_cast<std::uint32_t>(std::clamp<std::size_t>(threads, 1, kEmbeddingThreads))};
}

/// Polys of limbs, one after the other, at their addresses on the device.
Global<const Source> put_polys(Staging& staging, std::span<const ConstLimbView> views) noexcept {
  return staging.put<Source>(
      views.size(), [&](std::size_t i) { return Source{views[i].base, views[i].stride, views[i].poly_stride}; });
}

/// The stage of halves of 2^log_half values, of all messages.
template <bool kForward>
void run_stage(GpuQueue& queue, const Numbers<const Word>& in, const Numbers<Word>& out, const SlotWords& messages,
               const Word* roots, std::uint32_t log_half) noexcept {
  const std::size_t pairs = messages.slots / 2, threads = std::min<std::size_t>(pairs, kEmbeddingThreads);
  queue.launch<EmbeddingStage<kForward>>({in, out, values_at(roots), log_of(messages.slots), log_half},
                                         message_grid(pairs / threads, threads, messages.messages));
}

template <class A>
class GpuClient final : public ClientKernels {
 public:
  void derive_keys(Queue& q, Word* keys, const Word* seeds, std::size_t items, std::size_t num_seeds,
                   std::span<const ItemStream> streams) const noexcept override {
    const auto num_streams = static_cast<std::uint32_t>(streams.size());
    StreamKeys::Args args = {keys_at(seeds),
                             Global(reinterpret_cast<StreamKey*>(keys)),
                             static_cast<std::uint32_t>(items),
                             static_cast<std::uint32_t>(num_seeds),
                             num_streams,
                             {}};
    for (std::size_t i = 0; i < streams.size(); ++i) {
      args.streams[i] = {streams[i].seed, streams[i].domain, streams[i].digit, streams[i].limb};
    }
    const auto blocks =
        static_cast<std::uint32_t>((items * num_streams + StreamKeys::kThreads - 1) / StreamKeys::kThreads);
    gpu_queue(q).launch<StreamKeys>(args, {{blocks, 1, 1}, StreamKeys::kThreads});
  }

  void expand_streams(Queue& q, LimbView out, const UniformItems& items) const noexcept override {
    using Kernel = ExpandUniform<A>;
    GpuQueue& queue = gpu_queue(q);
    const Grid grid = limb_grid(degree_of(queue) / Kernel::kBlockWords, out.limbs.size(), out.polys, Kernel::kThreads);
    queue.launch<Kernel>({queue.tables(),
                          result(out),
                          keys_at(items.limb_keys.keys),
                          keys_at(items.seeds.keys),
                          static_cast<std::uint32_t>(items.limb_keys.step),
                          static_cast<std::uint32_t>(items.seeds.step),
                          {items.domain, 0, 0, 0},
                          numbers_of(out.limbs)},
                         grid, Kernel::shared_words(grid.threads));
  }

  void import_messages(Queue& q, LimbView out, const ItemIntegers& integers) const noexcept override {
    sample(q, out, Sample::kNothing, integers, {nullptr, 0});
  }
  void import_noisy(Queue& q, LimbView out, const ItemIntegers& integers,
                    const ItemKeys& errors) const noexcept override {
    sample(q, out, Sample::kError, integers, errors);
  }
  void sample_ternary(Queue& q, LimbView out, const ItemKeys& masks) const noexcept override {
    sample(q, out, Sample::kTernary, {}, masks);
  }
  void import_remainders(Queue& q, LimbView out, const ConstLimbView* products,
                         const ItemKeys& errors) const noexcept override {
    sample(q, out, Sample::kRemainder, {}, errors, 2, products);
  }

  void unembed(Queue& q, Word* coefficients, const SlotWords& in, Word* work, const Word* roots, double scale,
               Word* is_wrong) const noexcept override {
    GpuQueue& queue = gpu_queue(q);
    const std::uint32_t log_slots = log_of(in.slots), log_tile = std::min(log_slots, kLogEmbeddingTile);
    Numbers<const Word> from = {Global<const Word>(in.words), in.is_real ? 1u : 0u};
    for (std::uint32_t log_half = log_slots; log_half-- > log_tile;) {
      run_stage<false>(queue, from, {Global(work), 0}, in, roots, log_half);
      from = complex_numbers(work);
    }
    queue.launch<UnembedTile>(
        {from, Global(coefficients), values_at(roots), Global(is_wrong), scale, log_slots, log_tile},
        message_grid(in.slots >> log_tile, std::size_t{1} << log_tile >> 1, in.messages),
        UnembedTile::shared_words(log_tile));
  }
  std::size_t most_slots_at_once() const noexcept override { return kMostSlots; }

  void at_secret(Queue& q, LimbView out, std::span<const ConstLimbView> ciphertexts,
                 ConstLimbView minus_secret) const noexcept override {
    GpuQueue& queue = gpu_queue(q);
    Staging staging(queue);
    queue.launch<AtSecret<A>>({queue.tables(), result(out), put_polys(staging, ciphertexts), operand(minus_secret),
                               ciphertexts[0].polys - 1, numbers_of(out.limbs)},
                              limb_grid(queue, out));
  }

  void read(Queue& q, const SlotWords& out, LimbView residues, std::span<const double> scales,
            std::span<const Word> inverses, Word* work, const Word* roots) const noexcept override {
    GpuQueue& queue = gpu_queue(q);
    Staging staging(queue);
    const std::uint32_t log_slots = log_of(out.slots), log_tile = std::min(log_slots, kLogEmbeddingTile);
    const std::size_t threads = std::min<std::size_t>(out.slots, kLimbThreads);
    queue.launch<ReadMessages<A>>({queue.tables(),
                                   result(residues),
                                   {Global(work), 0},
                                   staging.put(scales),
                                   staging.put(inverses),
                                   log_slots,
                                   static_cast<std::uint32_t>(residues.limbs.size()),
                                   numbers_of(residues.limbs)},
                                  message_grid(out.slots / threads, threads, out.messages));
    const Numbers<Word> last = {Global(out.words), out.is_real ? 1u : 0u}, between = {Global(work), 0};
    queue.launch<EmbedTile>(
        {complex_numbers(work), log_tile == log_slots ? last : between, values_at(roots), log_slots, log_tile},
        message_grid(out.slots >> log_tile, std::size_t{1} << log_tile >> 1, out.messages),
        EmbedTile::shared_words(log_tile));
    for (std::uint32_t log_half = log_tile; log_half < log_slots; ++log_half) {
      run_stage<true>(queue, complex_numbers(work), log_half + 1 == log_slots ? last : between, out, roots, log_half);
    }
  }

  void matrix_product(Queue& q, LimbView out, std::span<const ConstLimbView> left, std::span<const ConstLimbView> right,
                      std::size_t terms, std::size_t first) const noexcept override {
    GpuQueue& queue = gpu_queue(q);
    Staging staging(queue);
    queue.launch<MatrixProduct<A>>({queue.tables(), result(out), put_polys(staging, left), put_polys(staging, right),
                                    static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(terms),
                                    static_cast<std::uint32_t>(right.size() / terms), numbers_of(out.limbs)},
                                   limb_grid(degree_of(queue), out.limbs.size(), out.polys / 3));
  }

 private:
  static void sample(Queue& q, const LimbView& out, Sample what, const ItemIntegers& integers, const ItemKeys& keys,
                     std::uint32_t polys_each = 1, const ConstLimbView* products = nullptr) noexcept {
    using Kernel = SampledResidues<A>;
    GpuQueue& queue = gpu_queue(q);
    const std::size_t degree = degree_of(queue);
    const Grid grid = limb_grid(degree / Kernel::kBlockWords, 1, out.polys, Kernel::kThreads);
    queue.launch<Kernel>(
        {queue.tables(), result(out), Global(integers.words), keys_at(keys.keys),
         products != nullptr ? operand(*products) : Source{}, what, static_cast<std::uint32_t>(integers.count),
         integers.count == 0 ? 0 : log_of(degree / integers.count), static_cast<std::uint32_t>(keys.step), polys_each,
         products != nullptr ? products->limbs[0] : Kernel::kNoSpecial, static_cast<std::uint32_t>(out.limbs.size()),
         numbers_of(out.limbs)},
        grid, Kernel::shared_words(grid.threads));
  }
};

}  // namespace

const ClientKernels& client_of(Arithmetic arithmetic) noexcept {
  static const GpuClient<Fp64> fp64;
  static const GpuClient<U64> u64;
  if (arithmetic == Arithmetic::kFp64) return fp64;
  return u64;
}

}  // namespace lw::gpu
