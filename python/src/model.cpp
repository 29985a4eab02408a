// SPDX-License-Identifier: Apache-2.0
// Models that run on arrays.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "libsten/programs/run/model_runner.h"
#include "libsten/programs/tensors/tensor_programs.h"
#include "python/src/bindings.h"

namespace sten::python {
namespace {

using Texts = std::vector<std::string>;

TensorList run_model(ModelRunner& model, const TensorList& arrays) {
  std::vector<GivenArray> given;
  for (const auto& [name, x] : arrays)
    given.push_back({name, x.to_dense(), name.empty() ? "the array" : name, name});
  NamedValues<Tensor> outputs = model.run(given);
  TensorList all;
  for (const std::string& name : model.outputs())
    all.emplace_back(name, std::move(outputs.at(name)));
  return all;
}

}  // namespace

void bind_model(nb::module_& m) {
  const auto run = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<ExecutionStep>(m, "ExecutionStep")
      .def_ro("nodes", &ExecutionStep::nodes)
      .def_ro("runs", &ExecutionStep::runs)
      .def_ro("layout", &ExecutionStep::layout)
      .def_ro("why", &ExecutionStep::why)
      .def_ro("seconds", &ExecutionStep::seconds);
  nb::class_<ModelRunner>(m, "ModelRunner")
      .def(
          "__init__",
          [](ModelRunner* self, std::string path, std::string config, Texts layouts,
             Texts precision) {
            new (self) ModelRunner({.path = std::move(path),
                                    .config = std::move(config),
                                    .layouts = std::move(layouts),
                                    .precision = std::move(precision)});
          },
          run)
      .def("inputs", &ModelRunner::inputs)
      .def("outputs", &ModelRunner::outputs)
      .def("run", &run_model, run)
      .def("plan", [](const ModelRunner& model) { return model.plan().steps; });
}

}  // namespace sten::python
