#include "backend/gpu/queue.hpp"

#include "backend/gpu/recording.hpp"

namespace lw::gpu {

StagingBlocks::Place GpuQueue::stage(std::size_t bytes) noexcept {
  GpuRecording* const recording = card_.recording(number_);
  if (recording == nullptr) return staging_.hold(bytes);
  const GpuRecording::Place place = recording->stage(bytes);
  if (place.pinned == nullptr) {  // no memory for what stays: what was staged so far has been uploaded
    recording->give_up();
    return staging_.hold(bytes);
  }
  return {nullptr, place.pinned, place.memory};
}

void GpuQueue::note_call(std::size_t args_bytes) noexcept {
  if (GpuRecording* const recording = card_.recording(number_)) recording->note_call(args_bytes);
}

void GpuQueue::start(std::uint32_t kernel, const void* args, std::uint32_t args_bytes, const Grid& grid,
                     std::uint32_t shared_words) noexcept {
  const LwLaunch launch = {kernel,       {grid.blocks[0], grid.blocks[1], grid.blocks[2]},
                           grid.threads, static_cast<std::uint32_t>(shared_words * sizeof(Word)),
                           args,         args_bytes};
  const char* const name = card_.driver().kernel_names[kernel];
  const bool is_well = card_.timed_call(number_, name, 0, card_.driver().launch, &launch);
  if (is_well && card_.options().is_synchronous) card_.call(number_, name, card_.driver().stream_wait);
  note_call(args_bytes);
}

void GpuQueue::upload(void* to, const void* from, std::size_t bytes) noexcept {
  card_.timed_call(number_, "copy to the device", bytes, card_.driver().upload, to, from, bytes);
  note_call(0);
}

void GpuQueue::copy(void* to, const void* from, std::size_t bytes) noexcept {
  card_.timed_call(number_, "copy on the device", bytes, card_.driver().copy, to, from, bytes);
  note_call(0);
}

void GpuQueue::download_later(void* to, const void* from, std::size_t bytes) noexcept {
  card_.give_up_recording(number_);
  card_.timed_call(number_, "copy from the device", bytes, card_.driver().download, to, from, bytes);
}

void GpuQueue::download(void* to, const void* from, std::size_t bytes) noexcept {
  download_later(to, from, bytes);
  card_.wait(number_);
}

}  // namespace lw::gpu
