// Plans and the executor in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

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
struct PyExecutor {
  std::shared_ptr<const Context> context;
  nb::object constants, products;
  std::shared_ptr<PlaintextProvider> plaintexts;
  std::unique_ptr<Executor> executor;
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  Py_VISIT(nb::inst_ptr<PyExecutor>(self)->constants.ptr());
  Py_VISIT(nb::inst_ptr<PyExecutor>(self)->products.ptr());
  return 0;
}

int clear(PyObject* self) {
  nb::inst_ptr<PyExecutor>(self)->constants.reset();
  nb::inst_ptr<PyExecutor>(self)->products.reset();
  return 0;
}

PyType_Slot kExecutorSlots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

using PyMappedKeys = Owned<std::shared_ptr<MappedKeys>>;

using AnyKeys = std::variant<PyEvaluationKeys, PyMappedKeys>;

std::shared_ptr<KeyProvider> provider_of(const AnyKeys& keys, const Context& context) {
  if (const PyMappedKeys* mapped = std::get_if<PyMappedKeys>(&keys)) return mapped->value;
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

void init_executor(PyExecutor* self, std::shared_ptr<const Context> context, std::shared_ptr<const Plan> plan,
                   const AnyKeys& keys, nb::object constants, std::size_t budget_bytes, nb::object products) {
  std::shared_ptr<KeyProvider> provider = provider_of(keys, *context);
  // `self` stays where it is while Python holds it, and outlives the provider.
  ConstantSource source = [self](std::uint32_t constant, std::optional<std::uint32_t> product) {
    nb::gil_scoped_acquire acquired;
    require_source(self->constants, "constants");
    return to_complex(product ? self->constants(constant, *product) : self->constants(constant));
  };
  ProductSource product_source = [self](std::uint32_t constant) {
    nb::gil_scoped_acquire acquired;
    require_source(self->products, "block maps");
    return to_products(self->products(constant));
  };
  auto plaintexts =
      std::make_shared<PlaintextProvider>(context, std::move(source), std::move(product_source), budget_bytes);
  auto executor = std::make_unique<Executor>(context, std::move(plan), std::move(provider), plaintexts);
  new (self) PyExecutor{std::move(context), std::move(constants), std::move(products), std::move(plaintexts),
                        std::move(executor)};
}

/// An array as Python has it: one ciphertext is itself, several are a list.
nb::object output_to_python(const std::shared_ptr<const Context>& context, Ciphertexts array) {
  if (array.size() == 1) return nb::cast(PyCiphertext{context, std::move(array[0])});
  nb::list list;
  for (Ciphertext& value : array) list.append(PyCiphertext{context, std::move(value)});
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

nb::list run(const PyExecutor& self, const nb::list& inputs, const nb::object& on_event,
             std::vector<std::uint32_t> watch, const nb::object& on_watch) {
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
  std::vector<Input> values = to_inputs(inputs);
  nb::list outputs;
  for (Ciphertexts& value : unlocked([&] { return self.executor->run(std::move(values), observers); })) {
    outputs.append(output_to_python(self.context, std::move(value)));
  }
  return outputs;
}

nb::dict opcodes() {
  nb::dict numbers;
  for (std::size_t i = 0; i < opcode_table().size(); ++i) numbers[opcode_table()[i].name] = i;
  return numbers;
}

/// Letters as in the table; the number of immediates is None where any number may be.
nb::dict opcode_signatures() {
  nb::dict signatures;
  for (const OpcodeInfo& op : opcode_table()) {
    const nb::object num_imm = op.num_imm == kAnyNumber ? nb::object(nb::none()) : nb::object(nb::int_(op.num_imm));
    signatures[op.name] = nb::make_tuple(op.in, op.out, num_imm);
  }
  return signatures;
}

nb::list plan_keys(const Plan& plan) {
  nb::list list;
  for (const KeySpec& spec : plan.keys()) list.append(spec_dict(spec));
  return list;
}

nb::dict traffic_of(const PyMappedKeys& self) {
  const KeyTraffic traffic = self.value->traffic();
  nb::dict counts;
  counts["resident_bytes"] = traffic.resident_bytes;
  counts["peak_bytes"] = traffic.peak_bytes;
  counts["loads"] = traffic.loads;
  counts["prefetched"] = traffic.prefetched;
  counts["waits"] = traffic.waits;
  counts["touched_bytes"] = traffic.touched_bytes;
  return counts;
}

nb::list mapped_specs(const PyMappedKeys& self) {
  nb::list list;
  for (std::size_t i = 0; i < self.value->file().size(); ++i) list.append(spec_dict(self.value->file().spec(i)));
  return list;
}

/// Calls `on_read` from whichever thread reads, and lets go of it with the GIL as well.
KeyReadObserver read_observer(nb::object on_read) {
  if (on_read.is_none()) return {};
  const std::shared_ptr<nb::object> held(new nb::object(std::move(on_read)), [](nb::object* object) {
    nb::gil_scoped_acquire acquired;
    delete object;
  });
  return [held](std::size_t key, bool is_ahead) {
    nb::gil_scoped_acquire acquired;
    (*held)(key, is_ahead);
  };
}

/// Without the GIL, for whose sake the thread that is ended may wait in an observer.
void destroy_unlocked(const MappedKeys* keys) {
  if (PyGILState_Check() == 0) {
    delete keys;
  } else {
    nb::gil_scoped_release released;
    delete keys;
  }
}

void bind_mapped_keys(nb::module_& m) {
  nb::class_<PyMappedKeys>(m, "MappedKeys",
                           "Evaluation keys that an executor reads from their file when it needs them, and keeps "
                           "within a budget of bytes in memory.")
      .def(
          "__init__",
          [](PyMappedKeys* self, nb::handle path, std::shared_ptr<const Context> context, std::size_t budget_bytes,
             nb::object on_read) {
            const std::string file = to_path(path);
            KeyReadObserver observer = read_observer(std::move(on_read));
            auto keys = unlocked([&] {
              return std::shared_ptr<MappedKeys>(new MappedKeys(context, file, budget_bytes, std::move(observer)),
                                                 destroy_unlocked);
            });
            new (self) PyMappedKeys{std::move(context), std::move(keys)};
          },
          "path"_a, "context"_a, "budget_bytes"_a, "on_read"_a.none() = nb::none(),
          "on_read(key, is_ahead) before a key is read, on the thread that reads it: its place in specs, and whether "
          "that is ahead of its use. What it raises fails the read.")
      .def_prop_ro("key_set", [](const PyMappedKeys& self) { return to_bytes(self.value->id()); })
      .def_prop_ro("parameters", [](const PyMappedKeys& self) { return to_bytes(self.value->parameters()); })
      .def_prop_ro("specs", &mapped_specs)
      .def_prop_ro(
          "num_bytes", [](const PyMappedKeys& self) { return self.value->traffic().resident_bytes; },
          "Bytes in memory now.")
      .def_prop_ro(
          "traffic", &traffic_of,
          "resident_bytes now, peak_bytes, loads and how many of them were prefetched, waits of who acquired a "
          "key for a read, touched_bytes of the file.")
      .def("__len__", [](const PyMappedKeys& self) { return self.value->file().size(); });
}

}  // namespace

void bind_exec(nb::module_& m) {
  bind_mapped_keys(m);
  m.def("opcodes", &opcodes, "Opcode name -> number, as plan code has it.");
  m.def("opcode_signatures", &opcode_signatures, "Opcode name -> (operand kinds, result kinds, number of immediates).");
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
           "constants(i) gives the slot vector of constant i, or those of an array of plaintexts, one after the other; "
           "encoded ones are cached within the budget. products(i) gives the rows (input, baby, sum) of constant i "
           "that is "
           "a block map, and constants(i, row) what that product is multiplied with.")
      .def("run", &run, "inputs"_a, "on_event"_a.none() = nb::none(), "watch"_a = std::vector<std::uint32_t>(),
           "on_watch"_a.none() = nb::none(),
           "Ciphertexts, lists of them where the plan has arrays, and trip counts in; ciphertexts and lists of them "
           "out. "
           "on_event(op, block, instruction, level, start_ns, end_ns) "
           "after each instruction; on_watch(register, ciphertext or list) for each value of a watched register.")
      .def_prop_ro("cached_constant_bytes", [](const PyExecutor& self) { return self.plaintexts->cached_bytes(); })
      .def_prop_ro(
          "kept_bytes", [](const PyExecutor& self) { return self.executor->kept_bytes(); },
          "Freed memory that stays for the next run: what the last one needed, within what cached constants "
          "leave of their budget.");
}

}  // namespace lw
