// SPDX-License-Identifier: Apache-2.0
// Helpers of kernel tests: arrays that detect accesses outside of their elements, random inputs,
// and loops over tables.
#pragma once
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/elementwise.h"

namespace sten::testing {

using Bytes = std::vector<std::uint8_t>;

// n elements that end at an unreadable page, after guard bytes that must not change. They have only
// the alignment of an element.
template <class T>
class Fenced {
 public:
  explicit Fenced(std::size_t n) : n_(n) {
    constexpr std::size_t page = 4096;
    const std::size_t used = (n * sizeof(T) + canaries + page - 1) / page * page;
    size_ = used + page;
    void* map = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(map != MAP_FAILED);
    map_ = static_cast<std::uint8_t*>(map);
    REQUIRE(mprotect(map_ + used, page, PROT_NONE) == 0);
    std::memset(map_, canary, used);
    data_ = reinterpret_cast<T*>(map_ + used - n * sizeof(T));
  }
  explicit Fenced(const std::vector<T>& v) : Fenced(v.size()) {
    std::copy(v.begin(), v.end(), data_);
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  ~Fenced() { munmap(map_, size_); }

  T* data() { return data_; }
  // The elements. Checks that the guard bytes are unchanged.
  std::vector<T> values() const {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(data_);
    CHECK(std::count(begin - canaries, begin, canary) == canaries);
    return {data_, data_ + n_};
  }

 private:
  static constexpr int canaries = 64;
  static constexpr std::uint8_t canary = 0xa5;
  std::size_t n_, size_;
  std::uint8_t* map_;
  T* data_;
};

// Calls f(table) for every ISA of this machine, the reference first.
template <class F>
void each_elementwise(F&& f) {
  for (const kernels::Isa isa : kernels::all_isas) {
    const kernels::ElementwiseTable* table = kernels::elementwise_for(isa);
    if (table == nullptr) continue;
    const std::string name = kernels::name_of(isa);
    CAPTURE(name);
    f(*table);
  }
}

inline const std::vector<std::int64_t> elementwise_sizes{0,  1,   7,    8,    9,    63,       64,
                                                         65, 127, 1000, 4096, 4225, 65536 + 3};

// Masks of n elements at several densities. Unused bits of the last byte are not all 0.
template <class Random>
std::vector<Bytes> random_masks(std::int64_t n, Random& random) {
  std::vector<Bytes> masks(5, Bytes((n + 7) / 8, 0));
  for (std::uint8_t& b : masks[1]) b = 0xff;
  for (std::uint8_t& b : masks[2]) b = static_cast<std::uint8_t>(random());
  for (std::uint8_t& b : masks[3]) b = random() % 16 ? 0 : 0x81;
  for (std::uint8_t& b : masks[4]) b = random() % 16 ? 0xff : 0x7e;
  return masks;
}

// Random elements: any bits; few distinct values, for ties; zeros of both signs; values below 2 in
// magnitude, like weights; the same with infinities, NaN and subnormals.
template <class U, class Random>
std::vector<std::vector<U>> random_elements(std::int64_t n, Random& random) {
  constexpr U greatest = kernels::greatest_key<U>, sign = static_cast<U>(~greatest);
  constexpr U infinity = static_cast<U>(sizeof(U) == 1   ? 0x7c
                                        : sizeof(U) == 2 ? 0x7c00
                                        : sizeof(U) == 4 ? 0x7f800000
                                                         : 0x7ff0000000000000);
  const U specials[]{0, 1, 2, infinity - 1, infinity, infinity + 1, greatest};
  const auto signed_at_random = [&](U key) {
    return static_cast<U>(key | (random() & 1 ? sign : U{0}));
  };
  const auto weight = [&] {
    return signed_at_random(static_cast<U>(greatest / 2 ^ (random() & greatest >> 4)));
  };
  const auto special = [&] { return signed_at_random(specials[random() % std::size(specials)]); };
  const U few[]{weight(), weight(), weight(), 0};
  std::vector<std::vector<U>> kinds(7, std::vector<U>(n, 0));
  for (U& x : kinds[0]) x = static_cast<U>(random());
  for (U& x : kinds[1]) x = few[random() % std::size(few)];
  for (U& x : kinds[3]) x = signed_at_random(0);
  for (U& x : kinds[4]) x = weight();
  for (U& x : kinds[5]) x = random() % 8 ? weight() : special();
  for (U& x : kinds[6]) x = special();
  return kinds;
}

}  // namespace sten::testing
