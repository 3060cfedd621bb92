// Runs kernels twice on the same words, through SYCL's compiler at run time and as the host carries them out, and
// compares every bit of what they make:
//
//   check INCLUDE...     the folders where kernels.hpp and what it includes are
//
// A line for each kernel. Exit status 1 if any words differ, or nothing could be run.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

#include "backend/gpu/fp64.hpp"
#include "backend/gpu/u64.hpp"
#include "launches.hpp"
#include "math/primes.hpp"

namespace lw::gpu {
namespace {

namespace syclex = sycl::ext::oneapi::experimental;
using Bundle = sycl::kernel_bundle<sycl::bundle_state::executable>;

/// Memory of the host as it is, and blocks and threads in their order.
class Host : public Memory, public Schedule {
 public:
  explicit Host(std::uint32_t shared_words) : shared_(shared_words) {}

  void* global(const void* address, std::size_t, std::size_t, Access) noexcept override {
    return const_cast<void*>(address);
  }
  std::uint64_t* shared(std::uint32_t, std::size_t i, Access) noexcept override { return &shared_[i]; }
  void give(std::uint64_t) noexcept override {}  // none of these kernels exchanges words in a warp
  std::uint64_t take(std::uint32_t) noexcept override { return 0; }
  std::uint32_t block(std::uint32_t turn, std::uint32_t) noexcept override { return turn; }
  std::uint32_t thread(std::uint32_t turn, std::uint32_t) noexcept override { return turn; }
  void begin_block(const std::uint32_t (&)[3]) noexcept override {}
  void begin_phase(std::uint32_t, bool) noexcept override {}
  void begin_thread(std::uint32_t) noexcept override {}
  void end_block() noexcept override {}

 private:
  std::vector<std::uint64_t> shared_;
};

template <class K, class Prepare>
std::vector<Word> made_by_host(const Prepare& prepare) {
  std::vector<Word> words(Image::kMostWords);
  Image image(words.data());
  const Work<K> work = prepare(image);
  std::ranges::copy(image.words(), words.begin());
  for (const Launch<K>& launch : work.launches) {
    Host host(launch.shared_words);
    memory = &host;
    run_on_host<K>(&launch.args, launch.grid, host);
    memory = nullptr;
  }
  return {work.out.begin(), work.out.end()};
}

sycl::nd_range<3> range_of(const Grid& grid) {
  return {{grid.blocks[2], grid.blocks[1], std::size_t{grid.blocks[0]} * grid.threads}, {1, 1, grid.threads}};
}

template <class K, class Prepare>
std::vector<Word> made_by_sycl(sycl::queue& queue, const sycl::kernel& kernel, const Prepare& prepare) {
  using Args = typename K::Args;
  Word* const words = sycl::malloc_device<Word>(Image::kMostWords, queue);
  Args* const args = sycl::malloc_device<Args>(1, queue);
  if (words == nullptr || args == nullptr) throw std::bad_alloc();
  Image image(words);
  const Work<K> work = prepare(image);
  queue.memcpy(words, image.words().data(), image.words().size_bytes());
  for (const Launch<K>& launch : work.launches) {
    queue.memcpy(args, &launch.args, sizeof(Args));
    queue.submit([&](sycl::handler& handler) {
      handler.set_args(static_cast<const Args*>(args),
                       sycl::local_accessor<std::uint64_t, 1>(launch.shared_words, handler));
      handler.parallel_for(range_of(launch.grid), kernel);
    });
  }
  std::vector<Word> made(work.out.size());
  queue.memcpy(made.data(), work.out.data(), work.out.size_bytes()).wait_and_throw();
  sycl::free(args, queue);
  sycl::free(words, queue);
  return made;
}

/// others: its template arguments after the arithmetic.
template <class A>
std::string name_of(const char* kernel, const char* others) {
  const char* const arithmetic = A::kArithmetic == Arithmetic::kFp64 ? "Fp64" : "U64";
  return std::string("lw::gpu::kernel<lw::gpu::") + kernel + "<lw::gpu::" + arithmetic + others + ">>";
}
template <class A>
std::string name_of_transform() {
  return name_of<A>("ForwardNtt", ", lw::gpu::Radix8, lw::gpu::FullTile<lw::gpu::Radix8>");
}
template <class A>
std::string name_of_product() {
  return name_of<A>("KeyProduct", "");
}

/// Whether both make the same words.
template <class K, class Prepare>
bool check(sycl::queue& queue, Bundle& bundle, const std::string& name, const Prepare& prepare) {
  const std::vector<Word> compiled = made_by_sycl<K>(queue, bundle.ext_oneapi_get_kernel(name), prepare);
  const std::vector<Word> host = made_by_host<K>(prepare);
  std::size_t differing = 0;
  for (std::size_t i = 0; i < host.size(); ++i) differing += compiled[i] != host[i];
  const char* const kernel = K::kName;
  if (differing == 0) {
    std::printf("%s: equal bits, %zu words\n", kernel, host.size());
  } else {
    std::printf("%s: %zu of %zu words differ\n", kernel, differing, host.size());
  }
  return differing == 0;
}

template <class A>
bool check_all(sycl::queue& queue, Bundle& bundle, std::uint64_t near) {
  const std::uint32_t degree = 1 << Radix8::kLogTile;
  const HostTables tables(A::kArithmetic, degree, primes_near(near, 2 * degree, 3));
  const bool ntt = check<WholeLimbs<A>>(queue, bundle, name_of_transform<A>(),
                                        [&](Image& image) { return forward_ntt<A>(tables, image); });
  const bool product = check<KeyProduct<A>>(queue, bundle, name_of_product<A>(),
                                            [&](Image& image) { return key_product<A>(tables, image); });
  return ntt && product;
}

Bundle compile(const sycl::queue& queue, const std::vector<std::string>& folders) {
  // The translation to SPIR-V fails at reversals of bits in modules whose values have no names.
  std::vector<std::string> options = {"-std=c++20", "-ffp-contract=off", "-fno-discard-value-names"};
  for (const std::string& folder : folders) options.push_back("-I" + folder);
  const std::vector<std::string> names = {name_of_transform<Fp64>(), name_of_transform<U64>(), name_of_product<Fp64>(),
                                          name_of_product<U64>()};
  auto source = syclex::create_kernel_bundle_from_source(queue.get_context(), syclex::source_language::sycl,
                                                         std::string("#include \"kernels.hpp\"\n"));
  return syclex::build(source, syclex::properties(syclex::build_options(options), syclex::registered_names(names)));
}

bool run(const std::vector<std::string>& folders) {
  sycl::queue queue(sycl::property::queue::in_order{});
  std::printf("%s\n", queue.get_device().get_info<sycl::info::device::name>().c_str());
  Bundle bundle = compile(queue, folders);
  const bool fp64 = check_all<Fp64>(queue, bundle, (std::uint64_t{1} << 50) - (std::uint64_t{1} << 40));
  const bool u64 = check_all<U64>(queue, bundle, (std::uint64_t{1} << 59));
  return fp64 && u64;
}

}  // namespace
}  // namespace lw::gpu

int main(int count, char** words) {
  try {
    return lw::gpu::run({words + 1, words + count}) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
