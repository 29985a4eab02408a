// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "kernels/cuda/check.cuh"
#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"

namespace sten::kernels::cuda {
// The compiler would put the folder of the build into the name of an unnamed namespace.
inline namespace memory_file {

cudaStream_t of(Stream stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

void use(int device) {
  check(cudaSetDevice(device), "a device");
  // Released memory stays in the pool.
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, device), "its memory");
  std::uint64_t all = ~std::uint64_t{0};
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "its memory");
}

DeviceInfo info(int device) {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, device), "a device's properties");
  return {p.name, p.totalGlobalMem, static_cast<std::size_t>(p.l2CacheSize), p.multiProcessorCount};
}

std::size_t unused() {
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "free memory");
  return free;
}

void* allocate(std::size_t bytes, Stream stream) {
  void* data = nullptr;
  check(cudaMallocAsync(&data, bytes, of(stream)), "memory");
  return data;
}
void release(void* data, Stream stream) { (void)cudaFreeAsync(data, of(stream)); }

void* allocate_pinned(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMallocHost(&data, bytes), "pinned memory");
  return data;
}
void release_pinned(void* data) { (void)cudaFreeHost(data); }

void upload(void* to, const void* from, std::size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, of(stream)),
        "a copy to the device");
}
void download(void* to, const void* from, std::size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, of(stream)),
        "a copy from the device");
}
void copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, of(stream)),
        "a copy on the device");
}
void clear(void* to, std::size_t bytes, Stream stream) {
  check(cudaMemsetAsync(to, 0, bytes, of(stream)), "zeros on the device");
}
void wait(Stream stream) { check(cudaStreamSynchronize(of(stream)), "a kernel"); }

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  return stream;
}
void end_stream(Stream stream) { (void)cudaStreamDestroy(of(stream)); }

void* make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "an event");
  return event;
}
void end_event(void* event) { (void)cudaEventDestroy(event_of(event)); }
void record(void* event, Stream stream) {
  check(cudaEventRecord(event_of(event), of(stream)), "an event");
}
void wait_for_event(void* event) { check(cudaEventSynchronize(event_of(event)), "a kernel"); }
double milliseconds(void* event, void* later) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, event_of(event), event_of(later)), "the time between events");
  return ms;
}

std::atomic<const ScratchFunctions*> scratch = nullptr;
void use_scratch(const ScratchFunctions* f) { scratch = f; }

}  // namespace memory_file

const ScratchFunctions* scratch_functions() { return scratch; }

MemoryFunctions make_memory() {
  return {
      use,        info,      unused, allocate,       release,      allocate_pinned, release_pinned,
      upload,     download,  copy,   clear,          wait,         make_stream,     end_stream,
      make_event, end_event, record, wait_for_event, milliseconds, use_scratch};
}

}  // namespace sten::kernels::cuda
