// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/device_memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <vector>

#include "libsten/core/base/copy_back.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/base/device_spec.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/free_list.h"
#include "libsten/core/base/memory.h"
#include "libsten/core/base/memory_pool.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

using kernels::Stream;
using kernels::cuda::Backend;

std::atomic<int> chosen = 0;
std::atomic<bool> pools_blocks = false;

// Two buffers of pinned memory in turn: the host fills or empties one while the other is copied.
// Small uploads share a buffer, so that the host does not wait for each of them.
class Staging {
 public:
  static constexpr std::size_t bytes = std::size_t{8} << 20;

  explicit Staging(const Backend& b) : b_(b) {
    for (Buffer& buffer : buffers_)
      buffer = {static_cast<std::byte*>(b.memory.allocate_pinned(bytes)), b.memory.make_event()};
  }
  void upload(std::byte* to, const std::byte* from, std::size_t n, Stream stream) {
    const std::lock_guard hold(lock_);
    for (std::size_t at = 0; at < n;) {
      Buffer& buffer = current().used < bytes ? current() : next(stream);
      const std::size_t size = std::min(bytes - buffer.used, n - at);
      std::byte* const place = buffer.data + buffer.used;
      std::memcpy(place, from + at, size);
      b_.memory.upload(to + at, place, size, stream);
      buffer.used += (size + 255) / 256 * 256;
      at += size;
    }
  }
  void download(std::byte* to, const std::byte* from, std::size_t n, Stream stream) {
    const std::lock_guard hold(lock_);
    Buffer* before = nullptr;
    std::size_t arrived = 0;
    const auto empty = [&] {
      if (!before) return;
      wait(*before);
      const std::size_t size = std::min(bytes, n - arrived);
      std::memcpy(to + arrived, before->data, size);
      arrived += size;
      before->used = 0;
    };
    for (std::size_t at = 0; at < n; at += bytes) {
      Buffer& buffer = next(stream);
      buffer.used = bytes;
      b_.memory.download(buffer.data, from + at, std::min(bytes, n - at), stream);
      depart(buffer, stream);
      empty();
      before = &buffer;
    }
    empty();
  }

 private:
  struct Buffer {
    std::byte* data;
    void* passed;
    std::size_t used = 0;
    bool is_in_flight = false;  // the whole buffer
  };
  void wait(Buffer& buffer) {
    if (buffer.is_in_flight) b_.memory.wait_for_event(buffer.passed);
    buffer.is_in_flight = false;
  }
  void depart(Buffer& buffer, Stream stream) {
    b_.memory.record(buffer.passed, stream);
    buffer.is_in_flight = true;
  }
  Buffer& current() { return buffers_[next_buffer_ % 2]; }
  // The other buffer, emptied.
  Buffer& next(Stream stream) {
    if (current().used > 0 && !current().is_in_flight) depart(current(), stream);
    ++next_buffer_;
    wait(current());
    current().used = 0;
    return current();
  }

  const Backend& b_;
  Buffer buffers_[2];
  std::size_t next_buffer_ = 0;
  std::mutex lock_;
};

// State of a device in this process. Never destroyed: the order of destruction of arrays and of
// CUDA's own state is not defined.
struct Session {
  const Backend* backend;
  int device;
  Stream stream;
  Staging staging;
  // Every use of memory is queued on the stream in the order of the calls, so that a freed block
  // can be used again at once.
  FreeList pool{std::size_t{64} << 20};

  Session(const Backend& b, int d)
      : backend(&b), device(d), stream(b.memory.make_stream()), staging(b) {
    pool.enlarge();
    use_scratch();
  }
  // Makes kernels take their scratch from the pool, too.
  void use_scratch() const;

  FreeBlock allocate(std::size_t bytes) {
    bytes = (bytes + 255) / 256 * 256;
    FreeBlock b{nullptr, bytes};
    if (pools_blocks) b = pool.take(bytes);
    if (!b.data) b.data = take(bytes);
    pool.give_out(b);
    return b;
  }
  void give_back(const FreeBlock& b) {
    if (pools_blocks) {
      for (const FreeBlock& out : pool.give_back(b)) release(out);
    } else {
      pool.drop(b);
      release(b);
    }
  }
  bool empty_pool() {
    const std::vector<FreeBlock> all = pool.all();
    for (const FreeBlock& b : all) release(b);
    return !all.empty();
  }

 private:
  void* take(std::size_t bytes) {
    try {
      return backend->memory.allocate(bytes, stream);
    } catch (const std::bad_alloc&) {
      if (!empty_pool()) throw;
    }
    return backend->memory.allocate(bytes, stream);
  }
  void release(const FreeBlock& b) { backend->memory.release(b.data, stream); }
};

// A session per device that was used; tests have several backends.
struct Sessions {
  std::mutex lock;
  std::vector<std::unique_ptr<Session>> all;
};
Sessions& sessions() {
  static auto& all = *new Sessions;
  return all;
}

Session& session() {
  thread_local Session* mine = nullptr;
  const Backend* backend = kernels::cuda::backend();
  if (!backend) fail("{}", kernels::cuda::absence());
  const int device = chosen;
  if (mine && mine->backend == backend && mine->device == device) return *mine;
  backend->memory.use(device);
  auto& [lock, all] = sessions();
  const std::lock_guard hold(lock);
  const auto at = std::ranges::find_if(
      all, [&](const auto& s) { return s->backend == backend && s->device == device; });
  mine = at != all.end() ? at->get()
                         : all.emplace_back(std::make_unique<Session>(*backend, device)).get();
  return *mine;
}

// Scratch from the pool of the session that has the stream.
constexpr kernels::cuda::ScratchFunctions pooled_scratch{
    [](std::size_t bytes, Stream stream) -> kernels::cuda::Scratch {
      Session& s = session();
      if (stream != s.stream) return {s.backend->memory.allocate(bytes, stream), 0};
      const FreeBlock b = s.allocate(bytes);
      return {b.data, b.bytes};
    },
    [](const kernels::cuda::Scratch& x, Stream stream) {
      Session& s = session();
      if (stream == s.stream)
        s.give_back({x.data, x.bytes});
      else
        s.backend->memory.release(x.data, stream);
    }};
void Session::use_scratch() const {
  backend->memory.use_scratch(pools_blocks ? &pooled_scratch : nullptr);
}

// Calls that wait for the next copy to the CPU.
class CopyBack {
 public:
  static CopyBack& hooks() {
    static auto& all = *new CopyBack;
    return all;
  }
  void add(std::function<void()> f) {
    const std::lock_guard hold(lock_);
    waiting_.push_back(std::move(f));
    any_ = true;
  }
  void run() {
    if (!any_) return;
    std::vector<std::function<void()>> now;
    {
      const std::lock_guard hold(lock_);
      now.swap(waiting_);
      any_ = false;
    }
    for (const auto& f : now) f();
  }

 private:
  std::mutex lock_;
  std::vector<std::function<void()>> waiting_;
  std::atomic<bool> any_ = false;
};

}  // namespace

void after_next_copy_back(std::function<void()> f) { CopyBack::hooks().add(std::move(f)); }

Device use_device(const DeviceSpec& device) {
  if (device.is_cpu()) return Device::cpu;
  const Backend* backend = kernels::cuda::backend();
  if (!backend) fail("--device {}: {}; use --device cpu", device.str(), kernels::cuda::absence());
  const std::int64_t index = device.index.value_or(0);
  if (index >= backend->devices)
    fail("--device {}: expected a device from 0 to {}", device.str(), backend->devices - 1);
  chosen = static_cast<int>(index);
  on_cuda([](const Backend&, Stream) {});
  return Device::cuda;
}

Device use_device(const DeviceSpec& device, int rank) {
  const Backend* backend = kernels::cuda::backend();
  if (device.is_cpu() || device.index || !backend) return use_device(device);
  return use_device({Device::cuda, rank % backend->devices});
}

int current_device() { return chosen; }

const Backend& cuda() { return *session().backend; }
Stream cuda_stream() { return session().stream; }
void wait_for_cuda() {
  on_cuda([](const Backend& b, Stream stream) { b.memory.wait(stream); });
}

void throw_cuda_error() {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    session().empty_pool();
    fail("CUDA device out of memory: {} MB are free (use --device cpu)",
         cuda().memory.unused() / 1'000'000);
  } catch (const std::exception& e) {
    fail("{}", e.what());
  }
}

std::shared_ptr<void> allocate_on(Device device, std::size_t bytes) {
  if (device == Device::cpu) return allocate(bytes);
  return on_cuda([&](const Backend&, Stream) {
    Session& s = session();
    const FreeBlock b = s.allocate(bytes);
    return std::shared_ptr<void>(b.data, [&s, b](void*) { s.give_back(b); });
  });
}

void enable_device_memory_pool(bool enable) {
  pools_blocks = enable;
  auto& [lock, all] = sessions();
  const std::lock_guard hold(lock);
  for (const auto& s : all)
    if (s->backend == kernels::cuda::backend()) s->use_scratch();  // backends of tests may be gone
}

void empty_device_memory_pool() {
  auto& [lock, all] = sessions();
  const std::lock_guard hold(lock);
  for (const auto& s : all) s->empty_pool();
}

void copy_bytes(void* to, Device to_device, const void* from, Device from_device,
                std::size_t bytes) {
  if (bytes == 0) return;
  if (to_device == Device::cpu && from_device == Device::cpu) {
    std::memcpy(to, from, bytes);
    return;
  }
  on_cuda([&](const Backend& b, Stream stream) {
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    if (from_device == Device::cpu)
      session().staging.upload(target, source, bytes, stream);
    else if (to_device == Device::cpu)
      session().staging.download(target, source, bytes, stream);
    else
      b.memory.copy(to, from, bytes, stream);
  });
  if (to_device == Device::cpu) CopyBack::hooks().run();
}

void clear_bytes(void* to, Device device, std::size_t bytes) {
  if (bytes == 0) return;
  if (device == Device::cpu)
    std::memset(to, 0, bytes);
  else
    on_cuda([&](const Backend& b, Stream stream) {
      // Whole words, as atomics read them; allocate_on() rounds sizes up.
      b.memory.clear(to, (bytes + 3) / 4 * 4, stream);
    });
}

}  // namespace sten
