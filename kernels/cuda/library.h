// SPDX-License-Identifier: Apache-2.0
// Shared libraries of the CUDA toolkit, loaded at first use.
#pragma once
#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "kernels/block/grid.h"
#include "kernels/cuda/check.cuh"

namespace sten::kernels::cuda {

class Library {
 public:
  // Loads the first available version of a library, such as "cublas", also from toolkit directories
  // that the linker does not search.
  template <class... Versions>
  explicit Library(const std::string& name, Versions... versions) {
    for (const int version : {versions...})
      for (const char* folder : {"", "/usr/local/cuda/lib64/"})
        if (!library_)
          library_ = dlopen((folder + ("lib" + name + ".so." + std::to_string(version))).c_str(),
                            RTLD_NOW | RTLD_LOCAL);
  }
  // Looks up a function. If it is missing, sets nullptr, and is_whole() becomes false.
  template <class F>
  void find(F*& function, const char* name) {
    function = library_ ? reinterpret_cast<F*>(dlsym(library_, name)) : nullptr;
    is_whole_ = is_whole_ && function;
  }
  bool is_whole() const { return library_ && is_whole_; }

 private:
  void* library_ = nullptr;
  bool is_whole_ = true;
};

// Name and version, "cuBLAS 13.1.0", from the library's property function.
template <class F>
std::string name_of_library(const char* name, F* get_property) {
  std::string all = name;
  char before = ' ';
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int value = 0;
    get_property(part, &value);
    all += before + std::to_string(value);
    before = '.';
  }
  return all;
}

// One Handle per device. Handles live as long as the process, because the driver can be unloaded
// before static destructors run. A library is called by one thread at a time; the calls do not wait
// for the device.
template <class Handle>
class Handles {
 public:
  template <class Make, class Use>
  void use(Make&& make, Use&& f) {
    int device = 0;
    check(cudaGetDevice(&device), "the current device");
    const std::lock_guard hold(lock_);
    auto at = all_.find(device);
    if (at == all_.end()) at = all_.emplace(device, make()).first;
    f(at->second);
  }

 private:
  std::mutex lock_;
  std::map<int, Handle> all_;
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(std::size_t bytes, Stream stream) {
    check(cudaMallocAsync(&data_, bytes ? bytes : 1, static_cast<cudaStream_t>(stream)), "memory");
  }
  ~DeviceMemory() { (void)cudaFree(data_); }  // waits for all work that uses it
  DeviceMemory(DeviceMemory&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace sten::kernels::cuda
