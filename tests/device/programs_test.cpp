// SPDX-License-Identifier: Apache-2.0
// The programs with --device cuda: files and reports equal the CPU's.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "libsten/files/tensors/safetensors_writer.h"
#include "libsten/programs/convert/convert.h"
#include "libsten/programs/energy/energy.h"
#include "libsten/programs/energy/energy_sweep.h"
#include "libsten/programs/measure/measure.h"
#include "libsten/programs/prune/prune.h"
#include "tests/device/serial_backend.h"
#include "tests/support/laws.h"
#include "tests/support/prune_options.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_dir.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::string model =
    std::string(STEN_SOURCE_DIR) + "/recipes/models/shakespeare-bert/model.safetensors";

// The numbers and words of a report.
struct Words {
  std::string all;
  void operator()(std::monostate) {}
  void operator()(const std::string& v) { all += v + "|"; }
  void operator()(const Shape& v) { all += to_string(v) + "|"; }
  void operator()(const auto& v) { all += fmt::to_string(v) + "|"; }
};
std::string text_of(const Outcome& outcome) {
  Words words;
  for (const auto& row : outcome.report.rows)
    for (const Cell& cell : row) std::visit(words, cell);
  return words.all;
}

auto pruning(const std::string& structure, const std::string& to) {
  auto o = prune_options(structure, to);
  o.input = model;
  if (structure == "unstructured") o.tensors.sparsity = 0.9;
  o.patterns.include = {is_short() ? "bert.encoder.layer.0.attention.self.query.weight"
                                   : "bert.encoder.layer.0.*.weight"};
  o.patterns.exclude = {"*LayerNorm*"};
  return o;
}

// The file that a program writes.
template <class Options, class F>
std::pair<std::string, std::string> run_on(Options o, const std::string& device, F&& program) {
  const TempDir dir;
  o.device = DeviceSpec::parse(device);
  o.output.path = dir / "out.safetensors";
  const Outcome outcome = program(o);
  return {dir.read("out.safetensors"), text_of(outcome)};
}

template <class Options, class F>
void check_same(const Options& o, F&& program) {
  CHECK(run_on(o, "cuda", program) == run_on(o, "cpu", program));
}

}  // namespace

TEST_CASE("sten-prune on a device writes the same bytes as on the CPU") {
  const SerialDevice device;
  const Warnings warnings;
  for (const char* to : {"dense", "masked", "bitmask"})
    check_same(pruning("unstructured", to), prune);
  for (const char* structure : {"nm:n=2,m=4", "nmg:n=1,m=10,g=4", "nmg:n=2,m=4,g=2,axis=1"})
    for (const char* to : {"dense", "auto"})
      if (!is_short() || to != std::string("dense")) check_same(pruning(structure, to), prune);
  CHECK(warnings.all.empty());
  // Options that run on the CPU are tested too.
  auto global = pruning("unstructured", "dense");
  global.tensors.scope = PruneScope::global;
  check_same(global, prune);
  check_same(pruning("unstructured", "csr"), prune);
  CHECK(warnings.all.size() == 2);
}

TEST_CASE("sten-convert on a device writes the same bytes as on the CPU, to sparse and to dense") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  for (const char* layout : {"nmg:n=1,m=10,g=4", "nm:n=2,m=4", "bitmask", "masked"}) {
    ConvertOptions o;
    o.input = model;
    o.patterns = pruning("unstructured", "dense").patterns;
    o.to = Spec::parse(layout);
    check_same(o, convert_checkpoint);
    o.output.path = dir / "sparse.safetensors";
    o.output.force = true;
    convert_checkpoint(o);
    ConvertOptions back;
    back.input = dir / "sparse.safetensors";
    back.to = Spec("dense");
    check_same(back, convert_checkpoint);
    // Converts to its own layout, losslessly.
    ConvertOptions again = back;
    again.patterns = o.patterns;
    again.to = Spec::parse(layout);
    again.lossless = true;
    check_same(again, convert_checkpoint);
  }
  CHECK(fmt::format("{}", fmt::join(warnings.all, "\n")) == "");
}

TEST_CASE("lossless conversion of pruned tensors on a device writes the same bytes as on the CPU") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  for (const char* structure : {"nmg:n=1,m=10,g=4", "nm:n=2,m=4"}) {
    auto p = pruning(structure, "dense");
    p.output.path = dir / "pruned.safetensors";
    p.output.force = true;
    prune(p);
    ConvertOptions o;
    o.input = dir / "pruned.safetensors";
    o.patterns = p.patterns;
    o.to = Spec::parse(structure);
    o.lossless = true;
    check_same(o, convert_checkpoint);
  }
}

TEST_CASE("sten-energy on a device reports the same values as on the CPU") {
  const SerialDevice device;
  const Warnings warnings;
  const TempDir dir;
  auto p = pruning("unstructured", "bitmask");
  p.output.path = dir / "pruned.safetensors";
  prune(p);
  EnergyOptions o;
  o.input = dir / "pruned.safetensors";
  o.against = model;
  o.patterns = p.patterns;
  const std::string here = text_of(measure_energy(o));
  o.device = {Device::cuda};
  CHECK(text_of(measure_energy(o)) == here);
  CHECK(warnings.all.size() == 1);
  if (is_short()) return;
  SweepOptions sweep;
  sweep.input = model;
  sweep.patterns.include = {"bert.encoder.layer.0.attention.self.query.weight"};
  const std::string swept = text_of(sweep_energy(sweep));
  sweep.device = {Device::cuda};
  CHECK(text_of(sweep_energy(sweep)) == swept);
}

TEST_CASE("sums and counts of any values on a device are bit-identical to the CPU's") {
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(7);
  for (int round = 0; round < (is_short() ? 12 : 60); ++round) {
    const Shape shape = round == 0 ? Shape{3, 70'000} : random_shape(dice);
    const Dense x = any_bits(dice, dice.one_of(prunable_dtypes()), shape);
    const Mask keep = random_mask(dice, shape, dice.uniform());
    const Dense x_on_device = x.to(Device::cuda);
    const Mask keep_on_device = keep.to(Device::cuda);
    const auto same = [](double a, double b) {
      return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    };
    if (x.size() == 0) continue;
    const Magnitudes m = magnitudes(x, keep), on_device = magnitudes(x_on_device, keep_on_device);
    CHECK(same(m.all, on_device.all));
    CHECK(same(m.kept, on_device.kept));
    CHECK(zeros(x) == zeros(x_on_device));
    CHECK(keep.count() == keep_on_device.count());
    CHECK(first_not_finite(x) == first_not_finite(x_on_device));
    CHECK(measure_kept(x, keep).zeros == measure_kept(x_on_device, keep_on_device).zeros);
    const MaskedDense masked = mask_and_measure(x, keep),
                      masked_on_device = mask_and_measure(x_on_device, keep_on_device);
    CHECK(same_bits(masked_on_device.values.to(Device::cpu), masked.values));
    CHECK(masked_on_device.zeros == masked.zeros);
  }
}

TEST_CASE("a checkpoint larger than device memory is pruned tensor by tensor" * stand_in_only()) {
  const SerialDevice device(std::size_t{900} << 10);  // the model has 5.2 MB
  const Warnings warnings;
  check_same(pruning("nmg:n=1,m=10,g=4", "nmg"), prune);
  CHECK(SerialDevice::most_bytes() <= std::size_t{900} << 10);
}

TEST_CASE("pruning a tensor larger than device memory is a one-line error without output" *
          stand_in_only()) {
  const SerialDevice device(std::size_t{100} << 10);
  const TempDir dir;
  auto o = pruning("nmg:n=1,m=10,g=4", "nmg");
  o.device = {Device::cuda};
  o.output.path = dir / "out.safetensors";
  const std::string why = error_of([&] { prune(o); });
  CHECK(has(why, "CUDA device out of memory"));
  CHECK(!has(why, "\n"));
  CHECK(fault_of([&] { prune(o); }) == Fault::input);
  CHECK(dir.names().empty());
}

TEST_CASE("unknown devices are rejected before inputs are read") {
  ConvertOptions o;
  o.input = "/nothing/there.safetensors";
  o.to = Spec("bitmask");
  o.output.dry_run = true;
  for (const char* word : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cud"})
    CHECK(fault_of([&] { DeviceSpec::parse(word); }) == Fault::usage);
  const SerialDevice device;
  if (SerialDevice::is_replaced()) return;
  o.device = {Device::cuda, 1};
  CHECK(error_of([&] { convert_checkpoint(o); }) ==
        "--device cuda:1: expected a device from 0 to 0");
}
