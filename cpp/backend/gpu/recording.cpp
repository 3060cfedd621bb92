#include "backend/gpu/recording.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

namespace lw::gpu {
namespace {

constexpr int kMostRecordings = 24;                           // in this process: each has a queue
constexpr std::size_t kPiece = 256;                           // calls: what a cancelled run still does
constexpr std::size_t kMostHostBytes = std::size_t{1} << 30;  // of a recording, in the driver's graphs: about so much
constexpr std::size_t kCallBytes = 1 << 10;  // for each call beside its arguments, which are in it twice
constexpr std::size_t kStagedAtOnce = std::size_t{1} << 18;  // bytes staged at a time, if no more are asked for at once
constexpr std::size_t kStagedAlignment = 512;

std::atomic<int> recordings = 0;

}  // namespace

std::unique_ptr<GpuRecording> GpuRecording::make(std::shared_ptr<Card> card, std::size_t most_bytes) {
  std::unique_ptr<GpuRecording> made(new GpuRecording(std::move(card), most_bytes));
  return recordings > kMostRecordings || made->queue_.is_shared() ? nullptr : std::move(made);
}

GpuRecording::GpuRecording(std::shared_ptr<Card> card, std::size_t most_bytes)
    : card_(std::move(card)),
      most_bytes_(most_bytes),
      arena_(std::make_shared<Arena>(card_->memory(), queue_.value(), most_bytes)) {
  ++recordings;
  card_->memory().set_arena(queue_.value(), arena_);
}

GpuRecording::~GpuRecording() {
  const LwDriver& driver = card_->driver();
  if (LwGraph* const unfinished = card_->end_capture(queue_.value())) driver.graph_free(unfinished);
  order(awaited_);  // as whoever gets the memory next waits for this queue alone
  card_->memory().set_arena(queue_.value(), nullptr);
  card_->wait(queue_.value());
  for (const Piece& piece : pieces_) driver.graph_free(piece.graph);
  for (const Block& block : staged_) {
    driver.pinned_free(card_->device(), block.pinned);
    card_->memory().put_back(block.memory, block.bytes, queue_bit(queue_.value()));
  }
  --recordings;
}

void GpuRecording::begin() noexcept {
  if (arena_->is_closed()) {  // too small for the inputs
    give_up();
  } else {
    begin_piece();
  }
}

/// Gives the recording up: what was captured is called once, and never again. After that its memory may be anybody's.
void GpuRecording::give_up() noexcept {
  end_piece();
  is_whole_ = false;
  card_->memory().set_arena(queue_.value(), nullptr);
  arena_->close();
}

bool GpuRecording::end() noexcept {
  end_piece();
  card_->memory().set_arena(queue_.value(), nullptr);
  return is_whole_ && !card_->has_failed();
}

void GpuRecording::replay(const std::function<void()>& between) {
  for (Piece& piece : pieces_) {
    between();
    call(piece);
  }
}

std::size_t GpuRecording::bytes() const noexcept {
  std::size_t total = arena_->bytes();
  for (const Block& block : staged_) total += block.bytes;
  return total;
}

void GpuRecording::begin_piece() noexcept {
  awaited_ = 0;
  calls_ = 0;
  card_->begin_capture(*this);
}

void GpuRecording::end_piece() noexcept {
  LwGraph* const graph = card_->end_capture(queue_.value());
  if (graph == nullptr) return;
  pieces_.push_back({graph, std::exchange(awaited_, 0), calls_});
  upload_staged();
  call(pieces_.back());
}

void GpuRecording::order(std::uint64_t& awaited) noexcept {
  for (; awaited != 0; awaited &= awaited - 1) card_->order(queue_.value(), std::countr_zero(awaited));
}

void GpuRecording::call(Piece& piece) noexcept {
  order(piece.awaited);
  card_->replay(piece.graph, piece.calls, queue_.value());
}

void GpuRecording::note_call(std::size_t args_bytes) noexcept {
  host_bytes_ += kCallBytes + 2 * args_bytes;
  if (++calls_ < kPiece) return;
  if (host_bytes_ >= kMostHostBytes) {
    give_up();
    return;
  }
  end_piece();
  begin_piece();
}

GpuRecording::Place GpuRecording::stage(std::size_t bytes) noexcept {
  const std::size_t size = (bytes + kStagedAlignment - 1) / kStagedAlignment * kStagedAlignment;
  if (staged_.empty() || staged_.back().filled + size > staged_.back().bytes) {
    if (!make_block(std::max(size, kStagedAtOnce))) return {};
  }
  Block& block = staged_.back();
  const std::size_t at = block.filled;
  block.filled += size;
  return {block.pinned + at, block.memory + at};
}

/// Makes a staging block. Its memory is got on the queue of threads outside of all runs, whose calls are not captured.
bool GpuRecording::make_block(std::size_t bytes) noexcept {
  void* pinned = nullptr;
  if (card_->has_failed() || bytes > most_bytes_ - std::min(most_bytes_, this->bytes())) return false;
  if (const LwStatus status = card_->driver().pinned_get(card_->device(), bytes, &pinned); status != LW_OK) {
    if (status != LW_OUT_OF_MEMORY) card_->note(status, "pinned memory");
    return false;
  }
  void* const memory = card_->memory().get(bytes, 0);
  if (memory == nullptr) {
    card_->driver().pinned_free(card_->device(), pinned);
    return false;
  }
  await(0);
  staged_.push_back({static_cast<std::byte*>(pinned), static_cast<std::byte*>(memory), bytes, 0, 0});
  return true;
}

void GpuRecording::upload_staged() noexcept {
  card_->order(queue_.value(), 0);
  for (Block& block : staged_) {
    if (block.uploaded == block.filled) continue;
    card_->call(queue_.value(), "a copy to the device", card_->driver().upload,
                static_cast<void*>(block.memory + block.uploaded),
                static_cast<const void*>(block.pinned + block.uploaded), block.filled - block.uploaded);
    block.uploaded = block.filled;
  }
}

}  // namespace lw::gpu
