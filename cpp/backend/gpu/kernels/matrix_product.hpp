// Products of matrices whose elements are values of two polynomials each: all elements at once.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"
#include "backend/gpu/kernels/sums.hpp"

namespace lw::gpu {

/// Element e of a matrix of `columns` columns: three polys, the sum of the tensor products of a row and a column. In a
/// grid of (parts of a limb, limbs, elements).
template <class A>
struct MatrixProduct : OnePhase {
  static constexpr KernelName kName{A::kName, "matrix_product"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Tables tables;
    Target out;                        // [element][3]
    Global<const Source> left, right;  // [rows][terms], [terms][columns]
    std::uint32_t first, terms, columns;
    LimbNumbers limbs;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place), j = place.block[1], element = args.first + place.block[2];
    const std::uint32_t row = element / args.columns, column = element % args.columns;
    const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
    Sums<A, 4> sums(A::sum_limits(prime));
    sums.add(args.terms, prime, [&](std::uint32_t t, auto& sum) {
      const Source a = args.left.load(row * args.terms + t), b = args.right.load(t * args.columns + column);
      const auto a0 = A::from_word(a.limb(0, j).load(i)), a1 = A::from_word(a.limb(1, j).load(i));
      const auto b0 = A::from_word(b.limb(0, j).load(i)), b1 = A::from_word(b.limb(1, j).load(i));
      sum[0].add(a0, b0);
      sum[1].add(a0, b1);
      sum[2].add(a1, b0);
      sum[3].add(a1, b1);
    });
    const std::uint32_t poly = 3 * place.block[2];
    args.out.limb(poly, j).store(i, A::to_word(sums.value(0, prime)));
    args.out.limb(poly + 1, j).store(i, A::to_word(A::add(sums.value(1, prime), sums.value(2, prime), prime)));
    args.out.limb(poly + 2, j).store(i, A::to_word(sums.value(3, prime)));
  }
};

}  // namespace lw::gpu
