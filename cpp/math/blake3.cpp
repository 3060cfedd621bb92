#include "math/blake3.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "math/blake3_simd.hpp"
#include "math/entropy.hpp"
#include "math/simd_words.hpp"

namespace lw {
namespace {

using ChainingValue = Blake3::ChainingValue;

constexpr std::size_t kChunkBytes = 1024;
constexpr std::uint32_t kChunkStart = 1, kChunkEnd = 2, kParent = 4, kRoot = 8, kKeyedHash = 16;

void compress_block(ChainingValue& cv, const std::uint8_t* block, std::uint64_t counter, std::uint32_t length,
                    std::uint32_t flags) noexcept {
  std::uint32_t m[16];
  std::memcpy(m, block, sizeof m);
  std::uint32_t v[16] = {0, 0, 0, 0, 0, 0, 0, 0, kIv[0], kIv[1], kIv[2], kIv[3], 0, 0, length, flags};
  v[12] = static_cast<std::uint32_t>(counter);
  v[13] = static_cast<std::uint32_t>(counter >> 32);
  compress(cv.data(), v, m);
}

/// A chunk of at most 1024 bytes; `last` is added to the flags of its last block.
ChainingValue hash_chunk(std::span<const std::uint8_t> chunk, const ChainingValue& key, std::uint64_t counter,
                         std::uint32_t mode, std::uint32_t last) noexcept {
  ChainingValue cv = key;
  std::uint32_t flags = mode | kChunkStart;
  for (; chunk.size() > kBlockBytes; chunk = chunk.subspan(kBlockBytes)) {
    compress_block(cv, chunk.data(), counter, kBlockBytes, flags);
    flags = mode;
  }
  std::uint8_t block[kBlockBytes] = {};
  std::copy(chunk.begin(), chunk.end(), block);
  compress_block(cv, block, counter, static_cast<std::uint32_t>(chunk.size()), flags | kChunkEnd | last);
  return cv;
}

void hash_four(const Blake3Inputs& inputs, std::uint32_t* out) noexcept {
  const auto load = [&](Words4(&m)[16], const std::uint8_t* block) {
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      for (std::size_t i = 0; i < kWords; ++i) {
        m[4 * quarter + i] = load_words(block + i * inputs.stride + quarter * sizeof(Words4));
      }
      transpose(m + 4 * quarter);
    }
  };
  hash_inputs<Words4>(inputs, load, [&](const Words4(&cv)[8]) {
    for (std::size_t input = 0; input < kWords; ++input) {
      for (std::size_t i = 0; i < 8; ++i) out[8 * input + i] = cv[i][input];
    }
  });
}

/// A kernel that hashes a fixed number of inputs at a time.
struct Lanes {
  std::size_t inputs;
  void (*hash)(const Blake3Inputs& inputs, std::uint32_t* out) noexcept;
};

/// The kernels that may be used with these vectors, the widest first.
std::span<const Lanes> lanes_of(VectorSet vectors) noexcept {
#if defined(__x86_64__)
  static constexpr std::array kLanes = {Lanes{16, blake3_sixteen_avx512}, Lanes{8, blake3_eight_avx2},
                                        Lanes{4, hash_four}};
  return std::span(kLanes).subspan(static_cast<std::size_t>(VectorSet::kAvx512) - static_cast<std::size_t>(vectors));
#else
  static_cast<void>(vectors);  // four words fill those of any other machine
  static constexpr std::array kLanes = {Lanes{4, hash_four}};
  return kLanes;
#endif
}

/// Hashes as many of `count` inputs as whole vectors hold; returns how many.
std::size_t hash_lanes(Blake3Inputs inputs, std::size_t count, VectorSet vectors, ChainingValue* out) noexcept {
  std::size_t done = 0;
  for (const Lanes& lanes : lanes_of(vectors)) {
    for (; count - done >= lanes.inputs; done += lanes.inputs) {
      lanes.hash(inputs, out[done].data());
      inputs.first += lanes.inputs * inputs.stride;
      inputs.counter += lanes.inputs * inputs.step;
    }
  }
  return done;
}

ChainingValue hash_parent(const ChainingValue& left, const ChainingValue& right, const ChainingValue& key,
                          std::uint32_t flags) noexcept {
  std::uint8_t block[kBlockBytes];
  std::memcpy(block, left.data(), kBlockBytes / 2);
  std::memcpy(block + kBlockBytes / 2, right.data(), kBlockBytes / 2);
  ChainingValue cv = key;
  compress_block(cv, block, 0, kBlockBytes, flags | kParent);
  return cv;
}

ChainingValue key_words(std::span<const std::uint8_t, 32> key) noexcept {
  ChainingValue words;
  std::memcpy(words.data(), key.data(), key.size());
  return words;
}

}  // namespace

Blake3::Blake3(VectorSet vectors) noexcept : vectors_(vectors), key_(kIv), mode_(0) {}
Blake3::Blake3(std::span<const std::uint8_t, 32> key, VectorSet vectors) noexcept
    : vectors_(vectors), key_(key_words(key)), mode_(kKeyedHash) {}

Blake3::~Blake3() {
  wipe(&key_, sizeof key_);
  wipe(subtrees_.data(), depth_ * sizeof subtrees_[0]);
  wipe(buffer_.data(), buffer_.size());
}

void Blake3::update(std::span<const std::uint8_t> input) {
  while (!input.empty()) {
    if (buffered_ == kChunkBytes) {
      push_subtree(hash_chunk(buffer_, key_, num_chunks_, mode_, 0), 1);
      buffered_ = 0;
    }
    if (buffered_ == 0) {
      while (const std::size_t chunks = whole_subtree(input.size())) {
        push_subtree(hash_subtree(input.data(), chunks), chunks);
        input = input.subspan(chunks * kChunkBytes);
      }
    }
    const std::size_t taken = std::min(kChunkBytes - buffered_, input.size());
    std::copy_n(input.begin(), taken, buffer_.begin() + buffered_);
    buffered_ += taken;
    input = input.subspan(taken);
  }
}

/// Chunks of the largest subtree that fits next and is not all of what is left: a power of two, or none.
std::size_t Blake3::whole_subtree(std::size_t bytes) const noexcept {
  if (bytes <= kWords * kChunkBytes) return 0;
  const std::size_t most = std::min(kMostChunks, std::bit_floor((bytes - 1) / kChunkBytes));
  return num_chunks_ == 0 ? most : std::min<std::uint64_t>(most, num_chunks_ & -num_chunks_);
}

Blake3::ChainingValue Blake3::hash_subtree(const std::uint8_t* input, std::size_t chunks) const noexcept {
  std::array<ChainingValue, kMostChunks> values;
  constexpr std::size_t kBlocks = kChunkBytes / kBlockBytes;
  const Blake3Inputs leaves = {input, kChunkBytes, kBlocks, key_.data(), num_chunks_, 1, mode_, kChunkStart, kChunkEnd};
  for (std::size_t i = hash_lanes(leaves, chunks, vectors_, values.data()); i < chunks; ++i) {
    values[i] = hash_chunk({input + i * kChunkBytes, kChunkBytes}, key_, num_chunks_ + i, mode_, 0);
  }
  // In place: inputs are read before the values that they begin with are overwritten.
  for (; chunks > 1; chunks /= 2) {
    const auto* nodes = reinterpret_cast<const std::uint8_t*>(values.data());
    const Blake3Inputs parents = {nodes, kBlockBytes, 1, key_.data(), 0, 0, mode_ | kParent, 0, 0};
    for (std::size_t i = hash_lanes(parents, chunks / 2, vectors_, values.data()); i < chunks / 2; ++i) {
      values[i] = hash_parent(values[2 * i], values[2 * i + 1], key_, mode_);
    }
  }
  return values[0];
}

void Blake3::push_subtree(ChainingValue value, std::size_t chunks) noexcept {
  num_chunks_ += chunks;
  // One waiting subtree per set bit of the chunk count: as many merges as there are new trailing zeros.
  for (std::uint64_t count = num_chunks_ / chunks; count % 2 == 0; count /= 2) {
    value = hash_parent(subtrees_[--depth_], value, key_, mode_);
  }
  subtrees_[depth_++] = value;
}

Hash Blake3::finalize() const noexcept {
  const std::span<const std::uint8_t> last_chunk(buffer_.data(), buffered_);
  ChainingValue value = hash_chunk(last_chunk, key_, num_chunks_, mode_, depth_ == 0 ? kRoot : 0);
  for (std::size_t i = depth_; i-- > 0;) {
    value = hash_parent(subtrees_[i], value, key_, mode_ | (i == 0 ? kRoot : 0));
  }
  Hash hash;
  std::memcpy(hash.data(), value.data(), hash.size());
  return hash;
}

Hash blake3(std::span<const std::uint8_t> input, VectorSet vectors) {
  Blake3 hasher(vectors);
  hasher.update(input);
  return hasher.finalize();
}

Hash blake3_keyed(std::span<const std::uint8_t, 32> key, std::span<const std::uint8_t> input, VectorSet vectors) {
  Blake3 hasher(key, vectors);
  hasher.update(input);
  return hasher.finalize();
}

}  // namespace lw
