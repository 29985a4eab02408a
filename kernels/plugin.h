// SPDX-License-Identifier: Apache-2.0
// Shared libraries of sten that are loaded at run time, from the folder of libsten.
#pragma once
#include <dlfcn.h>

#include <string>

namespace sten::kernels {

struct Plugin {
  std::string path;
  void* library = nullptr;  // never closed: it may have threads and handlers of its own
  std::string error;        // if it does not load; empty if there is no such file

  template <class F>
  F* symbol(const char* name) const {
    return reinterpret_cast<F*>(dlsym(library, name));
  }
};

// Loads `file` from the folder of libsten, or of the program that is linked with its objects.
Plugin load_plugin(const std::string& file);

}  // namespace sten::kernels
