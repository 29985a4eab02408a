// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/array.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

#include "libsten/core/base/memory_pool.h"

using sten::Array;

TEST_CASE("a new array is zero-filled and aligned to 64 bytes") {
  const Array<int> a(5);
  CHECK(a.size() == 5);
  for (int v : a) CHECK(v == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
  CHECK(Array<int>(0).size() == 0);
  CHECK(Array<int>().data() == nullptr);
  CHECK(Array<int>().mutate() == nullptr);
}

TEST_CASE("copies of an array share memory until one is written") {
  Array<int> a{1, 2, 3};
  Array<int> b = a;
  CHECK(b.data() == a.data());
  b.mutate()[0] = 9;
  CHECK(b.data() != a.data());
  CHECK(a[0] == 1);
  CHECK(b[0] == 9);
  CHECK(b[2] == 3);
}

TEST_CASE("an array with a single owner is written in place") {
  Array<int> a{1, 2, 3};
  const int* before = a.data();
  a.mutate()[1] = 7;
  CHECK(a.data() == before);
  { const Array<int> other = a; }
  a.mutate()[1] = 8;
  CHECK(a.data() == before);
  CHECK(a[1] == 8);
}

TEST_CASE("borrowed memory lives as long as an array uses it and is never written") {
  auto owner = std::make_shared<std::vector<int>>(std::vector<int>{4, 5, 6});
  const std::weak_ptr<std::vector<int>> watch = owner;
  const int* memory = owner->data();
  Array<int> a = Array<int>::borrow(owner, memory, 3);
  owner.reset();
  CHECK_FALSE(watch.expired());
  CHECK(a.data() == memory);
  Array<int> b = a;
  b.mutate()[0] = 1;
  CHECK(a[0] == 4);
  a.mutate()[0] = 2;  // the only remaining borrower also copies
  CHECK(a.data() != memory);
  CHECK(watch.expired());
  CHECK((a[0] == 2 && a[1] == 5 && b[0] == 1 && b[2] == 6));
}

TEST_CASE("bytes() shares the memory of an array, and a later write detaches the array") {
  Array<std::uint16_t> a{0x0102, 0x0304};
  const Array<std::byte> bytes = a.bytes();
  CHECK(bytes.size() == 4);
  CHECK(static_cast<const void*>(bytes.data()) == static_cast<const void*>(a.data()));
  a.mutate()[0] = 0;
  CHECK(bytes[0] == std::byte{2});
}

TEST_CASE("an array larger than the address space throws bad_alloc") {
  CHECK_THROWS_AS(Array<std::int64_t>((std::size_t{1} << 61) + 1), std::bad_alloc);
  CHECK_THROWS_AS(Array<std::int64_t>::uninitialized(std::size_t{1} << 61), std::bad_alloc);
  CHECK_THROWS_AS(Array<float>::uninitialized(SIZE_MAX), std::bad_alloc);
}

TEST_CASE("the memory pool reuses a freed large block, and zero-filled arrays stay zero") {
  sten::empty_memory_pool();
  constexpr std::size_t size = std::size_t{3} << 20;
  const auto filled = [&] {
    Array<std::uint8_t> a = Array<std::uint8_t>::uninitialized(size);
    const std::uint8_t* at = a.data();
    a.mutate()[size - 1] = 1;
    return at;
  };
  const std::uint8_t* first = filled();
  CHECK(filled() == first);
  {
    const auto taken = Array<std::uint8_t>::uninitialized(size);
    CHECK(taken.data() == first);
    CHECK(filled() != first);
  }
  sten::empty_memory_pool();
  // A zero-filled array is zero in reused memory, too.
  filled();
  const Array<std::uint8_t> zeros(size);
  CHECK(zeros[size - 1] == 0);
}

TEST_CASE("arrays allocated in one arena do not overlap and can be freed separately") {
  // More than a block holds, and one larger than a huge page.
  std::vector<Array<std::uint8_t>> all;
  for (std::size_t i = 0; i < 40; ++i)
    all.push_back(Array<std::uint8_t>::uninitialized_in_arena(i == 20 ? std::size_t{3} << 20
                                                                      : 1'000'001 + i));
  all.push_back(Array<std::uint8_t>::uninitialized_in_arena(0));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint8_t* before = all[i].data();
    CHECK(reinterpret_cast<std::uintptr_t>(before) % 64 == 0);
    CHECK_FALSE(all[i].is_shared());
    std::fill_n(all[i].mutate(), all[i].size(), static_cast<std::uint8_t>(i));
    CHECK(all[i].data() == before);
  }
  // Freeing some arrays does not change the others.
  for (std::size_t i = 0; i < all.size(); i += 2) all[i] = {};
  for (std::size_t i = 0; i < all.size(); ++i)
    CHECK(std::ranges::count(all[i], static_cast<std::uint8_t>(i)) ==
          static_cast<std::ptrdiff_t>(all[i].size()));
}
