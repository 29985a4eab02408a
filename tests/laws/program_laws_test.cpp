// SPDX-License-Identifier: Apache-2.0
// Laws of every registered layout in every program; tests/extend applies them to user-defined
// layouts.
#include <doctest/doctest.h>

#include "libsten/core/registry/builtin.h"
#include "libsten/core/registry/structure.h"
#include "libsten/programs/bench/bench_layout.h"
#include "libsten/programs/convert/convert.h"
#include "libsten/programs/energy/diff_checkpoints.h"
#include "libsten/programs/energy/energy.h"
#include "libsten/programs/measure/layout_bytes.h"
#include "libsten/programs/prune/prune.h"
#include "tests/support/laws.h"
#include "tests/support/prune_options.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"

using namespace sten;
using namespace sten::testing;

namespace {

// w.weight, F32.
std::string file_of(const TempDir& dir, const Dense& x) {
  const auto bytes = x.values.bytes();
  return dir.write(
      "in.safetensors",
      safetensors_bytes(
          fmt::format(R"({{"w.weight":{{"dtype":"F32","shape":{},"data_offsets":[0,{}]}}}})",
                      to_string(x.extents), bytes.size()),
          as_text(bytes)));
}

Spec layout_in(const std::string& file) { return Checkpoint::open(file).tensors().front().layout; }

// The bytes of the single tensor according to sten-energy; none if it prints none.
std::optional<Index> bytes_in(const std::string& file, const std::string& layout) {
  EnergyOptions o;
  o.input = file;
  const Report r = measure_energy(o).report;
  auto row = r.rows.front();
  const Cell& cell = r.at(row, "bytes_" + layout);
  if (const Index* bytes = std::get_if<Index>(&cell)) return *bytes;
  return std::nullopt;
}

// Layouts that tests add can be limited to matrices.
bool is_builtin(std::string_view layout) {
  static const std::vector<Registry::Example> all = [] {
    Registry r;
    add_builtin(r);
    return r.layouts();
  }();
  return std::ranges::any_of(all, [&](const auto& l) { return l.name == layout; });
}

}  // namespace

TEST_CASE("the convert, prune, energy and bench programs support every layout") {
  Dice dice(1);
  const TempDir dir;
  const Dense x = normals(dice, {24, 40});
  const std::string in = file_of(dir, x), out = dir / "out.safetensors";
  for (const auto& entry : registry().layouts()) {
    const std::string& name = entry.name;
    const Spec& example = entry.spec;
    CAPTURE(name);
    const Spec spec = registry().canonical(example);
    ConvertOptions to;
    to.input = in;
    to.output.path = out;
    to.output.force = true;
    to.to = spec;
    convert_checkpoint(to);
    CHECK(layout_in(out) == spec);
    const auto bytes = static_cast<Index>(Checkpoint::open(out).tensors().front().bytes());
    const auto measured = bytes_in(out, name);
    REQUIRE(measured.has_value());
    // With the example's parameters, or with those of the smallest size.
    CHECK((is_pattern(name) ? *measured <= bytes : *measured == bytes));
    // The smallest layout takes at most as much, and holds the same tensor.
    ConvertOptions smallest = to;
    smallest.input = out;
    smallest.output.path = dir / "smallest.safetensors";
    smallest.to = Spec("auto");
    convert_checkpoint(smallest);
    CHECK(Checkpoint::open(smallest.output.path).tensors().front().bytes() <=
          static_cast<std::uint64_t>(bytes));
    CHECK(!diff_checkpoints(out, smallest.output.path, {}, false).failure);

    auto how = prune_options();
    how.input = in;
    how.output = to.output;
    how.tensors.to = registry().is_structure(name) ? Spec("auto") : spec;
    if (registry().is_structure(name))
      how.tensors.structure = spec;
    else
      how.tensors.sparsity = 0.75;
    prune(how);
    CHECK(layout_in(out) == spec);

    const BenchLayout b = BenchLayout::parse(spec.str());
    CHECK(b.layout == spec);
    CHECK(b.convert(b.prepare(x)).spec() == spec);

    if (!registry().is_structure(name)) continue;
    how.tensors.to = Spec(name);  // keeps the parameters of the structure
    prune(how);
    CHECK(layout_in(out) == spec);
    EnergyOptions o;
    o.input = out;
    o.require = {"*=" + spec.str()};
    CHECK(!measure_energy(o).failure);
    o.input = in;
    CHECK(measure_energy(o).failure.has_value());
  }
}

TEST_CASE("own_layout inverts own_sparsifier, and a structured layout holds its own sparsifier") {
  Dice dice(2);
  for (const auto& entry : registry().layouts()) {
    const std::string& name = entry.name;
    const Spec& example = entry.spec;
    CAPTURE(name);
    const Spec magnitude = Spec::parse("magnitude:sparsity=0.5");
    CHECK(holds(example, magnitude) == !registry().is_structure(name));
    if (!registry().is_structure(name)) continue;
    for (int round = 0; round < 20; ++round) {
      const Spec spec = registry().canonical(vary_layout(dice, example, {8, 8}));
      const Spec own = own_sparsifier(spec);
      CHECK(own_layout(own) == spec);
      CHECK(holds(spec, own));
      CHECK(registry().includes(spec, spec));
    }
  }
}

TEST_CASE("a structured layout packs the masks of every structure that it includes") {
  Dice dice(3);
  const auto with = [](const Spec& s,
                       std::initializer_list<std::pair<const char*, Index>> numbers) {
    Spec out = s;
    for (const auto& [key, value] : numbers)
      if (registry().has_key(s.name(), key)) out.set(key, value);
    return out;
  };
  int included = 0;
  for (const std::string& a : structures())
    for (const std::string& b : structures())
      for (int round = 0; round < 60; ++round) {
        const auto draw = [&](const std::string& name) {
          for (const auto& layout : registry().layouts())
            if (layout.name == name)
              return with(layout.spec, {{"n", 1 + dice.below(2)},
                                        {"m", 4},
                                        {"g", 1 + dice.below(2)},
                                        {"axis", dice.below(2)}});
          return Spec(name);
        };
        const Spec wide = draw(a), narrow = draw(b);
        if (!registry().includes(wide, narrow)) continue;
        ++included;
        const Dense x = normals(dice, {12, 24});
        const Mask m = chooser_for(narrow)->select(x);
        CHECK(error_of([&] { registry().pack(x, m, wide); }) == "");
      }
  CHECK(included > 20);
}

TEST_CASE("every layout predicts its packed size in bytes, and none where packing is rejected") {
  Dice dice(4);
  for (const auto& entry : registry().layouts()) {
    const std::string& name = entry.name;
    const Spec& example = entry.spec;
    CAPTURE(name);
    int said = 0;
    for (int round = 0; round < shapes_to_try(120); ++round) {
      Shape shape = random_shape(dice);
      if (!is_builtin(name)) shape = {shape[0], size_of(shape) / std::max<Index>(1, shape[0])};
      const Spec spec = vary_layout(dice, example, shape);
      const DType dtype = movable_dtypes()[round % movable_dtypes().size()];
      const Dense x = any_bits(dice, dtype, shape);
      const auto own = [&]() -> std::optional<Mask> {
        try {
          return own_mask(dice, spec, shape);
        } catch (const Error&) {
          return std::nullopt;  // the layout does not support this rank
        }
      }();
      if (registry().is_structure(name) && !own) continue;
      const Mask m = own.value_or(random_mask(dice, shape, dice.uniform()));
      std::optional<Index> wanted;
      error_of([&] { wanted = static_cast<Index>(registry().pack(x, m, spec).bytes()); });
      const Positions all = Positions::of(m);
      const auto bytes = registry().bytes(spec, Occupancy(width_of(dtype), all));
      if (bytes != wanted)
        FAIL_CHECK(spec.str() << " of " << to_string(shape) << ": " << bytes.value_or(-1)
                              << " bytes, not " << wanted.value_or(-1));
      said += bytes.has_value();
    }
    CHECK(said > 0);
  }
}
