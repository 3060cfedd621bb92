// Plans and the executor in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <variant>

#include "bindings/bindings.hpp"
#include "bindings/buffers.hpp"
#include "bindings/rlwe_types.hpp"
#include "exec/executor.hpp"
#include "exec/mapped_keys.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

/// The executor and the Python callable that its constants come from. The callable often belongs to an object
/// that holds this one, so the garbage collector must see it.
struct Sources {
  nb::object constants, products;
};
struct PyExecutor {
  std::shared_ptr<const Context> context;
  std::unique_ptr<Sources> sources;
  std::shared_ptr<PlaintextProvider> plaintexts;
  std::unique_ptr<Executor> executor;
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  Py_VISIT(nb::inst_ptr<PyExecutor>(self)->sources->constants.ptr());
  Py_VISIT(nb::inst_ptr<PyExecutor>(self)->sources->products.ptr());
  return 0;
}

int clear(PyObject* self) {
  nb::inst_ptr<PyExecutor>(self)->sources->constants.reset();
  nb::inst_ptr<PyExecutor>(self)->sources->products.reset();
  return 0;
}

PyType_Slot kExecutorSlots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

using PyMappedKeys = Owned<std::shared_ptr<MappedKeys>>;

using AnyKeys = std::variant<PyEvaluationKeys, PyMappedKeys>;

bool is_one_memory(const Context& a, const Context& b) {
  return a.ring().backend().form() == b.ring().backend().form();
}

std::shared_ptr<KeyProvider> provider_of(const AnyKeys& keys, const Context& context) {
  if (const PyMappedKeys* mapped = std::get_if<PyMappedKeys>(&keys)) {
    check_parameters(mapped->value->parameters(), context.parameters(), "Executor: the key set");
    if (!is_one_memory(*mapped->context, context)) {
      throw Error(ErrorKind::kParameterMismatch,
                  "Executor: the keys are read into other memory than that of the context; open them for it");
    }
    return mapped->value;
  }
  return std::make_shared<ResidentKeys>(std::get<PyEvaluationKeys>(keys).value, context.shared_parameters());
}

void require_source(const nb::object& source, const char* what) {
  if (source.is_valid() && !source.is_none()) return;
  throw Error(ErrorKind::kValue, std::string("the plan has ") + what + ", but no source of them was given");
}

std::vector<MapProduct> to_products(nb::handle rows) {
  const nb::object array = nb::module_::import_("numpy").attr("ascontiguousarray")(rows, "uint32");
  const auto view = nb::cast<nb::ndarray<const std::uint32_t, nb::shape<-1, 3>, nb::c_contig>>(array);
  std::vector<MapProduct> products;
  for (std::size_t i = 0; i < view.shape(0); ++i) products.push_back({view(i, 0), view(i, 1), view(i, 2)});
  return products;
}

/// The sources of constants and of products of block maps. What they call stays where it is, and outlives them.
std::pair<ConstantSource, ProductSource> sources_of(const Sources* held) {
  ConstantSource source = [held](std::uint32_t constant, std::optional<std::uint32_t> product) {
    nb::gil_scoped_acquire acquired;
    require_source(held->constants, "constants");
    return to_complex(product ? held->constants(constant, *product) : held->constants(constant));
  };
  ProductSource products = [held](std::uint32_t constant) {
    nb::gil_scoped_acquire acquired;
    require_source(held->products, "block maps");
    return to_products(held->products(constant));
  };
  return {std::move(source), std::move(products)};
}

using PyPrepared = std::shared_ptr<const PreparedConstants>;

PyPrepared open_prepared(nb::handle path, std::shared_ptr<const Context> context, nb::handle plan, std::string build,
                         std::uint64_t budget_bytes) {
  const std::string file = to_path(path);
  const PreparedFor belongs{bytes32(plan, "the plan of prepared constants"), std::move(build)};
  const Tick tick = signal_tick();
  return run_unlocked(
      [&] { return std::make_shared<const PreparedConstants>(std::move(context), file, belongs, budget_bytes, tick); });
}

std::uint64_t prepare(nb::handle path, const std::shared_ptr<const Context>& context, const Plan& plan,
                      nb::object constants, nb::object products, nb::handle plan_id, std::string build,
                      std::size_t budget_bytes, std::vector<double> uses, std::uint64_t most_whole) {
  const std::string file = to_path(path);
  const Sources held{std::move(constants), std::move(products)};
  auto [source, product_source] = sources_of(&held);
  PlaintextProvider provider(context, std::move(source), std::move(product_source), budget_bytes);
  const PreparedFor belongs{bytes32(plan_id, "the plan of prepared constants"), std::move(build)};
  const Tick tick = signal_tick();
  return run_unlocked([&] { return write_prepared(file, *context, plan, provider, uses, most_whole, belongs, tick); });
}

void init_executor(PyExecutor* self, std::shared_ptr<const Context> context, std::shared_ptr<const Plan> plan,
                   const AnyKeys& keys, nb::object constants, std::size_t budget_bytes, nb::object products,
                   const std::optional<std::pair<std::size_t, std::size_t>>& recordings, PyPrepared prepared,
                   bool lifts_late, std::vector<double> uses) {
  std::shared_ptr<KeyProvider> provider = provider_of(keys, *context);
  auto sources = std::make_unique<Sources>(std::move(constants), std::move(products));
  auto [source, product_source] = sources_of(sources.get());
  auto plaintexts = std::make_shared<PlaintextProvider>(context, std::move(source), std::move(product_source),
                                                        budget_bytes, std::move(prepared), lifts_late, std::move(uses));
  const RecordingLimits limits =
      recordings ? RecordingLimits{recordings->first, recordings->second} : RecordingLimits{};
  auto executor = std::make_unique<Executor>(context, std::move(plan), std::move(provider), plaintexts, limits);
  new (self) PyExecutor{std::move(context), std::move(sources), std::move(plaintexts), std::move(executor)};
}

/// An array as Python has it: one ciphertext is itself, several are a list.
nb::object output_to_python(const std::shared_ptr<const Context>& context, Ciphertexts array) {
  if (array.size() == 1) return nb::cast(PyCiphertext{context, std::move(array[0])});
  nb::list list;
  for (Ciphertext& value : array) list.append(PyCiphertext{context, std::move(value)});
  return list;
}

nb::list outputs_to_python(const std::shared_ptr<const Context>& context, std::vector<Ciphertexts> outputs) {
  nb::list list;
  for (Ciphertexts& value : outputs) list.append(output_to_python(context, std::move(value)));
  return list;
}

std::vector<Input> to_inputs(const nb::list& inputs) {
  std::vector<Input> values;
  for (const nb::handle input : inputs) {
    if (nb::isinstance<PyCiphertext>(input)) {
      values.emplace_back(Ciphertexts{nb::cast<const PyCiphertext&>(input).value});
    } else if (nb::isinstance<nb::list>(input)) {
      Ciphertexts array;
      for (const nb::handle item : nb::cast<nb::list>(input))
        array.push_back(nb::cast<const PyCiphertext&>(item).value);
      values.emplace_back(std::move(array));
    } else {
      values.emplace_back(nb::cast<std::int64_t>(input));
    }
  }
  return values;
}

/// A state as Python has it: (place, iterations, of, {register: [ciphertext, ...]}).
nb::tuple state_to_python(const std::shared_ptr<const Context>& context, const RunState& state) {
  nb::dict registers;
  for (const auto& [reg, array] : state.registers) {
    nb::list list;
    for (const Ciphertext& value : array) list.append(PyCiphertext{context, value});
    registers[nb::int_(reg)] = list;
  }
  return nb::make_tuple(state.place, state.iterations, state.of, registers);
}

std::optional<RunState> state_from_python(const nb::object& given) {
  if (given.is_none()) return std::nullopt;
  const auto [place, iterations, of, registers] =
      nb::cast<std::tuple<std::uint32_t, std::int64_t, std::int64_t, nb::dict>>(given);
  RunState state{place, iterations, of, {}};
  for (const auto& [reg, list] : registers) {
    Ciphertexts& array = state.registers[nb::cast<std::uint32_t>(reg)];
    for (const nb::handle item : nb::cast<nb::list>(list)) array.push_back(nb::cast<const PyCiphertext&>(item).value);
  }
  return state;
}

nb::list run(const PyExecutor& self, const nb::list& inputs, const nb::object& on_event,
             std::vector<std::uint32_t> watch, const nb::object& on_watch, const nb::object& on_state,
             const nb::object& from) {
  Observers observers;
  observers.tick = signal_tick();
  observers.watch = std::move(watch);
  if (!on_event.is_none()) {
    observers.on_event = [&on_event](const ExecutionEvent& e) {
      nb::gil_scoped_acquire acquired;
      on_event(e.op, e.block, e.instruction, e.level, e.start_ns, e.end_ns);
    };
  }
  if (!on_watch.is_none()) {
    observers.on_watch = [&](std::uint32_t reg, const Ciphertexts& value) {
      nb::gil_scoped_acquire acquired;
      on_watch(reg, output_to_python(self.context, value));
    };
  }
  if (!on_state.is_none()) {
    observers.on_state = [&](const RunState& state) {
      nb::gil_scoped_acquire acquired;
      on_state(state_to_python(self.context, state));
    };
  }
  std::vector<Input> values = to_inputs(inputs);
  std::optional<RunState> state = state_from_python(from);
  return outputs_to_python(
      self.context, run_unlocked([&] { return self.executor->run(std::move(values), observers, std::move(state)); }));
}

nb::list run_many(const PyExecutor& self, const nb::list& members, std::size_t at_once, const nb::object& on_event,
                  const nb::object& tick) {
  BatchObservers observers;
  observers.tick = signal_tick(tick);
  if (!on_event.is_none()) {
    observers.on_event = [&on_event](std::size_t member, const ExecutionEvent& e) {
      nb::gil_scoped_acquire acquired;
      on_event(member, e.op, e.block, e.instruction, e.level, e.start_ns, e.end_ns);
    };
  }
  std::vector<std::vector<Input>> values;
  for (const nb::handle inputs : members) values.push_back(to_inputs(nb::cast<nb::list>(inputs)));
  nb::list outputs;
  for (std::vector<Ciphertexts>& of_one :
       run_unlocked([&] { return self.executor->run_many(std::move(values), at_once, observers); })) {
    outputs.append(outputs_to_python(self.context, std::move(of_one)));
  }
  return outputs;
}

nb::dict opcodes() {
  nb::dict numbers;
  for (std::size_t i = 0; i < std::size(kOpcodes); ++i) numbers[kOpcodes[i].name] = i;
  return numbers;
}

nb::dict opcode_signatures() {
  const auto letters = [](std::string_view kinds) { return std::string(kinds); };
  nb::dict signatures;
  for (const OpcodeInfo& op : kOpcodes) {
    std::vector<std::string> schemes;
    if (op.schemes != Schemes::kBfv) schemes.push_back("ckks");
    if (op.schemes != Schemes::kCkks) schemes.push_back("bfv");
    signatures[op.name] =
        nb::make_tuple(letters(op.in), letters(op.out), letters(op.imm), nb::tuple(nb::cast(schemes)));
  }
  return signatures;
}

nb::list plan_keys(const Plan& plan) {
  nb::list list;
  for (const KeySpec& spec : plan.keys()) list.append(spec_dict(spec));
  return list;
}

nb::dict traffic_of(const PyMappedKeys& self) {
  const KeyTraffic traffic = run_unlocked([&] { return self.value->traffic(); });  // its lock is held by readers
  nb::dict counts;
  counts["resident_bytes"] = traffic.resident_bytes;
  counts["peak_bytes"] = traffic.peak_bytes;
  counts["loads"] = traffic.loads;
  counts["hits"] = traffic.hits;
  counts["prefetched"] = traffic.prefetched;
  counts["stalls"] = traffic.stalls;
  counts["stall_s"] = static_cast<double>(traffic.stall_ns) * 1e-9;
  counts["held_rows"] = traffic.held_limbs;
  counts["row_bytes"] = traffic.limb_bytes;
  counts["budget_bytes"] = self.value->budget_bytes();
  counts["touched_bytes"] = traffic.touched_bytes;
  return counts;
}

nb::list mapped_specs(const PyMappedKeys& self) {
  nb::list list;
  for (std::size_t i = 0; i < self.value->file().size(); ++i) list.append(spec_dict(self.value->file().spec(i)));
  return list;
}

/// An object of Python that other threads call, and that is let go of with the GIL as well.
std::shared_ptr<nb::object> shared_object(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            nb::gil_scoped_acquire acquired;
            delete held;
          }};
}

/// Calls `on_read` from whichever thread reads.
KeyReadObserver read_observer(nb::object on_read) {
  if (on_read.is_none()) return {};
  return [held = shared_object(std::move(on_read))](std::size_t key, bool is_ahead) {
    nb::gil_scoped_acquire acquired;
    (*held)(key, is_ahead);
  };
}

/// Calls `on_wait` from the thread of the run that waits.
KeyWaitObserver wait_observer(nb::object on_wait) {
  if (on_wait.is_none()) return {};
  return [held = shared_object(std::move(on_wait))](std::chrono::nanoseconds waited) {
    nb::gil_scoped_acquire acquired;
    (*held)(static_cast<double>(waited.count()) * 1e-9);
  };
}

/// Destroys keys without the GIL, for which the thread that is ended may wait in an observer.
void destroy_unlocked(const MappedKeys* keys) {
  if (PyGILState_GetThisThreadState() == nullptr) {  // a thread that Python does not know
    delete keys;
  } else {
    const nb::gil_scoped_acquire held;  // by this thread already, or not: the stable ABI does not tell
    const nb::gil_scoped_release released;
    delete keys;
  }
}

PyMappedKeys mapped_on(const PyMappedKeys& self, std::shared_ptr<const Context> context) {
  if (is_one_memory(*self.context, *context)) return self;
  auto keys =
      run_unlocked([&] { return std::shared_ptr<MappedKeys>(new MappedKeys(*self.value, context), destroy_unlocked); });
  return {std::move(context), std::move(keys)};
}

void bind_mapped_keys(nb::module_& m) {
  nb::class_<PyMappedKeys>(m, "MappedKeys",
                           "Evaluation keys that an executor reads from their file when it needs them, and keeps "
                           "within a budget of bytes in memory.")
      .def(
          "__init__",
          [](PyMappedKeys* self, nb::handle path, std::shared_ptr<const Context> context, std::size_t budget_bytes,
             nb::object on_read, unsigned readers, std::size_t most_limbs, double deadline_s, nb::object on_wait,
             double tell_every_s) {
            if (most_limbs == 0) throw Error(ErrorKind::kValue, "MappedKeys: a window needs at least one limb");
            const std::string file = to_path(path);
            const auto milliseconds = [](double seconds) {
              return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
            };
            const KeyReading reading{budget_bytes, readers, most_limbs, milliseconds(deadline_s),
                                     milliseconds(tell_every_s)};
            KeyReadObserver reads = read_observer(std::move(on_read));
            KeyWaitObserver waits = wait_observer(std::move(on_wait));
            auto keys = run_unlocked([&] {
              return std::shared_ptr<MappedKeys>(
                  new MappedKeys(context, file, reading, std::move(reads), std::move(waits)), destroy_unlocked);
            });
            new (self) PyMappedKeys{std::move(context), std::move(keys)};
          },
          "path"_a, "context"_a, "budget_bytes"_a, "on_read"_a.none() = nb::none(), "readers"_a = 1,
          "most_limbs"_a = 16, "deadline_s"_a = 60.0, "on_wait"_a.none() = nb::none(), "tell_every_s"_a = 1.0,
          "on_read(key, is_ahead) before a key is read, on the thread that reads it: its place in specs, and whether "
          "that is ahead of its use. What it raises fails the read. on_wait(seconds) while a run waits for a reader, "
          "on its thread, each time that so many more have gone; what it raises ends the run.")
      .def("on", &mapped_on, "context"_a,
           "The same keys read into the memory of another context, within the same budget anew; these, if it is the "
           "same memory.")
      .def_prop_ro("key_set", [](const PyMappedKeys& self) { return to_bytes(self.value->id()); })
      .def_prop_ro("parameters", [](const PyMappedKeys& self) { return to_bytes(self.value->parameters()); })
      .def_prop_ro("specs", &mapped_specs)
      .def_prop_ro(
          "num_bytes",
          [](const PyMappedKeys& self) { return run_unlocked([&] { return self.value->traffic().resident_bytes; }); },
          "Bytes in memory now.")
      .def_prop_ro(
          "traffic", &traffic_of,
          "budget_bytes, resident_bytes now, peak_bytes, held_rows of runs under way, row_bytes of one row of a key (a "
          "digit at a limb), loads of rows and how many of them were prefetched, hits: rows of windows that were there "
          "already, stalls of runs that waited for rows and stall_s, touched_bytes of the file.")
      .def("__len__", [](const PyMappedKeys& self) { return self.value->file().size(); });
}

}  // namespace

void bind_exec(nb::module_& m) {
  bind_mapped_keys(m);
  nb::class_<PreparedConstants>(m, "PreparedConstants", "Encoded constants of a plan, in memory that processes share.")
      .def_prop_ro("num_bytes", &PreparedConstants::num_bytes, "Bytes of memory, however many processes share it.");
  m.def("open_prepared", &open_prepared, "path"_a, "context"_a, "plan_id"_a, "build"_a,
        "budget_bytes"_a = std::uint64_t{1} << 62,
        "Constants that prepare wrote for the same plan, build, backend and instruction set, as many as the budget "
        "holds; every one verified.");
  m.def("prepare", &prepare, "path"_a, "context"_a, "plan"_a, "constants"_a, "products"_a, "plan_id"_a, "build"_a,
        "budget_bytes"_a, "uses"_a = std::vector<double>(), "most_whole"_a = std::uint64_t{1} << 62,
        "Encode all constants of a plan and write them to a file, as coefficients and, up to `most_whole` bytes, as "
        "whole "
        "plaintexts, those first that a run uses most; returns its bytes. Sources as those of an executor.");
  m.def("opcodes", &opcodes, "Opcode name -> number, as plan code has it.");
  m.def("opcode_signatures", &opcode_signatures,
        "Opcode name -> (kinds of operands, of results, of immediates, in letters of opcodes.def; schemes that have "
        "it).");
  nb::class_<Plan>(m, "Plan", "Checked code of one program.")
      .def(
          "__init__",
          [](Plan* self, std::shared_ptr<const Parameters> parameters, nb::handle code) {
            const BytesView view(code);
            nb::gil_scoped_release released;
            new (self) Plan(std::move(parameters), view.span());
          },
          "parameters"_a, "code"_a)
      .def_prop_ro("keys", &plan_keys)
      .def_prop_ro("num_constants", &Plan::num_constants)
      .def_prop_ro("num_registers", &Plan::num_registers)
      .def_prop_ro("num_inputs", [](const Plan& self) { return self.body().args.size(); })
      .def_prop_ro("num_outputs", [](const Plan& self) { return self.body().code.back().in.size(); });
  nb::class_<PyExecutor>(m, "Executor", nb::type_slots(kExecutorSlots), "Runs one plan under one key set.")
      .def("__init__", &init_executor, "context"_a, "plan"_a, "keys"_a, "constants"_a.none() = nb::none(),
           "constant_budget_bytes"_a = std::size_t{1} << 30, "products"_a.none() = nb::none(),
           "recordings"_a.none() = nb::none(), "prepared"_a.none() = nb::none(), "lifts_late"_a = false,
           "uses"_a = std::vector<double>(),
           "constants(i) gives the slot vector of constant i, or those of an array of plaintexts, one after the other; "
           "encoded ones are cached within the budget. products(i) gives the rows (input, baby, sum) of constant i "
           "that is "
           "a block map, and constants(i, row) what that product is multiplied with. lifts_late: sums of products "
           "transform the coefficients of plaintexts that are not cached, a few limbs at a time, on a host. "
           "uses: of each constant in a run; whole plaintexts of those that have most stay.")
      .def("run", &run, "inputs"_a, "on_event"_a.none() = nb::none(), "watch"_a = std::vector<std::uint32_t>(),
           "on_watch"_a.none() = nb::none(), "on_state"_a.none() = nb::none(), "from_state"_a.none() = nb::none(),
           "Ciphertexts, lists of them where the plan has arrays, and trip counts in; ciphertexts and lists of them "
           "out. "
           "on_event(op, block, instruction, level, start_ns, end_ns) "
           "after each instruction; on_watch(register, ciphertext or list) for each value of a watched register; "
           "on_state((place, iterations, of, {register: [ciphertext, ...]})) after each iteration of a loop of the "
           "body, "
           "and, with 0 of 0 iterations, before some of its instructions: a state that a later run of the same inputs "
           "may be given to go on from.")
      .def(
          "check", [](const PyExecutor& self, const nb::list& inputs) { self.executor->check(to_inputs(inputs)); },
          "inputs"_a, "Raises what run does before any work.")
      .def("run_many", &run_many, "members"_a, "at_once"_a, "on_event"_a.none() = nb::none(),
           "tick"_a.none() = nb::none(),
           "The inputs of several runs in, the outputs of each out. Up to so many go through the plan together where "
           "keys are in their file, and each window of them is read once for all these. on_event(member, ...) as of "
           "run, on any thread, one at a time. tick() now and then, on the thread that waits: what it raises ends all.")
      .def_prop_ro("cached_constant_bytes", [](const PyExecutor& self) { return self.plaintexts->cached_bytes(); })
      .def_prop_ro(
          "key_need",
          [](const PyExecutor& self) {
            const KeyNeed& need = self.executor->key_need();
            return nb::make_tuple(need.bytes, need.block, need.instruction);
          },
          "The fewest bytes of keys in memory with which the plan runs, and the block and instruction that they are "
          "for; no bytes where all keys are there.")
      .def_prop_ro(
          "kept_bytes", [](const PyExecutor& self) { return self.executor->kept_bytes(); },
          "Freed memory that stays for the next run: what the last one needed, within what cached constants "
          "leave of their budget.");
}

}  // namespace lw
