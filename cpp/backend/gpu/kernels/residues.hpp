// Into the encoding at rest and out of it.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"

namespace lw::gpu {

/// Signed integers to residues; see lw::IntegerView.
template <class A>
struct ImportSigned : OnePhase {
  static constexpr KernelName kName{A::kName, "import_signed"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Tables tables;
    Target out;
    Global<const Word> words;
    std::uint32_t log_gap, is_narrow;  // N / count is 2^log_gap
    LimbNumbers limbs;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place), j = place.block[1];
    const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
    const std::uint32_t k = i >> args.log_gap;
    std::int64_t integer = 0;
    if (k << args.log_gap == i) {
      const Word word = args.words.load(args.is_narrow ? k / 2 : k);
      const auto half = static_cast<std::int32_t>(static_cast<std::uint32_t>(word >> 32 * (k % 2)));
      integer = args.is_narrow ? half : static_cast<std::int64_t>(word);
    }
    const std::uint64_t residue = prime.from_signed(integer);
    args.out.limb(place.block[2], j).store(i, A::to_word(A::from_canonical(residue, prime)));
  }
};

/// A limb of residues beside its coefficients of `width` bits each, little endian without gaps, in whole words.
struct PackedLimb {
  Word* words;
  std::size_t first_word;  // of the packed ones
  std::uint32_t limb, width;
};

/// The kernel that unpacks residues, in a grid of (parts of a limb, limbs).
template <class A>
struct UnpackResidues : OnePhase {
  static constexpr KernelName kName{A::kName, "unpack"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Tables tables;
    Global<const PackedLimb> limbs;
    Global<const Word> packed;
    Global<Word> is_wrong;  // 1 is written there for a residue that is not below its prime
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place);
    const PackedLimb limb = args.limbs.load(place.block[1]);
    const Global<const Word> packed = args.packed + limb.first_word;
    const std::uint64_t bit = std::uint64_t{i} * limb.width;
    const std::uint32_t in_word = static_cast<std::uint32_t>(bit % 64);
    Word residue = packed.load(bit / 64) >> in_word;
    if (in_word + limb.width > 64) residue |= packed.load(bit / 64 + 1) << (64 - in_word);
    residue &= ~Word{0} >> (64 - limb.width);
    const typename A::Prime prime = args.tables.template prime<A>(limb.limb);
    if (residue >= prime.value) args.is_wrong.shout(0, 1);
    Global(limb.words).store(i, A::to_word(A::from_canonical(residue, prime)));
  }
};

/// The reverse: a thread gathers one packed word. In a grid of (parts of the longest packed limb, limbs).
template <class A>
struct PackResidues : OnePhase {
  static constexpr KernelName kName{A::kName, "pack"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Tables tables;
    Global<const PackedLimb> limbs;
    Global<Word> packed;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const PackedLimb limb = args.limbs.load(place.block[1]);
    const std::uint64_t first_bit = std::uint64_t{word_of(place)} * 64;
    const std::uint32_t degree = args.tables.degree();
    if (first_bit >= std::uint64_t{degree} * limb.width) return;
    const typename A::Prime prime = args.tables.template prime<A>(limb.limb);
    const Global<const Word> residues(limb.words);
    std::uint32_t i = static_cast<std::uint32_t>(first_bit / limb.width);
    const std::uint32_t before = static_cast<std::uint32_t>(first_bit % limb.width);  // bits of the first that are past
    Word word = A::to_canonical(A::from_word(residues.load(i++)), prime) >> before;
    for (std::uint32_t bits = limb.width - before; bits < 64 && i < degree; bits += limb.width) {
      word |= A::to_canonical(A::from_word(residues.load(i++)), prime) << bits;
    }
    args.packed.store(limb.first_word + word_of(place), word);
  }
};

}  // namespace lw::gpu
