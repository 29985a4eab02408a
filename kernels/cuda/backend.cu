#include "kernels/cuda/backend.h"

#include "kernels/cuda/check.cuh"
#include "kernels/cuda/nmg_fit.cuh"

namespace sten::kernels::cuda {
namespace {

void* allocate(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMalloc(&data, bytes), "memory");
  return data;
}
void release(void* data) { (void)cudaFree(data); }
void upload(void* to, const void* from_host, std::size_t bytes) {
  check(cudaMemcpy(to, from_host, bytes, cudaMemcpyHostToDevice), "a copy to the device");
}
void download(void* to_host, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to_host, from, bytes, cudaMemcpyDeviceToHost), "a copy from the device");
}

int devices() {
  int n = 0;
  return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

}  // namespace

const Backend* backend() {
  static const Backend found{devices(), allocate,       release,        upload,
                             download,  nmg_fit<float>, nmg_fit<double>};
  return found.devices > 0 ? &found : nullptr;
}
bool is_built() { return true; }

}  // namespace sten::kernels::cuda
