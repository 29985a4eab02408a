// SPDX-License-Identifier: Apache-2.0
// main() and a counting operator new.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "tests/memory/counter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace sten::testing {

std::atomic<std::int64_t> in_use = 0, peak = 0, calls = 0;

}  // namespace sten::testing

namespace {

using sten::testing::in_use, sten::testing::peak, sten::testing::calls;

// Before each block, in as many bytes as its alignment needs: how many were asked for.
std::size_t header(std::size_t align) { return std::max(align, std::size_t{16}); }

void* take(std::size_t n, std::size_t align) {
  const std::size_t h = header(align), bytes = (h + n + h - 1) / h * h;
  auto* p = static_cast<char*>(std::aligned_alloc(h, bytes));
  if (!p) throw std::bad_alloc();
  std::memcpy(p, &n, sizeof n);
  ++calls;
  const std::int64_t now = in_use += static_cast<std::int64_t>(n);
  for (std::int64_t seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) continue;
  return p + h;
}

void release(void* data, std::size_t align) {
  if (!data) return;
  char* p = static_cast<char*>(data) - header(align);
  std::size_t n;
  std::memcpy(&n, p, sizeof n);
  in_use -= static_cast<std::int64_t>(n);
  std::free(p);
}

}  // namespace

void* operator new(std::size_t n) { return take(n, 1); }
// Used by std::stable_sort. A sanitizer has its own, whose blocks must not be freed here.
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  try {
    return take(n, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t n, std::align_val_t a) {
  return take(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { release(p, 1); }
void operator delete(void* p, std::size_t) noexcept { release(p, 1); }
void operator delete(void* p, std::align_val_t a) noexcept {
  release(p, static_cast<std::size_t>(a));
}
void operator delete(void* p, std::size_t, std::align_val_t a) noexcept {
  release(p, static_cast<std::size_t>(a));
}
