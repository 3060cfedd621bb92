// The launches of the check: a forward transform, whose blocks share memory and meet at barriers, and products of
// digits with keys, which do neither.
#pragma once

#include "backend/gpu/host_kernel.hpp"
#include "backend/gpu/kernels/key_product.hpp"
#include "backend/gpu/kernels/ntt.hpp"
#include "image.hpp"

namespace lw::gpu {

template <class K>
struct Launch {
  typename K::Args args;
  Grid grid;
  std::uint32_t shared_words;
};

/// Launches one after the other, and the words that they make.
template <class K>
struct Work {
  std::vector<Launch<K>> launches;
  std::span<Word> out;
};

inline LimbNumbers all_limbs(const HostTables& tables) noexcept {
  LimbNumbers limbs = {};
  for (std::uint16_t j = 0; j < tables.moduli().size(); ++j) limbs.number[j] = j;
  return limbs;
}

/// Transforms of limbs of one full tile.
template <class A>
using WholeLimbs = ForwardNtt<A, Radix8, FullTile<Radix8>>;

/// The forward transform of two polys.
template <class A>
Work<WholeLimbs<A>> forward_ntt(const HostTables& tables, Image& image) {
  constexpr std::uint32_t kLogTile = Radix8::kLogTile;
  const std::uint32_t limbs = static_cast<std::uint32_t>(tables.moduli().size()), polys = 2;
  const std::size_t stride = tables.degree(), poly_stride = limbs * stride;
  const Tables at = tables.at(image.put<Word>(tables.words()));
  const Source x = {image.put_residues<A>(tables, polys), stride, poly_stride};
  const Target out = {image.put_zeros(polys * poly_stride), stride, poly_stride};
  const NttArgs args = {{at, 0, kLogTile, kLogTile, kLogTile}, out, x, all_limbs(tables)};
  const Grid grid = {{1, limbs, polys}, WholeLimbs<A>::kThreads};
  return {{{args, grid, ntt_shared_words(kLogTile)}}, {out.base, polys * poly_stride}};
}

/// The key product of three digits with two keys, one of them with an automorphism; the first limb is a special one.
template <class A>
Work<KeyProduct<A>> key_product(const HostTables& tables, Image& image) {
  const std::uint32_t limbs = static_cast<std::uint32_t>(tables.moduli().size()), digits = 3, keys = 2, special = 1;
  const std::size_t stride = tables.degree(), poly_stride = limbs * stride;
  const Tables at = tables.at(image.put<Word>(tables.words()));
  const Word* const x = image.put_residues<A>(tables, digits);
  const Word* const b = image.put_residues<A>(tables, keys * digits);
  const Word* const a = image.put_residues<A>(tables, keys * digits);
  const Word* const rest = image.put_residues<A>(tables, 2);
  Word* const out = image.put_zeros(keys * 2 * poly_stride);

  typename KeyProduct<A>::Args args = {};
  args.tables = at;
  args.num_digits = digits;
  args.rest_polys = 2;
  args.rest = {rest + special * stride, stride, poly_stride};
  args.where.count = limbs;
  args.where.num_special = special;
  args.results[0] = {{out, stride, poly_stride}, 1};
  args.results[1] = {{out + 2 * poly_stride, stride, poly_stride}, 5};
  for (std::uint32_t i = 0; i < digits * limbs; ++i) args.digits[i] = x + i * stride;
  for (std::uint32_t i = 0; i < keys * digits * limbs; ++i) args.keys[i] = {b + i * stride, a + i * stride};
  for (std::uint16_t j = 0; j < limbs; ++j) args.where.limb[j] = j;
  for (std::uint32_t j = special; j < limbs; ++j) {
    IntegerPrime prime = {};
    prime.value = tables.moduli()[j].value();
    args.where.special_product[j] = A::to_word(A::from_canonical(tables.moduli()[0].value() % prime.value, prime));
  }
  const Grid grid = {{tables.degree() / 2 / kLimbThreads, keys, limbs}, kLimbThreads};
  return {{{args, grid, 1}}, {out, keys * 2 * poly_stride}};
}

}  // namespace lw::gpu
