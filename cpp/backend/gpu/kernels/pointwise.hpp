// Word by word, modulo each row's limb: one kernel over an operation.
#pragma once

#include <type_traits>

#include "backend/gpu/kernels/rows.hpp"

namespace lw::gpu {

/// What an operation reads beside the words of a.
struct Reads {
  bool b = false, out = false, scalar = false;
};

template <class A, class Op>
struct Pointwise : OnePhase {
  static constexpr KernelName kName{A::kName, Op::kName};
  static constexpr std::uint32_t kThreads = kRowThreads;

  struct NoScalars {};
  struct Args {
    Tables tables;
    Target out;
    Source a, b;
    LimbNumbers limbs;
    std::conditional_t<Op::kReads.scalar, Scalars, NoScalars> scalars;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    using Value = typename A::Value;
    const std::uint32_t i = word_of(place), j = place.block[1], poly = place.block[2];
    const Global<Word> out = args.out.row(poly, j);
    const Value a = A::from_word(args.a.row(poly, j).load(i));
    Value b = A::zero(), before = A::zero(), scalar = A::zero();
    if constexpr (Op::kReads.b) b = A::from_word(args.b.row(poly, j).load(i));
    if constexpr (Op::kReads.out) before = A::from_word(out.load(i));
    if constexpr (Op::kReads.scalar) scalar = A::from_word(args.scalars.word[j]);
    const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
    out.store(i, A::to_word(Op::template result<A>(a, b, before, scalar, prime)));
  }
};

// Operations: of a, b, what was in out, and a scalar.

struct CopyOp {
  static constexpr char kName[] = "copy";
  static constexpr Reads kReads = {};
  template <class A, class V, class P>
  static LW_GPU V result(V a, V, V, V, const P&) noexcept {
    return a;
  }
};
struct AddOp {
  static constexpr char kName[] = "add";
  static constexpr Reads kReads = {.b = true};
  template <class A, class V, class P>
  static LW_GPU V result(V a, V b, V, V, const P& p) noexcept {
    return A::add(a, b, p);
  }
};
struct SubOp {
  static constexpr char kName[] = "sub";
  static constexpr Reads kReads = {.b = true};
  template <class A, class V, class P>
  static LW_GPU V result(V a, V b, V, V, const P& p) noexcept {
    return A::sub(a, b, p);
  }
};
struct NegOp {
  static constexpr char kName[] = "neg";
  static constexpr Reads kReads = {};
  template <class A, class V, class P>
  static LW_GPU V result(V a, V, V, V, const P& p) noexcept {
    return A::neg(a, p);
  }
};
struct MulOp {
  static constexpr char kName[] = "mul";
  static constexpr Reads kReads = {.b = true};
  template <class A, class V, class P>
  static LW_GPU V result(V a, V b, V, V, const P& p) noexcept {
    return A::mul(a, b, p);
  }
};
struct MulAddOp {
  static constexpr char kName[] = "mul_add";
  static constexpr Reads kReads = {.b = true, .out = true};
  template <class A, class V, class P>
  static LW_GPU V result(V a, V b, V before, V, const P& p) noexcept {
    return A::mul_add(a, b, before, p);
  }
};
struct MulScalarOp {
  static constexpr char kName[] = "mul_scalar";
  static constexpr Reads kReads = {.scalar = true};
  template <class A, class V, class P>
  static LW_GPU V result(V a, V, V, V scalar, const P& p) noexcept {
    return A::mul(a, scalar, p);
  }
};
struct AddScalarOp {
  static constexpr char kName[] = "add_scalar";
  static constexpr Reads kReads = {.scalar = true};
  template <class A, class V, class P>
  static LW_GPU V result(V a, V, V, V scalar, const P& p) noexcept {
    return A::add(a, scalar, p);
  }
};
struct SubScaleOp {
  static constexpr char kName[] = "sub_scale";
  static constexpr Reads kReads = {.b = true, .scalar = true};
  template <class A, class V, class P>
  static LW_GPU V result(V a, V b, V, V scalar, const P& p) noexcept {
    return A::mul(A::sub(a, b, p), scalar, p);
  }
};

}  // namespace lw::gpu
