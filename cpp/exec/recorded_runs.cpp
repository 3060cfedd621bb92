#include "exec/recorded_runs.hpp"

#include <algorithm>
#include <utility>

namespace lw {
namespace {

constexpr std::size_t kMostUnfit = 64;  // that are known; then they are found again

/// function(ciphertext) for each of the inputs, in order.
template <class Function>
void each(const std::vector<Input>& inputs, const Function& function) {
  for (const Input& input : inputs) {
    if (const Ciphertexts* array = std::get_if<Ciphertexts>(&input)) {
      for (const Ciphertext& x : *array) function(x);
    }
  }
}

/// An output that is an input as it came has the labels of that run, such as the seed that it was expanded from.
bool passes_inputs(const RecordedRuns::Run& run) {
  for (const Ciphertexts& array : run.outputs) {
    for (const Ciphertext& x : array) {
      const auto is_it = [&](const auto& residues) { return residues == x.residues; };
      if (x.seed || std::any_of(run.inputs.begin(), run.inputs.end(), is_it)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::int64_t> integers(const std::vector<Input>& inputs) {
  std::vector<std::int64_t> found;
  for (const Input& input : inputs) {
    if (const std::int64_t* value = std::get_if<std::int64_t>(&input)) found.push_back(*value);
  }
  return found;
}

std::optional<std::vector<Ciphertexts>> RecordedRuns::run(const std::vector<Input>& inputs, const Tick& tick,
                                                          const Execute& execute) {
  const Integers way = integers(inputs);
  std::unique_ptr<Run> run = take(way);
  const bool is_new = run == nullptr;
  if (is_new) run = start(way);
  if (run == nullptr) return std::nullopt;
  struct Ending {
    RecordedRuns& runs;
    ~Ending() {
      const std::lock_guard lock(runs.mutex_);
      --runs.num_busy_;
    }
  } const ending{*this};
  const QueueScope scope(run->recording->queue());
  const Ring& ring = context_->ring();
  bool is_fit = true;
  if (is_new) {
    is_fit = record(*run, inputs, execute);
  } else {
    auto home = run->inputs.begin();
    each(inputs,
         [&](const Ciphertext& x) { ring.kernels().copy(ring.queue(), (*home++)->view(), x.residues->view()); });
    run->recording->replay(tick);
  }
  std::vector<Ciphertexts> outputs = run->outputs;
  for (Ciphertexts& array : outputs) {
    for (Ciphertext& x : array) x.residues = copy(*x.residues);
  }
  ring.device().synchronise(ring.queue());
  if (is_fit) {
    put_back(std::move(run));
  } else {
    const std::lock_guard lock(mutex_);
    if (unfit_.size() >= kMostUnfit) unfit_.clear();
    unfit_.insert(way);
  }
  return outputs;
}

void RecordedRuns::drop() noexcept {
  std::list<std::unique_ptr<Run>> dropped;  // which end without the lock
  const std::lock_guard lock(mutex_);
  dropped.swap(idle_);
}

std::unique_ptr<RecordedRuns::Run> RecordedRuns::take(const Integers& integers) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(idle_.begin(), idle_.end(), [&](const auto& run) { return run->integers == integers; });
  if (found == idle_.end()) return nullptr;
  std::unique_ptr<Run> run = std::move(*found);
  idle_.erase(found);
  ++num_busy_;
  return run;
}

std::unique_ptr<RecordedRuns::Run> RecordedRuns::start(const Integers& integers) {
  std::unique_ptr<Run> oldest;  // which ends without the lock
  {
    const std::lock_guard lock(mutex_);
    if (unfit_.contains(integers) || num_busy_ >= most_) return nullptr;
    if (num_busy_ + idle_.size() >= most_) {
      oldest = std::move(idle_.back());
      idle_.pop_back();
    }
    ++num_busy_;
  }
  oldest.reset();
  auto run = std::make_unique<Run>();
  run->integers = integers;
  run->recording = context_->ring().device().record(most_bytes_);
  if (run->recording != nullptr) return run;
  const std::lock_guard lock(mutex_);
  --num_busy_;
  return nullptr;
}

void RecordedRuns::put_back(std::unique_ptr<Run> run) {
  const std::lock_guard lock(mutex_);
  idle_.push_front(std::move(run));
}

bool RecordedRuns::record(Run& run, const std::vector<Input>& inputs, const Execute& execute) const {
  std::vector<Input> own = inputs;
  for (Input& input : own) {
    Ciphertexts* const array = std::get_if<Ciphertexts>(&input);
    if (array == nullptr) continue;
    for (Ciphertext& x : *array) {
      run.inputs.push_back(copy(*x.residues));
      x.residues = run.inputs.back();
    }
  }
  run.recording->begin();
  run.outputs = execute(std::move(own), run);
  return run.recording->end() && !passes_inputs(run);
}

std::shared_ptr<RnsPolys> RecordedRuns::copy(const RnsPolys& residues) const {
  const Ring& ring = context_->ring();
  auto made = std::make_shared<RnsPolys>(ring, residues.limbs(), residues.polys());
  ring.kernels().copy(ring.queue(), made->view(), residues.view());
  return made;
}

}  // namespace lw
