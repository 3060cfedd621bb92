#include "backend/cpu/base_convert_parts.hpp"

#include <algorithm>

namespace lw::cpu {
namespace {

double centred_double(const CpuQueue& queue, std::uint16_t limb, Word residue) noexcept {
  return static_cast<double>(queue.moduli[limb].centred(residue));
}

}  // namespace

void split_limbs(const CpuQueue& queue, const Parts& parts, const ConstLimbView& in, std::size_t poly,
                 std::size_t start, std::size_t size, const BaseConversionTable& table) noexcept {
  SplitTerm terms[kMaxFrom];
  Word* to[kMaxFrom];
  const std::size_t count = table.from.size();
  for (std::size_t j = 0; j < count; ++j) {
    const std::uint16_t limb = table.from[j];
    const auto place = std::find(in.limbs.begin(), in.limbs.end(), limb) - in.limbs.begin();
    terms[j] = {in.limb(poly, static_cast<std::size_t>(place)) + start, &queue.ntt[limb].prime,
                centred_double(queue, limb, table.inverse[j]), table.reciprocal[j]};
    to[j] = parts.limb(j);
  }
  queue.limb.split(to, parts.limb(count), terms, count, size);
}

Joiner::Joiner(const CpuQueue& queue, const BaseConversionTable& table, std::size_t target) noexcept
    : target_(queue.ntt[table.to[target]]), count_(table.from.size()), separate_(has_quotient(table)) {
  const std::uint16_t limb = table.to[target];
  const double q = target_.prime.q;
  double largest = 0;
  for (std::size_t j = 0; j < count_; ++j) {
    weights_[j] = centred_double(queue, limb, table.weight[target * count_ + j]);
    largest = std::max(largest, queue.ntt[table.from[j]].prime.q);
  }
  if (!separate_) return;
  // |u| <= (count + 1) / 2; its product with a centred residue of -D is exact below 2^53.
  quotient_weight_ = -centred_double(queue, limb, table.total[target]);
  const double quotient_part = static_cast<double>(count_ + 1) / 2 * (q / 2);
  if (quotient_part > 0x1p52) {
    weights_[count_++] = quotient_weight_;
    separate_ = false;
  }
  accumulator_ = make_accumulator(count_, largest / 2 * (q / 2), separate_ ? quotient_part : 0, q);
}

void Joiner::join(const CpuQueue& queue, Word* out, const Parts& parts, std::size_t start,
                  std::size_t size) const noexcept {
  const Word* from[kMaxFrom + 1];
  for (std::size_t j = 0; j < count_; ++j) from[j] = parts.limb(j) + start;
  queue.limb.join(out, from, weights_.data(), count_, separate_ ? parts.limb(count_) + start : nullptr,
                  quotient_weight_, accumulator_, size, target_.prime);
}

std::size_t join_tile(std::size_t part_limbs, std::size_t degree) noexcept {
  std::size_t size = std::min<std::size_t>(2048, degree);
  while (size > kLeastTile && size * part_limbs > kJoinWords) size /= 2;
  return size;
}

void JoinGroup::join(const CpuQueue& queue, const Parts& parts, std::size_t part_limbs) const noexcept {
  const std::size_t tile = count_ == 1 ? queue.degree : join_tile(part_limbs, queue.degree);
  for (std::size_t start = 0; start < queue.degree; start += tile) {
    for (std::size_t i = 0; i < count_; ++i) joiners_[i]->join(queue, outs_[i] + start, parts, start, tile);
  }
}

}  // namespace lw::cpu
