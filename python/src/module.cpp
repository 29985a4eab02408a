// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/parallel_region.h"
#include "libsten/core/base/version.h"
#include "python/src/bindings.h"

namespace {

// Runs loops on the threads of the OpenMP library that a loaded library uses. False without one.
bool use_threads_of(const std::string& library) {
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!loaded) return false;
  const auto region = reinterpret_cast<sten::ParallelRegion>(dlsym(loaded, "GOMP_parallel"));
  if (region) sten::set_parallel_region(region);
  return region;
}

}  // namespace

NB_MODULE(_native, m) {
  using namespace sten;
  python::bind_errors(m);
  python::bind_tensor(m);
  python::bind_files(m);
  python::bind_programs(m);
  python::bind_linear(m);
  python::bind_model(m);
  m.def("version", [] { return std::string(version()); });
  m.def("threads", &threads);
  m.def("set_threads", [](int n) {
    if (n < 1) fail_usage("threads must be at least 1, got {}", n);
    set_threads(n);
  });
  m.def("use_threads_of", &use_threads_of);
  m.def("dense_libraries", [] {
    std::vector<std::string> names;
    for (const DenseLibrary& library : dense_libraries()) names.emplace_back(library.name);
    return names;
  });
}
