#include "math/blake3.hpp"

#include <algorithm>
#include <cstring>

#include "math/entropy.hpp"
#include "math/simd_words.hpp"

namespace lw {
namespace {

using ChainingValue = Blake3::ChainingValue;

constexpr std::size_t kChunkBytes = 1024;
constexpr std::size_t kBlockBytes = 64;
constexpr std::uint32_t kChunkStart = 1, kChunkEnd = 2, kParent = 4, kRoot = 8, kKeyedHash = 16;
constexpr ChainingValue kIv = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

using MessageSchedule = std::array<std::array<std::uint8_t, 16>, 7>;

/// Which message word each of the sixteen places of each round uses.
constexpr MessageSchedule make_schedule() {
  constexpr std::uint8_t kPermutation[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
  MessageSchedule schedule{};
  for (std::uint8_t i = 0; i < 16; ++i) schedule[0][i] = i;
  for (std::size_t round = 1; round < 7; ++round) {
    for (std::size_t i = 0; i < 16; ++i) schedule[round][i] = schedule[round - 1][kPermutation[i]];
  }
  return schedule;
}
constexpr MessageSchedule kSchedule = make_schedule();

template <typename Word>
inline void mix(Word& a, Word& b, Word& c, Word& d, Word x, Word y) noexcept {
  a += b + x;
  d = rotate_right<16>(d ^ a);
  c += d;
  b = rotate_right<12>(b ^ c);
  a += b + y;
  d = rotate_right<8>(d ^ a);
  c += d;
  b = rotate_right<7>(b ^ c);
}

template <std::size_t kRound, typename Word>
inline void round(Word v[16], const Word m[16]) noexcept {
  constexpr auto s = kSchedule[kRound];
  mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
  mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
  mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
  mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
  mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
  mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
  mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
  mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
}

/// The compression function on one block, or on one block per word of a vector; v[8..15] are set by the caller.
template <typename Word>
inline void compress(Word cv[8], Word v[16], const Word m[16]) noexcept {
  for (std::size_t i = 0; i < 8; ++i) v[i] = cv[i];
  round<0>(v, m);
  round<1>(v, m);
  round<2>(v, m);
  round<3>(v, m);
  round<4>(v, m);
  round<5>(v, m);
  round<6>(v, m);
  for (std::size_t i = 0; i < 8; ++i) cv[i] = v[i] ^ v[i + 8];
}

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

/// Four whole consecutive chunks, one per word of a vector.
void hash_four_chunks(const std::uint8_t* input, const ChainingValue& key, std::uint64_t counter, std::uint32_t mode,
                      ChainingValue out[kWords]) noexcept {
  Words4 cv[8];
  for (std::size_t i = 0; i < 8; ++i) cv[i] = broadcast(key[i]);
  Words4 counter_low, counter_high;
  for (std::size_t chunk = 0; chunk < kWords; ++chunk) {
    counter_low[chunk] = static_cast<std::uint32_t>(counter + chunk);
    counter_high[chunk] = static_cast<std::uint32_t>((counter + chunk) >> 32);
  }
  constexpr std::size_t kBlocks = kChunkBytes / kBlockBytes;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    Words4 m[16];
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      for (std::size_t chunk = 0; chunk < kWords; ++chunk) {
        m[4 * quarter + chunk] =
            load_words(input + chunk * kChunkBytes + block * kBlockBytes + quarter * sizeof(Words4));
      }
      transpose(m + 4 * quarter);
    }
    const std::uint32_t flags = mode | (block == 0 ? kChunkStart : 0) | (block == kBlocks - 1 ? kChunkEnd : 0);
    Words4 v[16];
    for (std::size_t i = 0; i < 4; ++i) v[8 + i] = broadcast(kIv[i]);
    v[12] = counter_low;
    v[13] = counter_high;
    v[14] = broadcast(kBlockBytes);
    v[15] = broadcast(flags);
    compress(cv, v, m);
  }
  for (std::size_t chunk = 0; chunk < kWords; ++chunk) {
    for (std::size_t i = 0; i < 8; ++i) out[chunk][i] = cv[i][chunk];
  }
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

Blake3::Blake3() noexcept : key_(kIv), mode_(0) {}
Blake3::Blake3(std::span<const std::uint8_t, 32> key) noexcept : key_(key_words(key)), mode_(kKeyedHash) {}

Blake3::~Blake3() {
  wipe(&key_, sizeof key_);
  wipe(subtrees_.data(), depth_ * sizeof subtrees_[0]);
  wipe(buffer_.data(), buffer_.size());
}

void Blake3::update(std::span<const std::uint8_t> input) {
  while (!input.empty()) {
    if (buffered_ == kChunkBytes) {
      push_chunk(hash_chunk(buffer_, key_, num_chunks_, mode_, 0));
      buffered_ = 0;
    }
    while (buffered_ == 0 && input.size() > kWords * kChunkBytes) {
      ChainingValue values[kWords];
      hash_four_chunks(input.data(), key_, num_chunks_, mode_, values);
      for (const ChainingValue& value : values) push_chunk(value);
      input = input.subspan(kWords * kChunkBytes);
    }
    const std::size_t taken = std::min(kChunkBytes - buffered_, input.size());
    std::copy_n(input.begin(), taken, buffer_.begin() + buffered_);
    buffered_ += taken;
    input = input.subspan(taken);
  }
}

void Blake3::push_chunk(ChainingValue value) noexcept {
  ++num_chunks_;
  // One waiting subtree per set bit of the chunk count: as many merges as the count has trailing zeros.
  for (std::uint64_t count = num_chunks_; count % 2 == 0; count /= 2) {
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

Hash blake3(std::span<const std::uint8_t> input) {
  Blake3 hasher;
  hasher.update(input);
  return hasher.finalize();
}

Hash blake3_keyed(std::span<const std::uint8_t, 32> key, std::span<const std::uint8_t> input) {
  Blake3 hasher(key);
  hasher.update(input);
  return hasher.finalize();
}

}  // namespace lw
