#include "backend/sim/address_space.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "backend/sim/text.hpp"
#include "math/error.hpp"

namespace lw::sim {
namespace {

constexpr std::size_t kAlignment = 512, kLeastGap = 512;
constexpr std::size_t kMostAddresses = std::size_t{64} << 30, kLeastAddresses = std::size_t{1} << 30;
constexpr std::size_t kRememberedFreed = 64;

std::string piece_text(std::uintptr_t begin, std::size_t bytes) {
  return text("the piece of ", bytes, " bytes at 0x", std::hex, begin);
}

}  // namespace

void poison(void* memory, std::size_t bytes) noexcept {
  std::byte* to = static_cast<std::byte*>(memory);
  for (; bytes >= sizeof kPoison; to += sizeof kPoison, bytes -= sizeof kPoison) {
    std::memcpy(to, &kPoison, sizeof kPoison);
  }
  std::memcpy(to, &kPoison, bytes);
}

AddressSpace::AddressSpace() {
  std::size_t bytes = kMostAddresses;
  for (;; bytes /= 2) {
    reserved_ = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved_ != MAP_FAILED) break;
    if (bytes == kLeastAddresses) throw Error(ErrorKind::kOutOfMemory, "no address space for a simulated device");
  }
  begin_ = reinterpret_cast<std::uintptr_t>(reserved_);
  granules_ = bytes >> kGranuleBits;
  table_.reset(static_cast<std::atomic<Piece*>*>(std::calloc(granules_, sizeof(std::atomic<Piece*>))));
  if (table_ == nullptr) {
    munmap(reserved_, bytes);
    throw Error(ErrorKind::kOutOfMemory, "no memory for the table of a simulated device");
  }
}

AddressSpace::~AddressSpace() { munmap(reserved_, granules_ << kGranuleBits); }

std::size_t AddressSpace::granules_of(const Piece& piece) const noexcept {
  const std::size_t before = (piece.begin - begin_) % (std::size_t{1} << kGranuleBits);
  return ((before + piece.bytes + kLeastGap - 1) >> kGranuleBits) + 1;
}

/// Finds the first of `granules` free granules in a row, from next_ on and then from the start; returns granules_ if
/// there are none.
std::size_t AddressSpace::room(std::size_t granules) const noexcept {
  for (const auto& [start, end] : {std::pair{next_, granules_}, std::pair{std::size_t{0}, next_}}) {
    std::size_t at = start;
    auto live = live_.upper_bound(at);
    if (live != live_.begin()) {
      const auto& [first, piece] = *std::prev(live);
      at = std::max(at, first + granules_of(*piece));
    }
    for (; live != live_.end() && live->first < at + granules; ++live) at = live->first + granules_of(*live->second);
    if (at + granules <= granules_ && at < end) return at;
  }
  return granules_;
}

void AddressSpace::enter(const Piece& piece, Piece* entry) noexcept {
  const std::size_t first = (piece.begin - begin_) >> kGranuleBits, count = granules_of(piece);
  for (std::size_t i = 0; i < count; ++i) table_.get()[first + i].store(entry, std::memory_order_release);
}

std::uintptr_t AddressSpace::get(std::size_t bytes) {
  if (bytes == 0 || bytes > granules_ << kGranuleBits) return 0;
  auto piece = std::make_unique<Piece>();
  piece->bytes = bytes;
  const std::size_t words = (bytes + 7) / 8;
  const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  piece->data.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, size)));
  piece->cells.reset(static_cast<Cell*>(std::calloc(words, sizeof(Cell))));  // each {0, 0, kUnwritten, 0}
  if (piece->data == nullptr || piece->cells == nullptr) return 0;
  poison(piece->data.get(), size);
  const std::lock_guard lock(mutex_);
  const std::size_t offset = kAlignment * (2 * (made_++ % 61) + 1);  // an odd multiple
  piece->begin = begin_ + offset;
  const std::size_t granules = granules_of(*piece), first = room(granules);
  if (first == granules_) return 0;
  piece->begin += first << kGranuleBits;
  next_ = first + granules;
  enter(*piece, piece.get());
  return live_.emplace(first, std::move(piece)).first->second->begin;
}

std::unique_ptr<Piece> AddressSpace::take_away(std::uintptr_t begin) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find((begin - begin_) >> kGranuleBits);
  if (found == live_.end() || found->second->begin != begin) return nullptr;
  std::unique_ptr<Piece> piece = std::move(found->second);
  live_.erase(found);
  enter(*piece, nullptr);
  freed_.push_back({piece->begin, piece->bytes});
  if (freed_.size() > kRememberedFreed) freed_.pop_front();
  return piece;
}

std::string AddressSpace::locate(std::uintptr_t at, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  if (at - begin_ >= granules_ << kGranuleBits) return "it is no address of this device";
  auto after = live_.upper_bound((at - begin_) >> kGranuleBits);
  if (after != live_.begin() && std::prev(after)->second->begin > at) --after;
  const Piece* below = after != live_.begin() ? std::prev(after)->second.get() : nullptr;
  const Piece* above = after != live_.end() ? after->second.get() : nullptr;
  if (below != nullptr && below->holds(at, 1)) {
    return text("it runs ", bytes - (below->begin + below->bytes - at), " bytes over the end of ",
                piece_text(below->begin, below->bytes));
  }
  for (auto freed = freed_.rbegin(); freed != freed_.rend(); ++freed) {
    if (at - freed->begin < freed->bytes) {
      return text("it is ", at - freed->begin, " bytes into ", piece_text(freed->begin, freed->bytes),
                  ", which was freed");
    }
  }
  const std::size_t from_end = below != nullptr ? at - below->begin - below->bytes : SIZE_MAX;
  const std::size_t to_begin = above != nullptr ? above->begin - at : SIZE_MAX;
  if (below == nullptr && above == nullptr) return "the device has no live memory";
  if (from_end <= to_begin)
    return text("it is ", from_end, " bytes after the end of ", piece_text(below->begin, below->bytes));
  return text("it is ", to_begin, " bytes before ", piece_text(above->begin, above->bytes));
}

}  // namespace lw::sim
