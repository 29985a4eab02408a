// SPDX-License-Identifier: Apache-2.0
// Communicator calls and sums of the ranks that mpirun started; mpi_ranks.sh runs it.
#define DOCTEST_CONFIG_IMPLEMENT
#include "libsten/training/comm/mpi/sums.h"

#include <doctest/doctest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "libsten/training/comm/comm_mpi.h"

using namespace sten;
using mpi_plugin::Sums;

namespace {

Communicator* ranks = nullptr;
int rank = 0, size = 1;

// Value i of rank r, known to every rank. Magnitudes differ so much that the order of additions
// affects the sum.
float number_of(int r, std::size_t i) {
  auto bits = static_cast<std::uint32_t>(i) * 2654435761u + static_cast<std::uint32_t>(r) * 40503u;
  bits ^= bits >> 15;
  bits *= 2246822519u;
  bits ^= bits >> 13;
  const float mantissa = static_cast<float>(bits >> 8) / (1 << 23) - 1;
  return std::ldexp(mantissa, static_cast<int>(bits % 21) - 10);
}
std::vector<float> numbers_of(int r, std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = number_of(r, i);
  return x;
}

// By definition: the nearest value with 8 significant bits, ties to even.
float to_bfloat16(float x) {
  if (!std::isfinite(x) || x == 0) return x;
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
}

std::vector<float> added_up(std::size_t n, Transport by, bool is_reversed = false) {
  const auto sent = [&](int r, std::size_t i) {
    const float x = number_of(is_reversed ? size - 1 - r : r, i);
    return by == Transport::bfloat16 ? to_bfloat16(x) : x;
  };
  if (size == 1) return numbers_of(0, n);  // no transport
  std::vector<float> sums(n);
  for (std::size_t i = 0; i < n; ++i) {
    sums[i] = sent(0, i);
    for (int r = 1; r < size; ++r) sums[i] += sent(r, i);
    if (by == Transport::bfloat16) sums[i] = to_bfloat16(sums[i]);
  }
  return sums;
}

bool has_bits_of(std::span<const float> x, std::span<const float> y) {
  return std::ranges::equal(x, y, {}, std::bit_cast<std::uint32_t, float>,
                            std::bit_cast<std::uint32_t, float>);
}

void wait_for(std::unique_ptr<PendingSum::Work> work) { PendingSum(std::move(work)).wait(); }

// Sizes: empty, smaller than the number of ranks, not divisible by it, one segment, one element
// more, and more segments than can be in flight.
constexpr std::size_t sizes[] = {0, 1, 2, 3, 5, 1000, 1 << 18, (1 << 18) + 1, 5 * (1 << 18) + 7};

void check_sums(Sums& sums) {
  for (const Transport by : {Transport::float32, Transport::bfloat16})
    for (const std::size_t n : sizes) {
      CAPTURE(n);
      std::vector<float> x = numbers_of(rank, n);
      wait_for(sums.begin(x, by));
      CHECK(has_bits_of(x, added_up(n, by)));
    }
}

// Host memory in place of device memory; counts the calls that select the device.
std::atomic<int> uses_of_device = 0;
void use_device() { ++uses_of_device; }

void check_sums_on_device(Sums& sums) {
  for (const std::size_t n : sizes) {
    CAPTURE(n);
    std::vector<float> x = numbers_of(rank, n);
    uses_of_device = 0;
    wait_for(sums.begin(x, Transport::float32, use_device));
    CHECK(has_bits_of(x, added_up(n, Transport::float32)));
    CHECK((uses_of_device > 0) == (n > 0 && size > 1));
  }
}

}  // namespace

TEST_CASE("sums in device memory are bit-identical to the rank-order sum and select the device") {
  for (const bool has_thread : {true, false}) {
    Sums sums(has_thread);
    check_sums_on_device(sums);
  }
  // Together with a sum in host memory.
  Sums sums(true);
  std::vector<float> x = numbers_of(rank, 600000), y = numbers_of(rank, 400000);
  PendingSum device_sum(sums.begin(x, Transport::float32, use_device)),
      here(sums.begin(y, Transport::float32));
  here.wait();
  device_sum.wait();
  CHECK(has_bits_of(x, added_up(x.size(), Transport::float32)));
  CHECK(has_bits_of(y, added_up(y.size(), Transport::float32)));
}

TEST_CASE("sums add the ranks' values in order from rank 0, bit for bit, at any size") {
  Sums sums(true);
  check_sums(sums);
  if (size > 2)  // the sum of two values does not depend on the order
    CHECK(
        !has_bits_of(added_up(1000, Transport::float32), added_up(1000, Transport::float32, true)));
}

TEST_CASE("without a thread, sums are bit-identical and complete when begin() returns") {
  Sums sums(false);
  check_sums(sums);
  std::vector<float> x = numbers_of(rank, 100);
  CHECK(!sums.begin(x, Transport::float32));
  CHECK(has_bits_of(x, added_up(100, Transport::float32)));
}

TEST_CASE("the sum of an element does not depend on the span that contains it") {
  Sums sums(true);
  constexpr std::size_t n = 3 * (1 << 18) + 1, from = (1 << 18) - 5;
  for (const Transport by : {Transport::float32, Transport::bfloat16}) {
    std::vector<float> all = numbers_of(rank, n), some = numbers_of(rank, n);
    wait_for(sums.begin(all, by));
    wait_for(sums.begin(std::span(some).subspan(from, 11), by));
    CHECK(has_bits_of(std::span(some).subspan(from, 11), std::span(all).subspan(from, 11)));
    // Values outside of the span do not change.
    const std::vector<float> before = numbers_of(rank, from);
    CHECK(has_bits_of(std::span(some).first(from), before));
    CHECK(some[from + 11] == number_of(rank, from + 11));
  }
}

TEST_CASE("several sums can be pending at once and be awaited in any order") {
  Sums sums(true);
  std::vector<std::vector<float>> x;
  std::vector<PendingSum> pending;
  const auto by = [](std::size_t i) {
    return i % 3 == 0 ? Transport::bfloat16 : Transport::float32;
  };
  constexpr std::size_t count = 20;
  const auto size_of = [](std::size_t i) { return i % 5 == 4 ? 0 : 1 + i * 50000; };
  for (std::size_t i = 0; i < count; ++i) x.push_back(numbers_of(rank, size_of(i)));
  for (std::size_t i = 0; i < count; ++i) pending.emplace_back(sums.begin(x[i], by(i)));
  // The sums proceed while the program makes other MPI calls.
  MPI_Barrier(MPI_COMM_WORLD);
  for (std::size_t i = count; i-- > 0;) {
    PendingSum& next = pending[(i + static_cast<std::size_t>(rank) * 7) % count];
    next.wait();
    CHECK(next.is_done());
  }
  for (std::size_t i = 0; i < count; ++i) CHECK(has_bits_of(x[i], added_up(size_of(i), by(i))));
}

TEST_CASE("a sum completes even if it is only polled or dropped") {
  Sums sums(true);
  std::vector<float> x = numbers_of(rank, 300000), y = x;
  PendingSum looked_at(sums.begin(x, Transport::float32));
  { const PendingSum dropped(sums.begin(y, Transport::float32)); }
  CHECK(has_bits_of(y, added_up(y.size(), Transport::float32)));
  while (!looked_at.is_done()) continue;
  CHECK(has_bits_of(x, added_up(x.size(), Transport::float32)));
}

TEST_CASE("bfloat16 transport rounds values and sums to nearest, ties to even") {
  if (size == 1) return;  // without transport there is no rounding
  Sums sums(true);
  constexpr float inf = std::numeric_limits<float>::infinity();
  // Values of rank 0; the other ranks have 0, so that the sum is the transported value.
  std::vector<float> x = {
      1,   1 + 1.0F / 128, 1 + 1.0F / 256, 1 + 3.0F / 256, 1 + 3.0F / 512, -1 - 1.0F / 256, 3.4e38F,
      inf, -inf,           1e-40F};
  const std::vector<float> wanted = {1,
                                     1 + 1.0F / 128,
                                     1,
                                     1 + 1.0F / 64,
                                     1 + 1.0F / 128,
                                     -1,
                                     inf,
                                     inf,
                                     -inf,
                                     std::bit_cast<float>(std::uint32_t{1} << 16)};
  x.push_back(std::bit_cast<float>(0x7f800001u));  // NaN only by its last bit
  if (rank > 0) std::ranges::fill(x, 0.0F);
  wait_for(sums.begin(x, Transport::bfloat16));
  CHECK(std::isnan(x.back()));
  x.pop_back();
  CHECK(has_bits_of(x, wanted));
  // Three times 1 + 1/128 is 3 + 3/128, which is rounded to 3 + 1/64 or to the even 3 + 1/32.
  std::vector<float> y = {rank < 3 ? 1 + 1.0F / 128 : 0};
  wait_for(sums.begin(y, Transport::bfloat16));
  CHECK(y[0] == (size == 2 ? 2 + 1.0F / 64 : 3 + 1.0F / 32));
}

TEST_CASE("gather, unite and broadcast return the values of all ranks") {
  const auto of = [](int r) { return std::uint64_t{1} << (r * 7); };
  std::vector<std::uint64_t> wanted, x = {of(rank), 0, of(rank) << 30};
  for (int r = 0; r < size; ++r) wanted.push_back(of(r));
  CHECK(ranks->gather(of(rank)) == wanted);
  std::uint64_t all = 0;
  for (const std::uint64_t one : wanted) all |= one;
  ranks->unite(x);
  CHECK(x == std::vector<std::uint64_t>{all, 0, all << 30});
  // Spans of different lengths, that of rank 1 empty.
  const auto words_of = [](int r) {
    return std::vector<std::uint32_t>(static_cast<std::size_t>(r == 1 ? 0 : 1000 * r + 1),
                                      static_cast<std::uint32_t>(r + 7));
  };
  const auto gathered = ranks->gather(words_of(rank));
  REQUIRE(gathered.size() == static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) CHECK(gathered[static_cast<std::size_t>(r)] == words_of(r));
  for (int from = 0; from < size; ++from) {
    int given = rank + 5;
    ranks->broadcast(std::as_writable_bytes(std::span(&given, 1)), from);
    CHECK(given == from + 5);
  }
}

TEST_CASE("ranks that wait for a late rank use little processor time") {
  const auto seconds_of_processor = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  constexpr double late = 0.3;
  std::vector<std::uint64_t> x(3);
  const std::function<void()> calls[] = {
      [] { ranks->barrier(); }, [] { ranks->gather(1); }, [&] { ranks->unite(x); },
      [&] { ranks->broadcast(std::as_writable_bytes(std::span(x))); }};
  for (const auto& call : calls) {
    ranks->barrier();
    const double before = seconds_of_processor();
    if (rank == 0) std::this_thread::sleep_for(std::chrono::duration<double>(late));
    call();
    CHECK(seconds_of_processor() - before < late / 3);
  }
}

int main(int argc, char** argv) {
  const auto all = comm_mpi();
  ranks = all.get();
  rank = ranks->rank();
  size = ranks->size();
  int provided = 0;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_MULTIPLE) {
    if (rank == 0) std::puts("skipped: this MPI takes calls of one thread alone");
    return 77;
  }
  doctest::Context context(argc, argv);
  context.setOption("minimal", true);  // prints only failures
  context.setOption("no-colors", true);
  return context.run();
}
