// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/device.h"

#include <algorithm>

#include "libsten/core/base/cuda.h"
#include "libsten/core/base/log.h"
#include "libsten/core/dispatch/operators.h"
#include "libsten/programs/bench/bench_layout.h"
#include "libsten/programs/bench/input.h"

namespace sten {
namespace {

using kernels::Stream;
using kernels::cuda::Backend;

// A variant to time; `repeat` selects the input.
using Variant = std::function<void(std::size_t repeat)>;

// The time between two events of the stream.
class DeviceClock {
 public:
  explicit DeviceClock(const Backend& b)
      : b_(b), begin_(b.memory.make_event()), end_(b.memory.make_event()) {}
  ~DeviceClock() {
    b_.memory.end_event(begin_);
    b_.memory.end_event(end_);
  }
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  double seconds(const Variant& variant, std::size_t repeat, Stream stream) {
    b_.memory.record(begin_, stream);
    variant(repeat);
    b_.memory.record(end_, stream);
    b_.memory.wait_for_event(end_);
    return b_.memory.milliseconds(begin_, end_) / 1e3;
  }

 private:
  const Backend& b_;
  void *begin_, *end_;
};

// seconds[variant][repeat], interleaved; each variant has a few warm-ups.
std::vector<std::vector<double>> time_on_device(const std::vector<Variant>& variants,
                                                std::optional<int> repeats) {
  constexpr std::size_t warm = 3;
  const auto timing = static_cast<std::size_t>(repeats.value_or(25));
  return on_cuda([&](const Backend& b, Stream stream) {
    DeviceClock clock(b);
    std::vector<std::vector<double>> seconds(variants.size());
    for (std::size_t repeat = 0; repeat < warm + timing; ++repeat)
      for (std::size_t w = 0; w < variants.size(); ++w) {
        const double s = clock.seconds(variants[w], repeat, stream);
        if (repeat >= warm) seconds[w].push_back(s);
      }
    return seconds;
  });
}

// The number of inputs of so many bytes that exceed the caches.
std::size_t rotation(std::size_t bytes) {
  const std::size_t cache =
      on_cuda([](const Backend& b, Stream) { return b.memory.info(current_device()).l2_cache; });
  return std::clamp<std::size_t>(2 * cache / std::max<std::size_t>(bytes, 1) + 1, 2, 64);
}

BenchRow row_of(const char* bench, const char* form, const Shape& shape, std::string layout,
                std::string library) {
  BenchRow row;
  row.bench = bench;
  row.form = form;
  row.shape = shape;
  row.layout = std::move(layout);
  row.library = std::move(library);
  row.device = "cuda";
  return row;
}

void fill(BenchRow& row, const std::vector<double>& seconds) {
  row.seconds = median(seconds);
  row.repeats = static_cast<int>(seconds.size());
}

// Copies of x, one per rotated input.
std::vector<Dense> copies_of(const Dense& x, std::size_t count) {
  std::vector<Dense> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(x.to(Device::cuda));
  return all;
}

void convert_rows(const Shape& shape, const std::string& input,
                  const std::vector<BenchLayout>& layouts, const BenchOptions& o,
                  std::vector<BenchRow>& rows) {
  const Dense x = bench_input(input, shape, o.seed);
  const std::size_t bytes = x.values.bytes().size(), count = rotation(bytes);
  struct DeviceCase {
    BenchRow row;
    Variant variant;
  };
  std::vector<DeviceCase> cases;
  const std::vector<Dense> dense = copies_of(x, count);
  Array<std::byte> room = Array<std::byte>::uninitialized(bytes, Device::cuda);
  std::byte* to = room.mutate();
  cases.push_back({row_of("convert", "resident", shape, "dense", "copy"), [&](std::size_t repeat) {
                     copy_bytes(to, Device::cuda, dense[repeat % count].values.bytes().data(),
                                Device::cuda, bytes);
                   }});
  cases.push_back({row_of("convert", "copied", shape, "dense", "copy"),
                   [&](std::size_t) { x.to(Device::cuda); }});
  std::vector<Dense> prepared;
  std::vector<std::vector<Dense>> prepared_on_device;
  for (const BenchLayout& layout : layouts) {
    prepared.push_back(layout.prepare(x));
    prepared_on_device.push_back(layout.pruned ? copies_of(prepared.back(), count) : dense);
  }
  for (std::size_t l = 0; l < layouts.size(); ++l) {
    cases.push_back(
        {row_of("convert", "resident", shape, layouts[l].name, ""), [&, l](std::size_t repeat) {
           layouts[l].convert(prepared_on_device[l][repeat % count]);
         }});
    cases.push_back({row_of("convert", "copied", shape, layouts[l].name, ""), [&, l](std::size_t) {
                       layouts[l].convert(prepared[l].to(Device::cuda)).to(Device::cpu);
                     }});
  }
  std::vector<Variant> variants;
  for (const DeviceCase& s : cases) variants.push_back(s.variant);
  const auto seconds = time_on_device(variants, o.repeats);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    BenchRow& row = cases[i].row;
    fill(row, seconds[i]);
    row.input = input;
    row.input_gb_per_s = static_cast<double>(bytes) / row.seconds / 1e9;
    row.ratio = speedup(seconds[0], seconds[i]);
    rows.push_back(std::move(row));
  }
}

// A product in a form of BenchProduct, by operators, with rotated activations.
class DeviceProduct {
 public:
  DeviceProduct(const std::string& form, const Shape& shape, std::uint64_t seed) : form_(form) {
    const Index m = shape[0], k = shape[1], n = shape[2];
    const bool by_tokens = form == "linear" || form == "transposed";
    const Dense x = bench_input("normal", by_tokens ? Shape{n, k} : Shape{k, n}, seed);
    // The other operand of a gradient.
    const Dense back = form == "transposed" ? bench_input("normal", {n, m}, seed)
                       : form == "sampled"  ? bench_input("normal", {m, n}, seed)
                                            : Dense{};
    count_ = rotation(std::max(x.values.bytes().size(), back.values.bytes().size()));
    x_ = copies_of(x, count_);
    if (back.size() > 0) back_ = copies_of(back, count_);
  }
  std::size_t count() const { return count_; }
  void run(const Tensor& a, std::size_t repeat) const {
    const Tensor x = x_[repeat % count_];
    if (form_ == "gemm") {
      apply("matmul", {a, x});
      return;
    }
    if (form_ == "linear") {
      apply("linear", {x, a});
      return;
    }
    const bool is_sampled = form_ == "sampled";
    const OutFormat format = is_sampled ? OutFormat::same_as(a) : OutFormat::dense();
    const OutFormat* formats[] = {&format, nullptr};
    const Tensor in[] = {back_[repeat % count_], is_sampled ? a : x, is_sampled ? x : a};
    const Attributes none;
    sten::run(is_sampled ? "matmul.grad" : "linear.grad", {in, formats, none});
  }

 private:
  std::string form_;
  std::size_t count_;
  std::vector<Dense> x_, back_;
};

void gemm_rows(const std::string& form, const Shape& shape, const std::vector<BenchLayout>& layouts,
               const BenchOptions& o, std::vector<BenchRow>& rows) {
  const Index m = shape[0], k = shape[1], n = shape[2];
  const Dense a = bench_input("normal", {m, k}, o.seed);
  const DeviceProduct product(form, shape, o.seed);
  const std::size_t count = product.count();
  const std::vector<Dense> left = copies_of(a, count);
  std::vector<BenchRow> found;
  std::vector<Variant> variants;
  const char* library =
      on_cuda([](const Backend& backend, Stream) { return backend.products.dense_library(); });
  if (library) {
    found.push_back(row_of("gemm", form.c_str(), shape, "dense", library));
    found.back().gflops = 2e-9 * static_cast<double>(m) * static_cast<double>(k * n);
    variants.push_back([&](std::size_t repeat) { product.run(left[repeat % count], repeat); });
  } else {
    warn("dense product not found on the device: no ratios are reported");
  }
  std::vector<std::vector<Tensor>> sparse;
  sparse.reserve(layouts.size());
  for (const BenchLayout& layout : layouts) {
    auto& own = sparse.emplace_back();
    const Tensor made = layout.convert(layout.prepare(a));
    for (std::size_t i = 0; i < count; ++i) own.push_back(made.to(Device::cuda));
    found.push_back(row_of("gemm", form.c_str(), shape, layout.name, ""));
    const Index stored = made.values() ? made.values()->size() : m * k;
    found.back().gflops = 2e-9 * static_cast<double>(stored) * static_cast<double>(n);
    variants.push_back(
        [&own, &product, count](std::size_t repeat) { product.run(own[repeat % count], repeat); });
  }
  const auto seconds = time_on_device(variants, o.repeats);
  for (std::size_t i = 0; i < found.size(); ++i) {
    BenchRow& row = found[i];
    fill(row, seconds[i]);
    row.gflops = *row.gflops / row.seconds;
    if (library) row.ratio = speedup(seconds[0], seconds[i]);
    rows.push_back(std::move(row));
  }
}

std::vector<BenchLayout> layouts_of(const BenchOptions& o) {
  std::vector<BenchLayout> layouts;
  for (const std::string& l : o.layouts) layouts.push_back(BenchLayout::parse(l));
  return layouts;
}

}  // namespace

std::string device_text() {
  return on_cuda([](const Backend& b, Stream) {
    const kernels::cuda::DeviceInfo info = b.memory.info(current_device());
    return fmt::format("{}, {} processors, {} GiB, L2 of {} MiB", info.name, info.processors,
                       info.memory >> 30, info.l2_cache >> 20);
  });
}

std::vector<BenchRow> bench_device_convert(const BenchOptions& o) {
  const std::vector<BenchLayout> layouts = layouts_of(o);
  for (const std::string& input : o.inputs) bench_input(input, {0, 0}, 0);
  std::vector<BenchRow> rows;
  for (const std::string& s : o.shapes)
    for (const std::string& input : o.inputs)
      convert_rows(parse_bench_shape(s, 2), input, layouts, o, rows);
  return rows;
}

std::vector<BenchRow> bench_device_gemm(const BenchOptions& o) {
  const std::vector<BenchLayout> layouts = layouts_of(o);
  std::vector<BenchRow> rows;
  for (const std::string& form : o.forms)
    for (const std::string& s : o.shapes)
      gemm_rows(form, parse_bench_shape(s, 3), layouts, o, rows);
  return rows;
}

}  // namespace sten
