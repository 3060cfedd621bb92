#include "kernel_store.hpp"

#include <CL/cl.h>

#include <stdexcept>
#include <sycl/backend/opencl.hpp>

#include "kept_programs.hpp"
#include "sources.hpp"

namespace lw::gpu {
namespace {

namespace syclex = sycl::ext::oneapi::experimental;

std::string entry_of(std::uint32_t number) { return "lw_kernel_" + std::to_string(number); }

/// The text that is compiled for a group.
std::string source_of(KernelGroup group) {
  std::string source = "#include \"kernels.hpp\"\n";
  for (std::uint32_t i = 0; i < Facts::kSize; ++i) {
    if (Facts::kGroups[i] != group || Facts::kHasClusters[i]) continue;
    source += (Facts::kHasLanes[i] ? "LW_SYCL_LANES_KERNEL(" : "LW_SYCL_KERNEL(") + std::to_string(i) + ")\n";
  }
  return source;
}

/// Contraction is off, as everywhere: it would change the bits of lifts. The translation to SPIR-V fails at reversals
/// of bits in modules whose values have no names.
const std::vector<std::string> kOptions = {"-std=c++20", "-ffp-contract=off", "-fno-discard-value-names"};

void check(cl_int status, const char* what) {
  if (status != CL_SUCCESS) throw std::runtime_error(std::string(what) + ": OpenCL error " + std::to_string(status));
}

Programs code_of(const sycl::kernel_bundle<sycl::bundle_state::executable>& bundle) {
  Programs found;
  for (const cl_program program : sycl::get_native<sycl::backend::opencl>(bundle)) {
    std::size_t bytes = 0;
    check(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr), "the size of a program");
    std::string code(bytes, '\0');
    unsigned char* to = reinterpret_cast<unsigned char*>(code.data());
    check(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr), "the code of a program");
    check(clReleaseProgram(program), "a program");
    found.push_back(std::move(code));
  }
  return found;
}

}  // namespace

const sycl::kernel& KernelStore::get(std::uint32_t number) {
  if (const sycl::kernel* const found = kernels_[number].load(std::memory_order_acquire)) return *found;
  const std::lock_guard lock(mutex_);
  if (kernels_[number].load() == nullptr) make(Facts::kGroups[number]);
  const sycl::kernel* const made = kernels_[number].load();
  if (made == nullptr) throw std::runtime_error("the compiler of SYCL made no such kernel");
  return *made;
}

void KernelStore::make(KernelGroup group) {
  const std::string source = source_of(group);
  if (device_.get_backend() != sycl::backend::opencl) {  // whose driver keeps the machine code itself
    auto bundle = compile(source);
    for (std::uint32_t i = 0; i < Facts::kSize; ++i) {
      if (Facts::kGroups[i] == group && !Facts::kHasClusters[i]) keep(i, bundle.ext_oneapi_get_kernel(entry_of(i)));
    }
    return;
  }
  const KeptPrograms kept(source, kOptions, device_);
  Programs programs = kept.read();
  if (!programs.empty()) {
    try {
      take_from(programs, group);
      return;
    } catch (const std::exception&) {  // it is compiled again
    }
  }
  programs = code_of(compile(source));
  kept.write(programs);
  take_from(programs, group);
}

sycl::kernel_bundle<sycl::bundle_state::executable> KernelStore::compile(const std::string& source) const {
  auto read = syclex::create_kernel_bundle_from_source(context_, syclex::source_language::sycl, source);
  const std::vector<sycl::device> devices = {device_};
  std::vector<std::string> options = kOptions;
  options.push_back("-I" + sources_folder());
  return syclex::build(read, devices, syclex::properties(syclex::build_options(options)));
}

void KernelStore::take_from(const Programs& programs, KernelGroup group) {
  const cl_context context = sycl::get_native<sycl::backend::opencl>(context_);
  const cl_device_id device = sycl::get_native<sycl::backend::opencl>(device_);
  for (const std::string& code : programs) {
    const unsigned char* from = reinterpret_cast<const unsigned char*>(code.data());
    const std::size_t bytes = code.size();
    cl_int loaded = CL_SUCCESS, status = CL_SUCCESS;
    const cl_program program = clCreateProgramWithBinary(context, 1, &device, &bytes, &from, &loaded, &status);
    check(status, "a program");
    check(loaded, "a program");
    check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "a program");
    for (std::uint32_t i = 0; i < Facts::kSize; ++i) {
      if (Facts::kGroups[i] != group || Facts::kHasClusters[i]) continue;
      const cl_kernel kernel = clCreateKernel(program, ("__sycl_kernel_" + entry_of(i)).c_str(), &status);
      if (status == CL_SUCCESS) keep(i, sycl::make_kernel<sycl::backend::opencl>(kernel, context_));
    }
  }
  for (std::uint32_t i = 0; i < Facts::kSize; ++i) {
    const bool is_wanted = Facts::kGroups[i] == group && !Facts::kHasClusters[i];
    if (is_wanted && kernels_[i].load() == nullptr) throw std::runtime_error("a program without its kernels");
  }
}

void KernelStore::keep(std::uint32_t number, const sycl::kernel& kernel) {
  made_.push_back(std::make_unique<const sycl::kernel>(kernel));
  kernels_[number].store(made_.back().get(), std::memory_order_release);
}

}  // namespace lw::gpu
