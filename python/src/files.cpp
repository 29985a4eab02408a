// SPDX-License-Identifier: Apache-2.0
// Checkpoints.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "libsten/files/checkpoint/named_tensors.h"
#include "libsten/programs/tensors/tensor_programs.h"
#include "python/src/bindings.h"

namespace sten::python {
namespace {

TensorList load(const std::string& path) {
  const nb::gil_scoped_release run;
  const Checkpoint file = Checkpoint::open(path);
  TensorList all;
  for (const CheckpointTensor& t : file.tensors()) all.emplace_back(t.name, file.load(t));
  return all;
}

void save(const std::string& path, const TensorList& tensors, bool overwrite) {
  const nb::gil_scoped_release run;
  save_tensors(path, NamedTensors(tensors.begin(), tensors.end()), overwrite);
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def("load", &load);
  m.def("save", &save);
}

}  // namespace sten::python
