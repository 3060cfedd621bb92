// Key switches limb by limb. The parts of every digit are split off once; then each target limb by itself joins them,
// transforms them and takes the inner products with all keys, so that extended digits exist one limb at a time.
#include <algorithm>
#include <bit>

#include "backend/cpu/base_convert_parts.hpp"
#include "backend/cpu/integer_limbs.hpp"
#include "backend/cpu/kernels.hpp"
#include "backend/cpu/output_automorphism.hpp"
#include "backend/cpu/queue.hpp"
#include "backend/host_device.hpp"

namespace lw::cpu {
namespace {

constexpr std::size_t kSumTile = 2048;
constexpr std::size_t kTileWords = 32768;  // of all babies of a tile together: they stay in the second cache
constexpr std::size_t kMaxDigits = kMaxFrom;
constexpr std::size_t kMostLifted = 8;  // limbs of plaintexts

std::size_t limb_stride(const CpuQueue& queue) noexcept { return host_limb_stride(queue.degree); }
std::size_t tile_of(const CpuQueue& queue) noexcept { return std::min<std::size_t>(kSumTile, queue.degree); }

/// body(slot, first, size) for groups of consecutive limbs of a window that each take about `cycles`. Slots run at the
/// same time, each with its own scratch; how many of them take part, and which takes what, changes no result.
template <class Body>
void for_each_group(CpuQueue& queue, LimbWindow window, std::size_t cycles, const Body& body) noexcept {
  const std::size_t count = window.count, size = JoinGroup::size(queue, count);
  queue.pool.parallel_for((count + size - 1) / size, cycles * size, [&](std::size_t slot, std::size_t group) {
    body(slot, window.first + group * size, std::min(size, count - group * size));
  });
}

std::size_t part_limbs(const SwitchSource& source) noexcept {
  std::size_t limbs = 0;
  for (const DigitLimbs& digit : source.digits) limbs += digit.to_rest == nullptr ? 0 : num_part_limbs(*digit.to_rest);
  return limbs;
}

/// The digits of a source, and what a target limb makes of them.
class SourceDigits {
 public:
  /// Splits all digits: part_limbs(source) limbs of scratch. Where an earlier window did, they are there.
  SourceDigits(CpuQueue& queue, const SwitchSource& source, LimbWindow window, Word* scratch) noexcept
      : queue_(queue), source_(source), parts_(scratch) {
    if (window.first > 0) return;
    const std::size_t tile = tile_of(queue), tiles = queue.degree / tile;
    queue.pool.parallel_for(source.digits.size() * tiles,
                            tile * 4 * part_limbs(source) / std::max<std::size_t>(source.digits.size(), 1),
                            [&](std::size_t task) {
                              const DigitLimbs& digit = source.digits[task / tiles];
                              if (digit.to_rest == nullptr) return;
                              const std::size_t start = task % tiles * tile;
                              Parts parts = parts_of(task / tiles);
                              parts.base += start;
                              split_limbs(queue, parts, digit.coefficients, 0, start, tile, *digit.to_rest);
                            });
  }

  /// Target limb j of digit d in NTT form, if it is one of the digit's own limbs; else a null pointer.
  const Word* own_limb(std::size_t d, std::size_t j) const noexcept {
    const ConstLimbView& ntt = source_.digits[d].ntt;
    const auto own = std::find(ntt.limbs.begin(), ntt.limbs.end(), source_.limbs[j]);
    return own == ntt.limbs.end() ? nullptr : ntt.limb(0, static_cast<std::size_t>(own - ntt.limbs.begin()));
  }

  /// limbs[i][d]: digit d modulo target limb first + i in NTT form, made in `rooms` unless there is such a limb
  /// already.
  void extend(const Word* (*limbs)[kMaxDigits], std::size_t first, std::size_t size, Word* rooms) const noexcept {
    for (std::size_t d = 0; d < source_.digits.size(); ++d) {
      JoinGroup group;
      for (std::size_t i = 0; i < size; ++i, rooms += limb_stride(queue_)) {
        limbs[i][d] = own_limb(d, first + i);
        if (limbs[i][d] != nullptr) continue;
        const BaseConversionTable& table = *source_.digits[d].to_rest;
        const auto target = std::find(table.to.begin(), table.to.end(), source_.limbs[first + i]) - table.to.begin();
        group.add(queue_, table, static_cast<std::size_t>(target), rooms);
        limbs[i][d] = rooms;
      }
      if (!group.empty()) group.run(queue_, parts_of(d), num_part_limbs(*source_.digits[d].to_rest));
    }
  }

 private:
  Parts parts_of(std::size_t d) const noexcept {
    const std::size_t before = part_limbs({{}, 0, source_.digits.first(d), nullptr, {}});
    return {parts_ + before * limb_stride(queue_), limb_stride(queue_)};
  }

  const CpuQueue& queue_;
  const SwitchSource& source_;
  Word* parts_;
};

/// Limb `at` of one or two polys as the start of two sums.
PairStart start_at(const ConstLimbView& polys, std::size_t at, double scalar) noexcept {
  return {{polys.polys > 0 ? polys.limb(0, at) : nullptr, polys.polys > 1 ? polys.limb(1, at) : nullptr}, scalar};
}

/// P times one or two polys over Q, at target limb j.
PairStart scaled(const CpuQueue& queue, const SwitchSource& source, const ConstLimbView& polys,
                 std::size_t j) noexcept {
  if (j < source.num_special) return {{nullptr, nullptr}, 1};
  const std::size_t at = j - source.num_special;
  return start_at(polys, at, static_cast<double>(queue.moduli[source.limbs[j]].centred(source.special_product[at])));
}

/// The start of a key's two sums at target limb j.
PairStart start_of_sums(const CpuQueue& queue, const SwitchSource& source, std::size_t j) noexcept {
  if (source.rest == nullptr) return {{nullptr, nullptr}, 1};
  return source.has_rest_over_p() ? start_at(*source.rest, j, 1) : scaled(queue, source, *source.rest, j);
}

/// digits (limbs of all of them at limb j) times one key, plus what the sums begin with, under the key's automorphism.
/// past_caches: as of OutputAutomorphism.
void apply_key(const CpuQueue& queue, Word* const out[2], std::span<const Word* const> digits, const KeyLimbs& key,
               const PairStart& begin, const SwitchSource& source, LimbWindow window, std::size_t j,
               bool past_caches) noexcept {
  const Prime& prime = queue.ntt[source.limbs[j]].prime;
  PairTerm terms[kMaxDigits];
  for (std::size_t d = 0; d < digits.size(); ++d) {
    const std::size_t place = d * window.count + j - window.first;
    terms[d] = {digits[d], {key.b[place], key.a[place]}};
  }
  const Accumulator accumulator = product_accumulator(digits.size(), prime.q);
  if (key.galois_element == 1) {
    queue.limb.pair_dot(out, terms, digits.size(), begin, nullptr, accumulator, queue.degree, prime);
  } else {
    OutputAutomorphism automorphism = output_automorphism(queue, key.galois_element);
    automorphism.past_caches = past_caches;
    queue.limb.pair_dot(out, terms, digits.size(), begin, &automorphism, accumulator, queue.degree, prime);
  }
}

/// Whether results are more than caches hold, so that their limbs had better not pass through them.
bool leave_caches(const CpuQueue& queue, std::span<const LimbView> out) noexcept {
  constexpr std::size_t kCachedBytes = 12 << 20;
  std::size_t limbs = 0;
  for (const LimbView& one : out) {
    limbs += one.polys * one.limbs.size();
    if (reinterpret_cast<std::uintptr_t>(one.base) % 64 != 0 || one.stride % 8 != 0 || one.poly_stride % 8 != 0)
      return false;
  }
  return limbs * queue.degree * sizeof(Word) > kCachedBytes;
}

/// Limbs that a slot needs for extended digits.
std::size_t digit_rooms(const CpuQueue& queue, const SwitchSource& source) noexcept {
  return source.digits.size() * JoinGroup::size(queue, source.limbs.size());
}

std::size_t ntt_cycles(const CpuQueue& queue) noexcept { return queue.degree * queue.log_degree / 2; }

/// Sums of plaintexts times babies at one target limb. Babies are limbs of scratch, both halves of one after the other;
/// so is what coefficients are transformed to, kMostLifted limbs at a time, which the caches then still have.
class GiantSums {
 public:
  /// begun: two words for each of `out`.
  GiantSums(const CpuQueue& queue, std::span<const LimbView> out, const Word* babies, std::size_t num_babies,
            bool has_self, std::size_t j, Word* begun, Word* lifted) noexcept
      : queue_(queue), out_(out), babies_(babies), has_self_(has_self), j_(j), begun_(begun), lifted_(lifted) {
    tile_ =
        std::min<std::size_t>(queue.degree, std::max<std::size_t>(32, std::bit_floor(kTileWords / (2 * num_babies))));
    std::fill_n(begun_, 2 * out_.size(), Word{0});
  }

  /// Adds up all giants.
  void run(std::span<const DiagonalTerm> terms) noexcept {
    for (std::size_t first = 0; first < terms.size();) {
      const std::size_t count = lift(terms.subspan(first));
      for (std::size_t start = 0; start < queue_.degree; start += tile_) add(terms.subspan(first, count), start);
      std::copy_n(begun_ + out_.size(), out_.size(), begun_);
      first += count;
    }
    for (std::size_t g = 0; g < out_.size(); ++g) {
      if (begun_[g] != 0) continue;
      for (std::size_t half = 0; half < 2; ++half) std::fill_n(out_[g].limb(half, j_), queue_.degree, to_word(0));
    }
  }

 private:
  bool counts(const DiagonalTerm& term) const noexcept { return term.baby > 0 || has_self_; }
  Word* lifted(std::size_t number) const noexcept { return lifted_ + number * limb_stride(queue_); }

  /// Transforms the limbs of the first terms that are coefficients; returns how many terms are ready.
  std::size_t lift(std::span<const DiagonalTerm> terms) const noexcept {
    std::size_t count = 0, used = 0;
    for (; count < terms.size(); ++count) {
      const DiagonalTerm& term = terms[count];
      if (term.integers.words == nullptr || !counts(term)) continue;
      if (used == kMostLifted) break;
      lift_limb(queue_, lifted(used++), term.integers, out_[term.giant].limbs[j_]);
    }
    return count;
  }

  /// Adds terms that are ready, for the words of a tile.
  void add(std::span<const DiagonalTerm> terms, std::size_t start) noexcept {
    Word* const now = begun_ + out_.size();
    std::copy_n(begun_, out_.size(), now);
    std::size_t used = 0;
    for (std::size_t first = 0; first < terms.size();) first = add_giant(terms, first, start, used, now);
  }

  /// Adds terms of one giant that follow each other, from `first` on; returns the first that is left.
  std::size_t add_giant(std::span<const DiagonalTerm> all, std::size_t first, std::size_t start, std::size_t& used,
                        Word* now) const noexcept {
    constexpr std::size_t kAtOnce = 64;
    PairTerm terms[kAtOnce];
    const std::uint32_t giant = all[first].giant;
    std::size_t count = 0, t = first;
    for (; t < all.size() && all[t].giant == giant && count < kAtOnce; ++t) {
      const DiagonalTerm& term = all[t];
      if (!counts(term)) continue;
      const std::size_t stride = limb_stride(queue_);
      const Word* const plain = term.integers.words == nullptr ? term.plain.limb(0, j_) : lifted(used++);
      const Word* baby = babies_ + 2 * term.baby * stride + start;
      terms[count++] = {plain + start, {baby, baby + stride}};
    }
    if (count == 0) return t;
    const LimbView& sum = out_[giant];
    Word* const to[2] = {sum.limb(0, j_) + start, sum.limb(1, j_) + start};
    const PairStart begin = {{now[giant] != 0 ? to[0] : nullptr, now[giant] != 0 ? to[1] : nullptr}, 1};
    now[giant] = 1;
    const Prime& prime = queue_.ntt[sum.limbs[j_]].prime;
    queue_.limb.pair_dot(to, terms, count, begin, nullptr, product_accumulator(count, prime.q), tile_, prime);
    return t;
  }

  const CpuQueue& queue_;
  std::span<const LimbView> out_;
  const Word* babies_;
  bool has_self_;  // baby 0 is zero modulo special limbs
  std::size_t j_, tile_;
  Word* begun_;  // which giants are, before the terms that are ready and in the tile that is made
  Word* lifted_;
};

}  // namespace

std::size_t key_switch_scratch(Queue& q, const SwitchSource& source, std::size_t) noexcept {
  const CpuQueue& queue = cpu_queue(q);
  return (part_limbs(source) + queue.pool.threads() * digit_rooms(queue, source)) * limb_stride(queue);
}

void key_switch(Queue& q, std::span<const LimbView> out, const SwitchSource& source, LimbWindow window,
                std::span<const KeyLimbs> keys, std::span<Word> scratch) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const SourceDigits digits(queue, source, window, scratch.data());
  const std::size_t count = source.digits.size(), stride = limb_stride(queue);
  Word* rooms = scratch.data() + part_limbs(source) * stride;
  const std::size_t cycles = count * (ntt_cycles(queue) + keys.size() * queue.degree);
  const bool past_caches = leave_caches(queue, out);
  for_each_group(queue, window, cycles, [&](std::size_t slot, std::size_t first, std::size_t size) {
    const Word* limbs[JoinGroup::kMost][kMaxDigits];
    digits.extend(limbs, first, size, rooms + slot * digit_rooms(queue, source) * stride);
    for (std::size_t j = first; j < first + size; ++j) {
      const PairStart begin = start_of_sums(queue, source, j);
      for (std::size_t k = 0; k < keys.size(); ++k) {
        Word* const to[2] = {out[k].limb(0, j), out[k].limb(1, j)};
        apply_key(queue, to, {limbs[j - first], count}, keys[k], begin, source, window, j, past_caches);
      }
    }
  });
}

std::size_t diag_sums_scratch(Queue& q, const SwitchSource& source, std::size_t num_keys, std::size_t num_giants,
                              bool has_integers) noexcept {
  const CpuQueue& queue = cpu_queue(q);
  const std::size_t limbs = digit_rooms(queue, source) + 2 * (num_keys + 1) + (has_integers ? kMostLifted : 0);
  return part_limbs(source) * limb_stride(queue) + queue.pool.threads() * (limbs * limb_stride(queue) + 2 * num_giants);
}

void diag_sums(Queue& q, std::span<const LimbView> out, const SwitchSource& source, LimbWindow window,
               ConstLimbView self, std::span<const KeyLimbs> keys, std::span<const DiagonalTerm> terms,
               std::span<Word> scratch) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const SourceDigits digits(queue, source, window, scratch.data());
  const std::size_t count = source.digits.size(), stride = limb_stride(queue), babies = keys.size() + 1;
  const std::size_t digit_words = digit_rooms(queue, source) * stride;
  std::size_t lifting = 0;
  for (const DiagonalTerm& term : terms) {
    if (term.integers.words != nullptr) lifting += lift_cycles(queue, term.integers);
  }
  const std::size_t a_slot = digit_words + (2 * babies + (lifting > 0 ? kMostLifted : 0)) * stride + 2 * out.size();
  Word* slots = scratch.data() + part_limbs(source) * stride;
  const std::size_t cycles =
      count * (ntt_cycles(queue) + keys.size() * queue.degree) + terms.size() * queue.degree + lifting;
  for_each_group(queue, window, cycles, [&](std::size_t slot, std::size_t first, std::size_t size) {
    Word* const room = slots + slot * a_slot;
    Word* const values = room + digit_words;
    Word* const lifted = values + 2 * babies * stride;
    Word* const begun = lifted + (lifting > 0 ? kMostLifted : 0) * stride;
    const Word* limbs[JoinGroup::kMost][kMaxDigits];
    digits.extend(limbs, first, size, room);
    for (std::size_t j = first; j < first + size; ++j) {
      const bool has_self = j >= source.num_special;
      const Prime& prime = queue.ntt[source.limbs[j]].prime;
      for (std::size_t half = 0; has_self && half < 2; ++half) {
        const PairStart own = scaled(queue, source, self, j);
        queue.limb.mul_scalar(values + half * stride, own.limbs[half], own.scalar, queue.degree, prime);
      }
      const PairStart begin = start_of_sums(queue, source, j);
      for (std::size_t k = 0; k < keys.size(); ++k) {
        Word* const to[2] = {values + 2 * (k + 1) * stride, values + (2 * (k + 1) + 1) * stride};
        apply_key(queue, to, {limbs[j - first], count}, keys[k], begin, source, window, j, false);
      }
      GiantSums(queue, out, values, babies, has_self, j, begun, lifted).run(terms);
    }
  });
}

std::size_t mod_down_scratch(Queue& q, std::uint32_t polys, const BaseConversionTable& table) noexcept {
  const CpuQueue& queue = cpu_queue(q);
  const std::size_t at_once = JoinGroup::size(queue, table.to.size());
  return (polys * num_part_limbs(table) + queue.pool.threads() * at_once) * limb_stride(queue);
}

void mod_down(Queue& q, LimbView out, ConstLimbView x, ConstLimbView removed, const BaseConversionTable& table,
              std::span<const Word> inverse, std::span<Word> scratch) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const std::size_t stride = limb_stride(queue), limbs = num_part_limbs(table), targets = table.to.size();
  const std::size_t tile = tile_of(queue), tiles = queue.degree / tile;
  const auto parts_of = [&](std::size_t poly) noexcept {
    return Parts{scratch.data() + poly * limbs * stride, stride};
  };
  queue.pool.parallel_for(out.polys * tiles, tile * 4 * limbs, [&](std::size_t task) {
    const std::size_t poly = task / tiles, start = task % tiles * tile;
    Parts parts = parts_of(poly);
    parts.base += start;
    split_limbs(queue, parts, removed, poly, start, tile, table);
  });
  Word* rooms = scratch.data() + out.polys * limbs * stride;
  const std::size_t at_once = JoinGroup::size(queue, targets);
  const std::size_t cycles = out.polys * (ntt_cycles(queue) + queue.degree * (limbs / 2 + 2));
  for_each_group(queue, {0, targets}, cycles, [&](std::size_t slot, std::size_t first, std::size_t size) {
    Word* const converted = rooms + slot * at_once * stride;
    for (std::size_t poly = 0; poly < out.polys; ++poly) {
      JoinGroup group;
      for (std::size_t i = 0; i < size; ++i) group.add(queue, table, first + i, converted + i * stride);
      group.run(queue, parts_of(poly), limbs, [&](std::size_t i) noexcept {
        const std::size_t j = first + i;
        const double scalar = static_cast<double>(queue.moduli[table.to[j]].centred(inverse[j]));
        queue.limb.sub_scale(out.limb(poly, j), x.limb(x.polys == 1 ? 0 : poly, j), converted + i * stride, scalar,
                             queue.degree, queue.ntt[table.to[j]].prime);
      });
    }
  });
}

}  // namespace lw::cpu
