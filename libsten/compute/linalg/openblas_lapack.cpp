// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>
#include <dlfcn.h>

#include <optional>
#include <string>

#include "libsten/compute/linalg/cholesky.h"
#include "libsten/compute/linalg/dense_library.h"

namespace sten {
namespace {

template <class F>
bool find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  return function;
}

template <class T>
bool find_all(void* library, char letter, linalg_detail::LapackOf<T>& of) {
  const auto name = [&](const char* rest) { return std::string(1, letter) + rest; };
  return find(library, name("potrf_").c_str(), of.potrf) &&
         find(library, name("potri_").c_str(), of.potri) &&
         find(library, name("trtri_").c_str(), of.trtri) &&
         find(library, name("potrs_").c_str(), of.potrs);
}

decltype(&openblas_get_num_threads) get_threads;
decltype(&openblas_set_num_threads) set_threads;

std::optional<linalg_detail::Lapack> load() {
  if (!find_dense_library("OpenBLAS")) return std::nullopt;  // loads it with the right core type
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  linalg_detail::Lapack found;
  if (!library || !find(library, "openblas_get_num_threads", get_threads) ||
      !find(library, "openblas_set_num_threads", set_threads) ||
      !find_all(library, 's', found.single_) || !find_all(library, 'd', found.double_))
    return std::nullopt;
  found.use_one_thread = [] {
    linalg_detail::check_openblas_room();
    if (get_threads() != 1) set_threads(1);
  };
  return found;
}

}  // namespace

const linalg_detail::Lapack* linalg_detail::lapack() {
  static const std::optional<Lapack> found = load();
  return found ? &*found : nullptr;
}

}  // namespace sten
