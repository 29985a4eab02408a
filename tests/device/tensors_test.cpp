// SPDX-License-Identifier: Apache-2.0
// Tensors, layouts and sparsifiers with arrays on a device: results equal the CPU's.
#include <doctest/doctest.h>

#include <map>

#include "kernels/cuda/backend.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/registry/structure.h"
#include "tests/device/serial_backend.h"
#include "tests/support/laws.h"
#include "tests/support/sanitized.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

// For a memory or race checker at least one round per dtype.
int rounds_of(std::size_t few) { return shapes_to_try(is_short() ? static_cast<int>(few) : 40); }

bool same_tensor(const Tensor& on_device, const Tensor& here) {
  return on_device.device() == Device::cuda &&
         same_parts(on_device.to(Device::cpu).save(), here.save());
}
bool same_on_device(const Mask& on_device, const Mask& here) {
  return on_device.device() == Device::cuda && same_mask(on_device.to(Device::cpu), here);
}

}  // namespace

TEST_CASE("arrays survive a round trip to a device and are copied on write there") {
  const SerialDevice device;
  const Array<int> here{1, 2, 3};
  Array<int> on_device = here.to(Device::cuda);
  CHECK(on_device.device() == Device::cuda);
  CHECK(on_device.size() == 3);
  CHECK(on_device.to(Device::cuda).data() == on_device.data());
  const Array<int> other = on_device;
  CHECK(other.data() == on_device.data());
  CHECK(on_device.mutate() != other.data());
  CHECK(on_device.bytes().device() == Device::cuda);
  const Array<int> back = on_device.to(Device::cpu);
  CHECK(back.device() == Device::cpu);
  CHECK(std::vector<int>(back.begin(), back.end()) == std::vector<int>{1, 2, 3});
  const Array<int> zeros = Array<int>(100, Device::cuda).to(Device::cpu);
  CHECK(std::ranges::count(zeros, 0) == 100);
  CHECK(Array<int>().to(Device::cuda).size() == 0);
}

TEST_CASE("large copies through chunks of pinned memory are complete") {
  const SerialDevice device;
  for (const std::size_t n : {(std::size_t{8} << 20) - 1, (std::size_t{25} << 20) + 7}) {
    auto x = Array<std::uint8_t>::uninitialized(n);
    std::uint8_t* to = x.mutate();
    for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<std::uint8_t>(i * 2654435761u >> 24);
    const Array<std::uint8_t> back = x.to(Device::cuda).to(Device::cpu);
    CHECK(std::ranges::equal(back, x));
  }
}

namespace {

// A device that performs uploads as late as possible: when someone waits for later work.
struct DelayedUploads {
  struct Upload {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  static const kernels::cuda::Backend*& plain() {
    static const kernels::cuda::Backend* backend = nullptr;
    return backend;
  }
  static std::vector<Upload>& waiting() {
    static std::vector<Upload> all;
    return all;
  }
  // How many uploads came before an event.
  static std::map<void*, std::size_t>& before() {
    static std::map<void*, std::size_t> all;
    return all;
  }
  static std::size_t& done() {
    static std::size_t n = 0;
    return n;
  }
  static void finish(std::size_t until) {
    for (; done() < until; ++done()) {
      const Upload& u = waiting()[done()];
      plain()->memory.upload(u.to, u.from, u.bytes, nullptr);
    }
  }

  DelayedUploads() {
    plain() = kernels::cuda::backend();
    static kernels::cuda::Backend late;
    late = *plain();
    late.memory.upload = [](void* to, const void* from, std::size_t bytes, kernels::Stream) {
      waiting().push_back({to, from, bytes});
    };
    late.memory.record = [](void* event, kernels::Stream) { before()[event] = waiting().size(); };
    late.memory.wait_for_event = [](void* event) { finish(before()[event]); };
    late.memory.download = [](void* to, const void* from, std::size_t bytes,
                              kernels::Stream stream) {
      finish(waiting().size());
      plain()->memory.download(to, from, bytes, stream);
    };
    kernels::cuda::set_backend(&late);
  }
};

}  // namespace

TEST_CASE("uploads to a device do not overwrite pending uploads" * stand_in_only()) {
  const SerialDevice device;
  const DelayedUploads late;
  std::vector<Array<std::uint32_t>> here, on_device;
  const auto send = [&](std::size_t n) {
    auto x = Array<std::uint32_t>::uninitialized(n);
    std::uint32_t* to = x.mutate();
    for (std::size_t i = 0; i < n; ++i)
      to[i] = static_cast<std::uint32_t>((i + 1) * 2654435761u + here.size());
    on_device.push_back(x.to(Device::cuda));
    here.push_back(std::move(x));
  };
  // Small uploads that fill both buffers several times, large uploads, and some copies back.
  for (int i = 0; i < 300; ++i) {
    send(static_cast<std::size_t>(1 + i * 977 % 40'000));
    if (i % 90 == 50) send(std::size_t{5} << 20);
    if (i % 70 == 69) {
      const std::size_t k = on_device.size() / 2;
      CHECK(std::ranges::equal(on_device[k].to(Device::cpu), here[k]));
    }
  }
  const std::size_t sent = DelayedUploads::waiting().size();
  CHECK(DelayedUploads::done() < sent);  // no wait for the last uploads yet
  for (std::size_t k = 0; k < here.size(); ++k)
    if (!std::ranges::equal(on_device[k].to(Device::cpu), here[k])) FAIL_CHECK("array " << k);
}

TEST_CASE("the memory pool of a device reuses blocks and frees them when memory runs out" *
          stand_in_only()) {
  constexpr std::size_t kb = 1 << 10;
  const SerialDevice device(1024 * kb);
  const SerialDevice::Live before = SerialDevice::live();
  {
    const PooledDeviceMemory keeps;
    const auto array = [](std::size_t n) {
      return Array<std::byte>::uninitialized(n, Device::cuda);
    };
    const std::byte* place = nullptr;
    {
      const Array<std::byte> x = array(500 * kb), y = array(100 * kb);
      place = x.data();
    }
    // Blocks of the same and of nearly the same size are reused; other sizes are not.
    const std::size_t blocks = SerialDevice::live().blocks;
    for (const std::size_t n : {500 * kb, 490 * kb}) CHECK(array(n).data() == place);
    CHECK(SerialDevice::live().blocks == blocks);
    CHECK(array(200 * kb).data() != place);
    CHECK(SerialDevice::live().blocks == blocks + 1);
    const Array<std::byte> large = array(900 * kb);
    CHECK(SerialDevice::live().blocks == before.blocks + 1);
    CHECK(has(error_of([&] { array(200 * kb); }), "CUDA device out of memory"));
    const Array<int> zeros = Array<int>(10, Device::cuda).to(Device::cpu);
    CHECK(std::ranges::count(zeros, 0) == 10);
  }
  CHECK(SerialDevice::live().blocks == before.blocks);
  CHECK(SerialDevice::live().bytes == before.bytes);
}

TEST_CASE("device memory is freed with its last owner" * stand_in_only()) {
  const std::size_t before = SerialDevice::live().blocks;
  {
    const SerialDevice device;
    Dice dice(1);
    const Dense x = any_bits(dice, DType::F32, {40, 65}).to(Device::cuda);
    const Tensor t = registry().prune(x, Spec::parse("nm:n=2,m=4"), Spec::parse("nm:n=2,m=4"));
    CHECK(SerialDevice::live().blocks > before);
  }
  CHECK(SerialDevice::live().blocks == before);
}

TEST_CASE("every layout packs, unpacks and makes a round trip on a device as on the CPU") {
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(2);
  const int rounds = rounds_of(movable_dtypes().size() + 4);
  for (const auto& entry : registry().layouts()) {
    CAPTURE(entry.name);
    for (int round = 0; round < rounds; ++round) {
      const Shape shape = random_shape(dice);
      const Spec spec = vary_layout(dice, entry.spec, shape);
      const Dense x = any_bits(dice, movable_dtypes()[round % movable_dtypes().size()], shape);
      const auto own = own_mask(dice, spec, shape);
      const Mask keep = own ? *own : random_mask(dice, shape, dice.uniform());
      const std::string where = fmt::format("{} of {}", spec.str(), to_string(shape));
      std::optional<Tensor> here;
      const std::string why = error_of([&] { here = registry().pack(x, keep, spec); });
      std::optional<Tensor> on_device;
      const std::string device_error = error_of(
          [&] { on_device = registry().pack(x.to(Device::cuda), keep.to(Device::cuda), spec); });
      if (why != device_error) FAIL_CHECK(where << ": " << why << "; there: " << device_error);
      if (!here || !on_device) continue;
      if (here->bytes() && !same_tensor(*on_device, *here)) FAIL_CHECK(where << ": other parts");
      if (here->bytes() && !same_tensor(here->to(Device::cuda), *here))
        FAIL_CHECK(where << ": others after a copy");
      if (!same_bits(on_device->to_dense().to(Device::cpu), here->to_dense()))
        FAIL_CHECK(where << ": other elements");
      if (!same_mask(on_device->stored().to(Device::cpu), here->stored()))
        FAIL_CHECK(where << ": other positions");
    }
  }
}

TEST_CASE("every built-in sparsifier selects and packs on a device as on the CPU") {
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(3);
  const int rounds = rounds_of(2 * prunable_dtypes().size());
  for (const auto& entry : builtin_sparsifiers()) {
    CAPTURE(entry.name);
    for (int round = 0; round < rounds; ++round) {
      const Shape shape = random_shape(dice);
      Spec spec = vary_sparsifier(dice, entry.spec, shape);
      for (const char* key : {"sparsity", "fraction"})
        if (spec.has(key))
          spec.set(key, dice.one_of<std::string>({"0", "1", "0.5", "0.1", "0.99"}));
      const Dense x = any_bits(dice, dice.one_of(prunable_dtypes()), shape);
      const Dense scores = normals(dice, shape);
      const Mask had = random_mask(dice, shape, 0.5);
      const Sparsifier own = registry().sparsifier(Spec::parse("magnitude:sparsity=0.3"));
      const Hints hints{&had, &scores, &own};
      const std::string where =
          fmt::format("{} of {} {}", spec.str(), name_of(x.dtype()), to_string(shape));
      std::optional<Mask> here, on_device;
      const Sparsifier s = registry().sparsifier(spec);
      const std::string why = error_of([&] { here = s.select(x, hints); });
      const std::string device_error =
          error_of([&] { on_device = s.select(x.to(Device::cuda), hints); });
      if (why != device_error) FAIL_CHECK(where << ": " << why << "; there: " << device_error);
      if (!here || !on_device || x.size() == 0) continue;
      if (!same_on_device(*on_device, *here)) FAIL_CHECK(where << ": another mask");
      const Spec layout = own_layout(spec).value_or(Spec("bitmask"));
      Mask kept, kept_on_device;
      const Tensor packed = registry().prune(x, spec, layout, hints, &kept);
      const Tensor packed_on_device =
          registry().prune(x.to(Device::cuda), spec, layout, hints, &kept_on_device);
      if (!same_tensor(packed_on_device, packed)) FAIL_CHECK(where << ": packed otherwise");
      if (!same_on_device(kept_on_device, kept)) FAIL_CHECK(where << ": packed by another mask");
    }
  }
}

// Covers the kernels for few rows, for small pattern counts, for many strips and for each width.
TEST_CASE("n:m and n:m:g of many sizes and dtypes on a device match the CPU's") {
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(6);
  for (const DType dtype : {DType::F32, DType::F64, DType::F8_E4M3}) {
    const Dense x = any_bits(dice, dtype, {41, 130});
    for (const char* spec : {"nm:n=4,m=8", "nm:n=1,m=20", "nmg:n=1,m=2,g=16", "nmg:n=1,m=2,g=64",
                             "nmg:n=1,m=8,g=4", "magnitude:sparsity=0.7"}) {
      CAPTURE(spec);
      const Sparsifier s = registry().sparsifier(Spec::parse(spec));
      CHECK(same_on_device(s.select(x.to(Device::cuda)), s.select(x)));
    }
  }
  CHECK(warnings.all.empty());
  for (const DType dtype : {DType::U8, DType::F16, DType::F64}) {
    const Dense x = any_bits(dice, dtype, {40, 64});
    for (const char* spec : {"bitmask", "nm:n=2,m=4", "nmg:n=1,m=4,g=4"}) {
      CAPTURE(spec);
      const Spec layout = Spec::parse(spec);
      const Mask keep = own_mask(dice, layout, x.extents).value_or(nonzero_mask(x));
      const Tensor on_device = registry().pack(x.to(Device::cuda), keep.to(Device::cuda), layout);
      CHECK(same_tensor(on_device, registry().pack(x, keep, layout)));
      CHECK(same_bits(on_device.to_dense().to(Device::cpu),
                      registry().pack(x, keep, layout).to_dense()));
      CHECK(same_on_device(nonzero_mask(x.to(Device::cuda)), nonzero_mask(x)));
    }
  }
}

TEST_CASE("fallbacks of selection and packing warn once, or are errors in strict mode") {
  const SerialDevice device;
  Dice dice(4);
  const Dense x = normals(dice, {64, 80}).to(Device::cuda);
  {
    const Warnings warnings;
    for (const char* spec : {"magnitude:sparsity=0.9", "nm:n=2,m=4", "nmg:n=1,m=4,g=4"})
      registry().sparsifier(Spec::parse(spec)).select(x);
    const Tensor nm = registry().prune(x, Spec::parse("nm:n=2,m=4"), Spec::parse("nm:n=2,m=4"));
    const Tensor nmg =
        registry().prune(x, Spec::parse("nmg:n=1,m=4,g=4"), Spec::parse("nmg:n=1,m=4,g=4"));
    const Tensor bitmask =
        registry().prune(x, Spec::parse("magnitude:sparsity=0.9"), Spec("bitmask"));
    for (const Tensor* t : {&nm, &nmg, &bitmask}) t->to_dense();
    CHECK(warnings.all.empty());
  }
  {
    const Warnings warnings;
    const Spec threshold = Spec::parse("threshold:at=0.25");
    registry().sparsifier(threshold).select(x);
    registry().sparsifier(threshold).select(x);
    REQUIRE(warnings.all.size() == 1);
    CHECK(warnings.all[0] == "threshold:at=0.25 on cuda: not implemented; on the CPU");
  }
  set_strict(true);
  CHECK(fault_of([&] { registry().sparsifier(Spec::parse("relu")).select(x); }) == Fault::check);
  CHECK(error_of([&] { registry().pack(x, nonzero_mask(x), Spec("coo")); }) ==
        "strict: packing coo on cuda: not implemented; on the CPU");
  set_strict(false);
}

TEST_CASE("an allocation beyond device memory is an error, and smaller tensors still fit" *
          stand_in_only()) {
  const SerialDevice device(std::size_t{1} << 20);
  Dice dice(5);
  const Dense small = normals(dice, {16, 16});
  const std::string why =
      error_of([&] { Array<std::byte>::uninitialized(std::size_t{2} << 20, Device::cuda); });
  CHECK(has(why, "CUDA device out of memory"));
  CHECK(same_bits(small.to(Device::cuda).to(Device::cpu), small));
}
