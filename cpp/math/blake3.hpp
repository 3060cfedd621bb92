// BLAKE3 (specification: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, 2020), hash
// and keyed-hash modes with 32-byte output.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "math/vector_sets.hpp"

namespace lw {

using Hash = std::array<std::uint8_t, 32>;

/// Incremental hashing: update any number of times, then finalize. The state is wiped when destroyed. Vectors change no
/// hash.
class Blake3 {
 public:
  explicit Blake3(VectorSet vectors = widest_vectors()) noexcept;
  explicit Blake3(std::span<const std::uint8_t, 32> key, VectorSet vectors = widest_vectors()) noexcept;
  Blake3(const Blake3&) = default;
  Blake3& operator=(const Blake3&) = default;
  ~Blake3();

  void update(std::span<const std::uint8_t> input);
  /// The hash of all input so far; more may follow.
  Hash finalize() const noexcept;

  using ChainingValue = std::array<std::uint32_t, 8>;

 private:
  std::size_t whole_subtree(std::size_t bytes) const noexcept;
  ChainingValue hash_subtree(const std::uint8_t* input, std::size_t chunks) const noexcept;
  void push_subtree(ChainingValue value, std::size_t chunks) noexcept;

  static constexpr std::size_t kChunkBytes = 1024;
  static constexpr std::size_t kMaxDepth = 54;  // 2^64 bytes are 2^54 chunks

  static constexpr std::size_t kMostChunks = 64;  // of a subtree that is hashed at once

  VectorSet vectors_;
  ChainingValue key_;
  std::uint32_t mode_;            // flag set in every compression
  std::uint64_t num_chunks_ = 0;  // chunks already in the tree
  std::size_t depth_ = 0;         // subtrees waiting for their right sibling, largest first
  std::size_t buffered_ = 0;      // bytes of the last chunk, kept back because it may be the root
  std::array<ChainingValue, kMaxDepth> subtrees_;
  std::array<std::uint8_t, kChunkBytes> buffer_;
};

Hash blake3(std::span<const std::uint8_t> input, VectorSet vectors = widest_vectors());
Hash blake3_keyed(std::span<const std::uint8_t, 32> key, std::span<const std::uint8_t> input,
                  VectorSet vectors = widest_vectors());

}  // namespace lw
