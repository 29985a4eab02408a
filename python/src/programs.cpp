// SPDX-License-Identifier: Apache-2.0
// Pruning, conversion and energy of tensors in memory.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "libsten/programs/tensors/tensor_programs.h"
#include "python/src/bindings.h"

namespace sten::python {
namespace {

using Texts = std::vector<std::string>;

void bind_settings(nb::module_& m) {
  nb::class_<PruneSettings>(m, "PruneSettings")
      .def(nb::init<>())
      .def_rw("sparsity", &PruneSettings::sparsity)
      .def_rw("method", &PruneSettings::method)
      .def_rw("at", &PruneSettings::at)
      .def_rw("scope", &PruneSettings::scope)
      .def_rw("structure", &PruneSettings::structure)
      .def_rw("to", &PruneSettings::to)
      .def_rw("nan", &PruneSettings::nan)
      .def_rw("seed", &PruneSettings::seed);
}

void bind_energy(nb::module_& m) {
  nb::class_<TensorEnergy>(m, "TensorEnergy")
      .def_ro("name", &TensorEnergy::name)
      .def_ro("elements", &TensorEnergy::elements)
      .def_ro("nnz", &TensorEnergy::nnz)
      .def_ro("zeros", &TensorEnergy::zeros)
      .def_ro("nbytes", &TensorEnergy::bytes)
      .def_ro("energy", &TensorEnergy::energy);
  m.def(
      "tensor_energies",
      [](const TensorList& model, const std::optional<TensorList>& original, const Texts& include,
         const Texts& exclude) {
        return tensor_energies(model, original ? &*original : nullptr, {include, exclude});
      },
      nb::call_guard<nb::gil_scoped_release>(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
  m.def("tensor_energy", &tensor_energy, nb::call_guard<nb::gil_scoped_release>(), nb::arg(),
        nb::arg().none());
}

}  // namespace

void bind_programs(nb::module_& m) {
  const auto run = nb::call_guard<nb::gil_scoped_release>();
  bind_settings(m);
  bind_energy(m);
  m.def(
      "prune_tensors",
      [](const TensorList& model, const PruneSettings& settings, const Texts& include,
         const Texts& exclude, const Texts& rules) {
        return prune_tensors(model, settings, {include, exclude}, rules);
      },
      run);
  m.def("prune_tensor", &prune_tensor, run);
  m.def(
      "convert_tensors",
      [](const TensorList& model, const std::string& to, const Texts& include, const Texts& exclude,
         bool lossless) {
        return convert_tensors(model, to, {include, exclude}, lossless);
      },
      run);
  m.def(
      "convert_tensor",
      [](const Tensor& x, const std::string& to, bool lossless) {
        return convert_tensor(x, to, lossless);
      },
      run);
  m.def("matching_names", &matching_names, run);
}

}  // namespace sten::python
