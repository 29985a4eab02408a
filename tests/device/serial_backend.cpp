// SPDX-License-Identifier: Apache-2.0
#include "tests/device/serial_backend.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "kernels/block/elementwise/elementwise.h"
#include "kernels/block/nm.h"
#include "kernels/block/nmg/nmg_prune.h"
#include "kernels/block/product/products.h"
#include "kernels/cuda/backend.h"
#include "tests/device/serial_memory.h"
#include "tests/device/serial_tables.h"

namespace sten::testing {
namespace {

using namespace kernels;
using Open = SerialMemory::Open;
using Clock = std::chrono::steady_clock;

SerialMemory& device() { return SerialMemory::of_device(); }

// ---- memory, streams and events

void check_device(int index) {
  if (index != 0) throw std::runtime_error("there is one device");
}
void use(int index) { check_device(index); }
cuda::DeviceInfo info(int index) {
  check_device(index);
  return {"the CPU, one thread after the other", device().limit, std::size_t{1} << 20, 1};
}
std::size_t unused() { return device().unused(); }

void* allocate(std::size_t bytes, Stream) { return device().allocate(bytes); }
void release(void* data, Stream) { device().release(data); }
void* allocate_pinned(std::size_t bytes) {
  void* data = std::malloc(bytes);
  if (!data) throw std::bad_alloc();
  const std::lock_guard hold(device().lock);
  ++device().live.pinned;
  return data;
}
void release_pinned(void* data) {
  std::free(data);
  const std::lock_guard hold(device().lock);
  --device().live.pinned;
}

void upload(void* to, const void* from, std::size_t bytes, Stream) {
  const Open open;
  ++device().uploads;
  if (bytes) std::memcpy(to, from, bytes);
}
void download(void* to, const void* from, std::size_t bytes, Stream) {
  const Open open;
  ++device().downloads;
  if (bytes) std::memcpy(to, from, bytes);
}
void copy(void* to, const void* from, std::size_t bytes, Stream) {
  const Open open;
  if (bytes) std::memcpy(to, from, bytes);
}
void clear(void* to, std::size_t bytes, Stream) {
  const Open open;
  if (bytes) std::memset(to, 0, bytes);
}
void wait(Stream) {}

template <class T>
void* make(std::size_t& count) {
  const std::lock_guard hold(device().lock);
  ++count;
  return new T{};
}
template <class T>
void end(std::size_t& count, void* object) {
  const std::lock_guard hold(device().lock);
  --count;
  delete static_cast<T*>(object);
}
struct Queue {};
Stream make_stream() { return make<Queue>(device().live.streams); }
void end_stream(Stream stream) { end<Queue>(device().live.streams, stream); }
void* make_event() { return make<Clock::time_point>(device().live.events); }
void end_event(void* event) { end<Clock::time_point>(device().live.events, event); }
void record(void* event, Stream) { *static_cast<Clock::time_point*>(event) = Clock::now(); }
void wait_for_event(void*) {}
double milliseconds(void* event, void* later) {
  return std::chrono::duration<double, std::milli>(*static_cast<Clock::time_point*>(later) -
                                                   *static_cast<Clock::time_point*>(event))
      .count();
}

void use_scratch(const cuda::ScratchFunctions*) {}  // a SerialGrid has memory of its own

constexpr cuda::MemoryFunctions memory{
    use,        info,      unused, allocate,       release,      allocate_pinned, release_pinned,
    upload,     download,  copy,   clear,          wait,         make_stream,     end_stream,
    make_event, end_event, record, wait_for_event, milliseconds, use_scratch};

// ---- kernels

const ElementwiseFunctions elementwise_table = elementwise_functions<SerialGrid>();
const NmFunctions nm_table = nm_functions<SerialGrid>();
const NmgFunctions nmg_table = nmg_functions<SerialGrid>();
const ProductFunctions product_table = product_functions<SerialGrid>();

// A PreparedProduct that opens the memory while it runs.
struct OpenProduct : PreparedProduct {
  std::unique_ptr<PreparedProduct> product;
  explicit OpenProduct(PreparedProduct* p) : product(p) { ++device().live.products; }
  ~OpenProduct() override {
    const std::lock_guard hold(device().lock);
    --device().live.products;
  }
  void run(const ProductOperands& x, Stream stream) override {
    const Open open;
    product->run(x, stream);
  }
};
PreparedProduct* csr(std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                     const std::int64_t* row_ptr, const std::int32_t* columns, const float* values,
                     Stream stream) {
  const Open open;
  return new OpenProduct(product_table.csr(rows, cols, nnz, row_ptr, columns, values, stream));
}

cuda::Backend make_backend() {
  using E = ElementwiseFunctions;
  using N = NmFunctions;
  using G = NmgFunctions;
  using P = ProductFunctions;
  cuda::Backend all{};
  all.devices = 1;
  all.memory = memory;
  all.elementwise = {with_memory<elementwise_table, &E::keep_largest>(),
                     with_memory<elementwise_table, &E::nonzero_bits>(),
                     with_memory<elementwise_table, &E::mask_values>(),
                     with_memory<elementwise_table, &E::compress>(),
                     with_memory<elementwise_table, &E::expand>(),
                     with_memory<elementwise_table, &E::count_bits>(),
                     with_memory<elementwise_table, &E::count_key>(),
                     with_memory<elementwise_table, &E::count_nonzero>(),
                     with_memory<elementwise_table, &E::first_not_finite>(),
                     with_memory<elementwise_table, &E::sum_magnitudes>()};
  all.nm = {with_memory<nm_table, &N::select>(), with_memory<nm_table, &N::pack>(),
            with_memory<nm_table, &N::unpack>()};
  all.nmg = {nmg_table.has_room, with_memory<nmg_table, &G::prune>(),
             with_memory<nmg_table, &G::unpack>(), with_memory<nmg_table, &G::gather>()};
  all.maps = serial_maps();
  all.rows = serial_rows();
  all.gemm = serial_gemm();
  all.steps = serial_steps();
  all.windows = serial_windows();
  all.products = {product_table.dense_library, with_memory<product_table, &P::nmg>(),
                  with_memory<product_table, &P::nmg_transposed>(), product_table.csr_library, csr};
  return all;
}

}  // namespace

SerialDevice::SerialDevice(std::size_t memory) {
  if (is_replaced()) return;
  static const cuda::Backend backend = make_backend();
  limit(memory);
  device().most_bytes = device().live.bytes;
  device().uploads = device().downloads = 0;
  cuda::set_backend(&backend);
}
SerialDevice::~SerialDevice() { cuda::set_backend(nullptr); }

bool SerialDevice::is_replaced() {
  const char* device = std::getenv("STEN_TEST_DEVICE");
  return device && std::string_view(device) == "cuda";
}

SerialDevice::Live SerialDevice::live() { return device().live; }
std::size_t SerialDevice::most_bytes() { return device().most_bytes; }
std::size_t SerialDevice::uploads() { return device().uploads; }
std::size_t SerialDevice::downloads() { return device().downloads; }
void SerialDevice::limit(std::size_t memory) {
  device().limit = memory < most_memory ? memory : most_memory;
}

}  // namespace sten::testing
