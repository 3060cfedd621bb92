// Products of matrices of small integers and lists of polynomials.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"
#include "backend/gpu/kernels/sums.hpp"

namespace lw::gpu {

// Rows of a thread, which reads each residue once for all of them. Four of 64-bit words take more than 64 registers.
inline constexpr std::uint32_t kMatmulRows = 2;

/// In a grid of (parts of a limb, limbs, blocks of rows times polys).
template <class A>
struct IntegerMatmul : OnePhase {
  static constexpr KernelName kName{A::kName, "integer_matmul"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Tables tables;
    Global<const Target> out;
    Global<const Source> terms;
    Global<const Word> weights;  // [limb][block of rows][term][row], at rest
    std::uint32_t num_rows, num_terms, polys;
    LimbNumbers limbs;
  };

  /// Adds up the products, two words of each row to a thread.
  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place), j = place.block[1];
    const std::uint32_t poly = place.block[2] % args.polys, block = place.block[2] / args.polys;
    const std::uint32_t blocks = (args.num_rows + kMatmulRows - 1) / kMatmulRows;
    const std::size_t first = (std::size_t{j} * blocks + block) * args.num_terms * kMatmulRows;
    const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
    Sums<A, 2 * kMatmulRows> sums(A::sum_limits(prime));
    sums.add(args.num_terms, prime, [&](std::uint32_t t, auto& sum) {
      const WordPair a = pairs_of(args.terms.load(t).limb(poly, j)).load(i);
      LW_GPU_UNROLL
      for (std::uint32_t r = 0; r < kMatmulRows; ++r) {
        const typename A::Value weight = A::from_word(args.weights.load(first + t * kMatmulRows + r));
        sum[2 * r].add(A::from_word(a.word[0]), weight);
        sum[2 * r + 1].add(A::from_word(a.word[1]), weight);
      }
    });
    for (std::uint32_t r = 0; r < kMatmulRows && block * kMatmulRows + r < args.num_rows; ++r) {
      pairs_of(args.out.load(block * kMatmulRows + r).limb(poly, j))
          .store(i, {A::to_word(sums.value(2 * r, prime)), A::to_word(sums.value(2 * r + 1, prime))});
    }
  }
};

}  // namespace lw::gpu
