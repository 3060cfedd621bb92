// Plans and the executor in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/buffers.hpp"
#include "bindings/rlwe_types.hpp"
#include "exec/executor.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

/// The executor and the Python callable that its constants come from. The callable often belongs to an object
/// that holds this one, so the garbage collector must see it.
struct PyExecutor {
  std::shared_ptr<const Context> context;
  nb::object constants;
  std::shared_ptr<PlaintextProvider> plaintexts;
  std::unique_ptr<Executor> executor;
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  Py_VISIT(nb::inst_ptr<PyExecutor>(self)->constants.ptr());
  return 0;
}

int clear(PyObject* self) {
  nb::inst_ptr<PyExecutor>(self)->constants.reset();
  return 0;
}

PyType_Slot kExecutorSlots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

void init_executor(PyExecutor* self, std::shared_ptr<const Context> context, std::shared_ptr<const Plan> plan,
                   const PyEvaluationKeys& keys, nb::object constants, std::size_t budget_bytes) {
  auto provider = std::make_shared<ResidentKeys>(keys.value, context->shared_parameters());
  // `self` stays where it is while Python holds it, and outlives the provider.
  ConstantSource source = [self](std::uint32_t constant) {
    nb::gil_scoped_acquire acquired;
    if (!self->constants.is_valid() || self->constants.is_none()) {
      throw Error(ErrorKind::kValue, "the plan has constants, but no source of them was given");
    }
    return to_complex(self->constants(constant));
  };
  auto plaintexts = std::make_shared<PlaintextProvider>(context, std::move(source), budget_bytes);
  auto executor = std::make_unique<Executor>(context, std::move(plan), std::move(provider), plaintexts);
  new (self) PyExecutor{std::move(context), std::move(constants), std::move(plaintexts), std::move(executor)};
}

std::vector<Input> to_inputs(const nb::list& inputs) {
  std::vector<Input> values;
  for (const nb::handle input : inputs) {
    if (nb::isinstance<PyCiphertext>(input)) {
      values.emplace_back(nb::cast<const PyCiphertext&>(input).value);
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
    observers.on_watch = [&](std::uint32_t reg, const Ciphertext& value) {
      nb::gil_scoped_acquire acquired;
      on_watch(reg, PyCiphertext{self.context, value});
    };
  }
  std::vector<Input> values = to_inputs(inputs);
  nb::list outputs;
  for (Ciphertext& value : unlocked([&] { return self.executor->run(std::move(values), observers); })) {
    outputs.append(PyCiphertext{self.context, std::move(value)});
  }
  return outputs;
}

nb::dict opcodes() {
  nb::dict numbers;
  for (std::size_t i = 0; i < opcode_table().size(); ++i) numbers[opcode_table()[i].name] = i;
  return numbers;
}

nb::list plan_keys(const Plan& plan) {
  nb::list list;
  for (const KeySpec& spec : plan.keys()) list.append(spec_dict(spec));
  return list;
}

}  // namespace

void bind_exec(nb::module_& m) {
  m.def("opcodes", &opcodes, "Opcode name -> number, as plan code has it.");
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
           "constant_budget_bytes"_a = std::size_t{1} << 30,
           "constants(i) gives the slot vector of constant i; encoded ones are cached within the budget.")
      .def("run", &run, "inputs"_a, "on_event"_a.none() = nb::none(), "watch"_a = std::vector<std::uint32_t>(),
           "on_watch"_a.none() = nb::none(),
           "Ciphertexts and trip counts in, ciphertexts out. on_event(op, block, instruction, level, start_ns, end_ns) "
           "after each instruction; on_watch(register, ciphertext) for each value of a watched register.")
      .def_prop_ro("cached_constant_bytes", [](const PyExecutor& self) { return self.plaintexts->cached_bytes(); });
}

}  // namespace lw
