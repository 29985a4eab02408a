// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/version.h"
#include "python/src/bindings.h"

NB_MODULE(_native, m) {
  using namespace sten;
  python::bind_errors(m);
  python::bind_tensor(m);
  python::bind_files(m);
  python::bind_programs(m);
  python::bind_linear(m);
  m.def("version", [] { return std::string(version()); });
  m.def("threads", &threads);
  m.def("set_threads", [](int n) {
    if (n < 1) fail_usage("threads must be at least 1, got {}", n);
    set_threads(n);
  });
  m.def("dense_libraries", [] {
    std::vector<std::string> names;
    for (const DenseLibrary& library : dense_libraries()) names.emplace_back(library.name);
    return names;
  });
}
