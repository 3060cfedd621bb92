#include "backend/gpu/queue.hpp"

namespace lw::gpu {

void GpuQueue::start(std::uint32_t kernel, const void* args, std::uint32_t args_bytes, const Grid& grid,
                     std::uint32_t shared_words) noexcept {
  if (card_.has_failed()) return;
  const LwLaunch launch = {kernel,       {grid.blocks[0], grid.blocks[1], grid.blocks[2]},
                           grid.threads, static_cast<std::uint32_t>(shared_words * sizeof(Word)),
                           args,         args_bytes};
  const char* const name = card_.driver().kernel_names[kernel];
  card_.note(card_.driver().launch(card_.stream(number_), &launch), name);
  card_.issued(number_);
  if (card_.options().is_synchronous && !card_.has_failed()) {
    card_.note(card_.driver().stream_wait(card_.stream(number_)), name);
  }
}

void GpuQueue::upload(void* to, const void* from, std::size_t bytes) noexcept {
  if (card_.has_failed()) return;
  card_.note(card_.driver().upload(card_.stream(number_), to, from, bytes), "a copy to the device");
  card_.issued(number_);
}

void GpuQueue::copy(void* to, const void* from, std::size_t bytes) noexcept {
  if (card_.has_failed()) return;
  card_.note(card_.driver().copy(card_.stream(number_), to, from, bytes), "a copy on the device");
  card_.issued(number_);
}

void GpuQueue::download_later(void* to, const void* from, std::size_t bytes) noexcept {
  if (card_.has_failed()) return;
  card_.note(card_.driver().download(card_.stream(number_), to, from, bytes), "a copy from the device");
  card_.issued(number_);
}

void GpuQueue::download(void* to, const void* from, std::size_t bytes) noexcept {
  download_later(to, from, bytes);
  card_.wait(number_);
}

}  // namespace lw::gpu
