// The kernels of a device: compiled by SYCL's run-time compiler when they are first asked for, and kept on disk.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

#include "kernel_facts.hpp"

namespace lw::gpu {

/// The machine code of a group of kernels: that of each program which the compiler makes of it.
using Programs = std::vector<std::string>;

/// Safe to share between threads.
class KernelStore {
 public:
  KernelStore(const sycl::device& device, const sycl::context& context) : device_(device), context_(context) {}

  /// A kernel by its number, compiled with its group if need be. Throws std::exception with what the compiler says.
  const sycl::kernel& get(std::uint32_t number);

 private:
  void make(KernelGroup group);
  sycl::kernel_bundle<sycl::bundle_state::executable> compile(const std::string& source) const;
  void take_from(const Programs& programs, KernelGroup group);
  void keep(std::uint32_t number, const sycl::kernel& kernel);

  const sycl::device device_;
  const sycl::context context_;
  std::mutex mutex_;  // of compilations
  std::vector<std::unique_ptr<const sycl::kernel>> made_;
  std::array<std::atomic<const sycl::kernel*>, Facts::kSize> kernels_ = {};
};

}  // namespace lw::gpu
