// SPDX-License-Identifier: Apache-2.0
#include "tests/device/serial_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace sten::testing {
namespace {

constexpr std::size_t alignment = 256, page = 4096;
constexpr int fresh = 0xcd, beyond = 0xa5;

// Room for a block and some guard bytes.
std::size_t room_of(std::size_t bytes) {
  return (bytes + 2 * alignment - 1) / alignment * alignment;
}

}  // namespace

SerialMemory& SerialMemory::of_device() {
  static SerialMemory all;
  return all;
}

// The range is twice the limit, to allow for fragmentation.
SerialMemory::SerialMemory() {
  void* all = mmap(nullptr, 2 * SerialDevice::most_memory, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(all);
}

SerialMemory::Open::Open() {
  SerialMemory& all = of_device();
  all.lock.lock();
  if (all.open_++ == 0) mprotect(all.begin_, all.end_, PROT_READ | PROT_WRITE);
}

SerialMemory::Open::~Open() {
  SerialMemory& all = of_device();
  if (--all.open_ == 0) {
    mprotect(all.begin_, all.end_, PROT_NONE);
    all.shrink();
  }
  all.lock.unlock();
}

// Opens or closes one block, if not all memory is open.
void SerialMemory::set_open(std::size_t at, std::size_t room, bool is_open) {
  if (!is_open && open_ > 0) return;
  const std::size_t begin = at / page * page, end = (at + room + page - 1) / page * page;
  mprotect(begin_ + begin, end - begin, is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

// Opening and closing take time per page, so pages of earlier tests after the last block are
// released.
void SerialMemory::shrink() {
  std::size_t last = 0;
  if (!used_.empty()) last = used_.rbegin()->first + room_of(used_.rbegin()->second);
  last = (last + page - 1) / page * page;
  if (end_ - last < std::size_t{1} << 22) return;
  madvise(begin_ + last, end_ - last, MADV_DONTNEED);
  std::erase_if(free_, [&](const auto& block) { return block.second >= last; });
  end_ = last;
}

void* SerialMemory::allocate(std::size_t bytes) {
  const std::lock_guard hold(lock);
  if (bytes == 0) throw std::logic_error("a block of no bytes");
  if (bytes > limit || live.bytes > limit - bytes) throw std::bad_alloc();
  const std::size_t room = room_of(bytes);
  std::size_t at = end_;
  if (const auto same = free_.find(room); same != free_.end()) {
    at = same->second;
    free_.erase(same);
  } else {
    if (end_ + room > 2 * SerialDevice::most_memory) throw std::bad_alloc();
    end_ = (end_ + room + page - 1) / page * page;
  }
  set_open(at, room, true);
  std::memset(begin_ + at, fresh, bytes);
  std::memset(begin_ + at + bytes, beyond, room - bytes);
  set_open(at, room, false);
  used_[at] = bytes;
  ++live.blocks;
  live.bytes += bytes;
  most_bytes = std::max(most_bytes, live.bytes);
  return begin_ + at;
}

void SerialMemory::release(void* data) {
  const std::lock_guard hold(lock);
  const auto block = used_.find(static_cast<std::size_t>(static_cast<std::byte*>(data) - begin_));
  if (block == used_.end()) throw std::logic_error("what is released is not a block of the device");
  const auto [at, bytes] = *block;
  const std::size_t room = room_of(bytes);
  used_.erase(block);
  free_.emplace(room, at);
  --live.blocks;
  live.bytes -= bytes;
  set_open(at, room, true);
  const bool is_whole = std::all_of(begin_ + at + bytes, begin_ + at + room,
                                    [](std::byte v) { return v == std::byte{beyond}; });
  std::memset(begin_ + at, fresh, bytes);
  set_open(at, room, false);
  // Returns the memory of large blocks, for tests that use many sizes.
  if (room >= std::size_t{1} << 16) madvise(begin_ + at, room, MADV_DONTNEED);
  if (open_ == 0) shrink();
  if (!is_whole) throw std::logic_error("something wrote beyond a block of the device");
}

}  // namespace sten::testing
