#include <algorithm>

#include "backend/cpu/integer_limbs.hpp"
#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"
#include "backend/packing.hpp"

namespace lw::cpu {
namespace {

constexpr std::size_t kLeastVectors = 32;  // words: four vectors of any instruction set
constexpr std::size_t kProductTile = 512;  // words of which seven limbs fit the first cache

// An operand of one poly serves every poly of the result.
inline const Word* operand_limb(const ConstLimbView& a, std::size_t poly, std::size_t j) noexcept {
  return a.limb(a.polys == 1 ? 0 : poly, j);
}

// body(out limb, poly, j, prime) for every limb; a word takes about a cycle, as these are bound by memory.
template <class Body>
void for_each(Queue& q, const LimbView& out, const Body& body) noexcept {
  CpuQueue& queue = cpu_queue(q);
  queue.for_limbs(out, queue.degree, [&](std::size_t poly, std::size_t j) {
    body(queue, out.limb(poly, j), poly, j, queue.ntt[out.limbs[j]].prime);
  });
}

/// An operand as a limb kernel takes it: a limb, or a centred scalar.
const Word* operand_of(const CpuQueue&, std::uint16_t, const ConstLimbView& a, std::size_t poly,
                       std::size_t j) noexcept {
  return operand_limb(a, poly, j);
}
double operand_of(const CpuQueue& queue, std::uint16_t limb, std::span<const Word> scalars, std::size_t,
                  std::size_t j) noexcept {
  return static_cast<double>(queue.moduli[limb].centred(scalars[j]));
}

/// A limb kernel on every limb.
template <auto kLimb, class... Operands>
void by_limbs(Queue& q, const LimbView& out, const Operands&... operands) noexcept {
  for_each(q, out, [&](CpuQueue& queue, Word* to, std::size_t poly, std::size_t j, const Prime& p) {
    (queue.limb.*kLimb)(to, operand_of(queue, out.limbs[j], operands, poly, j)..., queue.degree, p);
  });
}

/// The integers that a limb holds, each at its place, and zeros between them: all N of them, or N / 2 of mirrored ones.
void spread(Word* to, const IntegerView& in, std::size_t degree) noexcept {
  const std::size_t gap = degree / in.count;
  std::fill_n(to, in.held() * gap, Word{0});
  for (std::size_t i = 0; i < in.held(); ++i) to[i * gap] = static_cast<Word>(integer_at(in, i));
}

/// Residues of those integers, to as many words: reduced at the end of these, and then moved to their places.
void import_spread(const CpuQueue& queue, Word* to, const IntegerView& in, const Prime& p) noexcept {
  const std::size_t held = in.held(), gap = queue.degree / in.count, words = held * gap;
  if (held < kLeastVectors) {
    spread(to, in, queue.degree);
    return queue.limb.import_signed(to, reinterpret_cast<const std::int64_t*>(to), words, p);
  }
  Word* const reduced = to + (words - held);
  if (in.width == 8) {
    queue.limb.import_signed(reduced, reinterpret_cast<const std::int64_t*>(in.words), held, p);
  } else {
    queue.limb.import_narrow(reduced, reinterpret_cast<const std::byte*>(in.words), in.width, held, p);
  }
  if (gap == 1) return;
  for (std::size_t i = 0; i < held; ++i) {
    to[i * gap] = reduced[i];
    std::fill_n(to + i * gap + 1, gap - 1, balanced_word(0, 1));
  }
}

}  // namespace

void copy(Queue& q, LimbView out, ConstLimbView x) noexcept {
  for_each(q, out, [&](CpuQueue& queue, Word* to, std::size_t poly, std::size_t j, const Prime&) {
    const Word* from = operand_limb(x, poly, j);
    if (to != from) std::copy_n(from, queue.degree, to);
  });
}

void zero(Queue& q, LimbView out) noexcept {
  for_each(q, out, [&](CpuQueue& queue, Word* to, std::size_t, std::size_t, const Prime&) {
    std::fill_n(to, queue.degree, balanced_word(0, 1));
  });
}

void monomial(Queue& q, LimbView out, std::uint64_t exponent) noexcept {
  zero(q, out);
  const CpuQueue& queue = cpu_queue(q);
  for (std::uint32_t poly = 0; poly < out.polys; ++poly) {
    for (std::size_t j = 0; j < out.limbs.size(); ++j) {
      const Word prime = queue.moduli[out.limbs[j]].value();
      out.limb(poly, j)[exponent % queue.degree] = balanced_word(exponent < queue.degree ? 1 : prime - 1, prime);
    }
  }
}

#define LW_POINTWISE(name, parameters, arguments) \
  void name parameters noexcept { by_limbs<&LimbKernels::name> arguments; }
#include "backend/kernels.def"

/// The tensor product of two ciphertexts: all polys of a limb together, a few words at a time, so that what is read
/// and written twice is near.
void tensor_product(Queue& q, LimbView out, ConstLimbView a, ConstLimbView b) noexcept {
  CpuQueue& queue = cpu_queue(q);
  const bool is_square = a.base == b.base;
  const std::size_t n = std::min<std::size_t>(kProductTile, queue.degree);
  const auto tile = [&](std::size_t j, std::size_t start) {
    const Prime& p = queue.ntt[out.limbs[j]].prime;
    const Word *const a0 = a.limb(0, j) + start, *const a1 = a.limb(1, j) + start;
    const Word *const b0 = b.limb(0, j) + start, *const b1 = b.limb(1, j) + start;
    Word* const middle = out.limb(1, j) + start;
    queue.limb.mul(out.limb(0, j) + start, a0, b0, n, p);
    queue.limb.mul(middle, a0, b1, n, p);
    if (is_square) {
      queue.limb.add(middle, middle, middle, n, p);
    } else {
      queue.limb.mul_add(middle, a1, b0, n, p);
    }
    queue.limb.mul(out.limb(2, j) + start, a1, b1, n, p);
  };
  queue.for_limbs(LimbView{out.base, out.stride, out.poly_stride, out.limbs, 1}, 4 * queue.degree,
                  [&](std::size_t, std::size_t j) {
                    for (std::size_t start = 0; start < queue.degree; start += n) tile(j, start);
                  });
}

void automorphism(Queue& q, LimbView out, ConstLimbView a, std::uint64_t galois_element) noexcept {
  for_each(q, out, [&](CpuQueue& queue, Word* to, std::size_t poly, std::size_t j, const Prime&) {
    queue.limb.automorphism(to, operand_limb(a, poly, j), queue.block_reversal.data(), queue.degree,
                            static_cast<std::uint32_t>(galois_element));
  });
}

void import_signed(Queue& q, LimbView out, std::span<const std::int64_t> coefficients) noexcept {
  for_each(q, out, [&](CpuQueue& queue, Word* to, std::size_t, std::size_t, const Prime& p) {
    queue.limb.import_signed(to, coefficients.data(), queue.degree, p);
  });
}

namespace {

/// Computes the residues of all coefficients of one limb.
void import_whole(const CpuQueue& queue, Word* to, const IntegerView& in, const Prime& p) noexcept {
  if (!in.is_mirrored) return import_spread(queue, to, in, p);
  const std::size_t half = queue.degree / 2;
  spread(to, in, queue.degree);
  to[half] = 0;
  for (std::size_t i = 1; i < half; ++i) to[half + i] = Word{0} - to[half - i];
  queue.limb.import_signed(to, reinterpret_cast<const std::int64_t*>(to), queue.degree, p);
}

}  // namespace

void import_integers(Queue& q, LimbView out, const IntegerView& in) noexcept {
  for_each(q, out, [&](CpuQueue& queue, Word* to, std::size_t, std::size_t, const Prime& p) {
    import_whole(queue, to, in, p);
  });
}

void lift_limb(const CpuQueue& queue, Word* to, const IntegerView& in, std::uint16_t limb) noexcept {
  const NttTable& table = queue.ntt[limb];
  if (in.is_mirrored && queue.degree >= kMirroredDegree) {
    import_spread(queue, to + queue.degree / 2, in, table.prime);
    queue.limb.ntt_mirrored(to, to + queue.degree / 2, table);
  } else {
    import_whole(queue, to, in, table.prime);
    queue.limb.ntt(to, to, table);
  }
}

/// Limb by limb, so that a transform finds what was made for it in the caches.
void ntt_integers(Queue& q, LimbView out, const IntegerView& in) noexcept {
  CpuQueue& queue = cpu_queue(q);
  queue.for_limbs(out, lift_cycles(queue, in),
                  [&](std::size_t poly, std::size_t j) { lift_limb(queue, out.limb(poly, j), in, out.limbs[j]); });
}

}  // namespace lw::cpu
