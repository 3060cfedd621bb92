// Negacyclic NTT: Cooley-Tukey from natural order forward, Gentleman-Sande
// back, with the powers of psi merged into the twiddles (Longa-Naehrig) and
// Harvey's lazy residues: [0, 4q) between forward stages, [0, 2q) between
// inverse stages.
#include "backend/ref/kernels.hpp"
#include "backend/ref/queue.hpp"

namespace lw::ref {
namespace {

constexpr std::size_t kButterflyCycles = 4;

inline Word below(Word x, Word bound) noexcept { return x >= bound ? x - bound : x; }

// (a, b) -> (a + w b, a - w b), all in [0, 4q).
inline void forward_butterfly(Word& a, Word& b, const ShoupFactor& w, Word q) noexcept {
  const Word u = below(a, 2 * q);
  const Word v = w.mul_lazy(b, q);
  a = u + v;
  b = u - v + 2 * q;
}

// (a, b) -> (a + b, w (b - a)), all in [0, 2q): w is the negated inverse twiddle.
inline void inverse_butterfly(Word& a, Word& b, const ShoupFactor& w, Word q) noexcept {
  const Word u = a, v = b;
  a = below(u + v, 2 * q);
  b = w.mul_lazy(v - u + 2 * q, q);
}

// Two stages at once, on quarters of a block: w1 is the block's twiddle in the first stage, w2 and w3 those of
// its halves in the second.
void forward_pair(Word* x, std::size_t quarter, ShoupFactor w1, ShoupFactor w2, ShoupFactor w3, Word q) noexcept {
  for (std::size_t i = 0; i < quarter; ++i) {
    Word a = x[i], b = x[i + quarter], c = x[i + 2 * quarter], d = x[i + 3 * quarter];
    forward_butterfly(a, c, w1, q);
    forward_butterfly(b, d, w1, q);
    forward_butterfly(a, b, w2, q);
    forward_butterfly(c, d, w3, q);
    x[i] = a, x[i + quarter] = b, x[i + 2 * quarter] = c, x[i + 3 * quarter] = d;
  }
}

void inverse_pair(Word* x, std::size_t quarter, ShoupFactor w1, ShoupFactor w2, ShoupFactor w3, Word q) noexcept {
  for (std::size_t i = 0; i < quarter; ++i) {
    Word a = x[i], b = x[i + quarter], c = x[i + 2 * quarter], d = x[i + 3 * quarter];
    inverse_butterfly(a, b, w2, q);
    inverse_butterfly(c, d, w3, q);
    inverse_butterfly(a, c, w1, q);
    inverse_butterfly(b, d, w1, q);
    x[i] = a, x[i + quarter] = b, x[i + 2 * quarter] = c, x[i + 3 * quarter] = d;
  }
}

// An odd number of stages leaves the first one by itself.
void forward_limb(Word* x, std::size_t n, unsigned log_n, const NttTable& table, Word q) noexcept {
  const ShoupFactor* w = table.twiddles.data();
  std::size_t blocks = 1;
  if (log_n % 2 == 1) {
    for (std::size_t i = 0; i < n / 2; ++i) forward_butterfly(x[i], x[i + n / 2], w[1], q);
    blocks = 2;
  }
  for (; blocks < n; blocks *= 4) {
    const std::size_t size = n / blocks;
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::size_t halves = 2 * (blocks + i);
      forward_pair(x + i * size, size / 4, w[blocks + i], w[halves], w[halves + 1], q);
    }
  }
  for (std::size_t i = 0; i < n; ++i) x[i] = below(below(x[i], 2 * q), q);
}

// The last stage also divides by n; of the others an odd number leaves the last by itself.
void inverse_limb(Word* x, std::size_t n, unsigned log_n, const NttTable& table, Word q) noexcept {
  const ShoupFactor* w = table.twiddles.data();
  for (std::size_t blocks = n / 4; blocks > 1; blocks /= 4) {
    const std::size_t size = n / blocks;
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::size_t mirrored = 2 * blocks - 1 - i;
      inverse_pair(x + i * size, size / 4, w[mirrored], w[2 * mirrored + 1], w[2 * mirrored], q);
    }
  }
  const std::size_t half = n / 2;
  if (log_n % 2 == 0) {
    for (std::size_t i = 0; i < half / 2; ++i) {
      inverse_butterfly(x[i], x[i + half / 2], w[3], q);
      inverse_butterfly(x[i + half], x[i + half + half / 2], w[2], q);
    }
  }
  for (std::size_t i = 0; i < half; ++i) {
    const Word u = x[i], v = x[i + half];
    x[i] = table.inverse_degree.mul(u + v, q);
    x[i + half] = table.inverse_last.mul(v - u + 2 * q, q);
  }
}

}  // namespace

void ntt(Queue& q, LimbView out, ConstLimbView x) noexcept {
  copy(q, out, x);
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, kButterflyCycles * queue.log_degree / 2, [&](std::size_t poly, std::size_t j) {
    const std::uint16_t limb = out.limbs[j];
    forward_limb(out.limb(poly, j), queue.degree, queue.log_degree, queue.ntt[limb], queue.moduli[limb].value());
  });
}

void intt(Queue& q, LimbView out, ConstLimbView x) noexcept {
  copy(q, out, x);
  RefQueue& queue = ref_queue(q);
  queue.for_limbs(out, kButterflyCycles * queue.log_degree / 2, [&](std::size_t poly, std::size_t j) {
    const std::uint16_t limb = out.limbs[j];
    inverse_limb(out.limb(poly, j), queue.degree, queue.log_degree, queue.ntt[limb], queue.moduli[limb].value());
  });
}

}  // namespace lw::ref
