#include "backend/gpu/staging.hpp"

#include <algorithm>
#include <cstring>

#include "backend/gpu/device_memory.hpp"
#include "backend/gpu/queue.hpp"
#include "math/entropy.hpp"

namespace lw::gpu {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;  // bytes of a block, if no more are asked for at once
constexpr std::size_t kAlignment = 512;
constexpr std::size_t kMostBlocks = 16;  // of a queue; where all are in use the host waits for the first of them

std::size_t words_of(std::size_t bytes) noexcept {
  return std::max<std::size_t>(1, (bytes + sizeof(Word) - 1) / sizeof(Word));
}

}  // namespace

StagingBlocks::~StagingBlocks() {
  for (Block& block : blocks_) {
    card_.driver().event_wait(block.done);
    card_.driver().event_free(block.done);
    card_.driver().pinned_free(card_.device(), block.pinned);
    card_.memory().put_back(block.memory, block.bytes, queue_bit(queue_));
  }
}

bool StagingBlocks::reserve() noexcept {
  const std::lock_guard lock(mutex_);
  return make(kBlock) != nullptr || card_.has_failed();
}

StagingBlocks::Place StagingBlocks::hold(std::size_t bytes) noexcept {
  if (card_.has_failed()) return {};
  const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::lock_guard lock(mutex_);
  Block* const block = block_for(size);
  if (block == nullptr) return {};
  ++block->holders;
  const std::size_t at = block->filled;
  block->filled += size;
  return {block, block->pinned + at, block->memory + at};
}

void StagingBlocks::release(Block* block) noexcept {
  const std::lock_guard lock(mutex_);
  if (--block->holders > 0) return;
  block->is_recorded = card_.record(block->done, queue_);
}

/// The block that was filled last, if there is room; else one that is done with; else a new one.
StagingBlocks::Block* StagingBlocks::block_for(std::size_t bytes) noexcept {
  if (!blocks_.empty() && blocks_.back().filled + bytes <= blocks_.back().bytes) return &blocks_.back();
  if (Block* const block = free_block(bytes, blocks_.size() >= kMostBlocks)) return block;
  if (Block* const block = make(std::max(bytes, kBlock))) return block;
  if (Block* const block = free_block(bytes, true)) return block;
  card_.note(LW_OUT_OF_MEMORY, "no memory is left for what kernels are given");
  return nullptr;
}

StagingBlocks::Block* StagingBlocks::free_block(std::size_t bytes, bool wait) noexcept {
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    if (block->bytes < bytes || !is_free(*block, wait)) continue;
    block->filled = 0;
    blocks_.splice(blocks_.end(), blocks_, block);
    return &blocks_.back();
  }
  return nullptr;
}

/// Makes a block; nullptr where there is no memory, and after a failure.
StagingBlocks::Block* StagingBlocks::make(std::size_t bytes) noexcept {
  if (card_.has_failed()) return nullptr;
  const LwDriver& driver = card_.driver();
  Block block;
  block.bytes = bytes;
  void* pinned = nullptr;
  LwStatus status = driver.pinned_get(card_.device(), bytes, &pinned);
  if (status == LW_OK) {
    block.pinned = static_cast<std::byte*>(pinned);
    block.memory = static_cast<std::byte*>(card_.memory_for(bytes, queue_));
    status = block.memory == nullptr ? LW_OUT_OF_MEMORY : driver.event_make(card_.device(), &block.done);
    if (status == LW_OK) return &blocks_.emplace_back(block);
    driver.pinned_free(card_.device(), pinned);
    if (block.memory != nullptr) card_.memory().put_back(block.memory, bytes, queue_bit(queue_));
  }
  if (status != LW_OUT_OF_MEMORY) card_.note(status, "what kernels are given");
  return nullptr;
}

bool StagingBlocks::is_free(Block& block, bool wait) noexcept {
  if (block.holders > 0 || !block.is_recorded) return false;
  if (wait) return card_.note(card_.driver().event_wait(block.done), "waiting");
  std::int32_t is_done = 0;
  return card_.note(card_.driver().event_done(block.done, &is_done), "an event") && is_done != 0;
}

Staging::~Staging() {
  for (StagingBlocks::Block* block : held_) queue_.staging().release(block);
}

StagingBlocks::Place Staging::hold(std::size_t bytes) noexcept {
  const std::size_t words = words_of(bytes);
  const StagingBlocks::Place place = queue_.stage(words * sizeof(Word));
  if (place.pinned == nullptr) return place;
  if (place.block != nullptr) held_.push_back(place.block);
  std::memset(place.pinned + (words - 1) * sizeof(Word), 0, sizeof(Word));
  return place;
}

void Staging::upload_to(void* to, const void* from, std::size_t bytes) noexcept {
  queue_.card().give_up_recording(queue_.number());
  const StagingBlocks::Place place = hold(bytes);
  if (place.pinned == nullptr) return;
  std::memcpy(place.pinned, from, bytes);
  queue_.upload(to, place.pinned, bytes);
}

void Staging::upload_secrets_to(void* to, std::span<const std::span<const std::byte>> pieces) noexcept {
  queue_.card().give_up_recording(queue_.number());
  std::size_t bytes = 0;
  for (const std::span<const std::byte> piece : pieces) bytes += piece.size();
  const StagingBlocks::Place place = hold(bytes);
  if (place.pinned == nullptr) return;
  std::byte* next = place.pinned;
  for (const std::span<const std::byte> piece : pieces) next = std::copy(piece.begin(), piece.end(), next);
  queue_.upload(to, place.pinned, bytes);
  queue_.card().wait(queue_.number());
  wipe(place.pinned, bytes);
}

void Staging::upload(const StagingBlocks::Place& place, std::size_t bytes) noexcept {
  if (place.block == nullptr) return;  // the recording does
  queue_.upload(place.memory, place.pinned, words_of(bytes) * sizeof(Word));
}

}  // namespace lw::gpu
