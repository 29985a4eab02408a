// Shared libraries of a CUDA toolkit, which a process loads when it first needs them.
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
  // "cublas", of the first of the versions that there is; also where toolkits are installed and the
  // linker does not look.
  template <class... Versions>
  explicit Library(const std::string& name, Versions... versions) {
    for (const int version : {versions...})
      for (const char* folder : {"", "/usr/local/cuda/lib64/"})
        if (!library_)
          library_ = dlopen((folder + ("lib" + name + ".so." + std::to_string(version))).c_str(),
                            RTLD_NOW | RTLD_LOCAL);
  }
  // nullptr, and is_whole() false from then on, where there is none.
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

// "cuBLAS 13.1.0", as its function for properties says.
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

// One Handle for each device, which lasts as long as the process: at its end the driver may be gone
// before it. A library is called by one thread at a time; its calls do not wait for the device.
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

// Memory of the device for as long as the object lasts.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(std::size_t bytes, Stream stream) {
    check(cudaMallocAsync(&data_, bytes ? bytes : 1, static_cast<cudaStream_t>(stream)), "memory");
  }
  ~DeviceMemory() { (void)cudaFree(data_); }  // when all that uses it has ended
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
