// SPDX-License-Identifier: Apache-2.0
// --reorder: the moved rows, the unchanged function, and the errors.
#include "libsten/programs/plan/reorder.h"

#include <doctest/doctest.h>

#include <map>

#include "libsten/compute/ops/common/elements.h"
#include "libsten/programs/prune/prune.h"
#include "tests/support/bad_input.h"
#include "tests/support/prune_options.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Tensors = std::vector<std::pair<std::string, Dense>>;

std::string write_tensors(const TempDir& dir, const char* name, const Tensors& tensors) {
  std::string header, data;
  for (const auto& [key, x] : tensors) {
    const std::size_t begin = data.size();
    data += as_text(std::span(x.values.bytes().data(), x.values.bytes().size()));
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                          header.empty() ? "" : ",", key, name_of(x.dtype()), to_string(x.extents),
                          begin, data.size());
  }
  return dir.write(name, safetensors_bytes("{" + header + "}", data));
}

Dense as(DType dtype, const Dense& x) { return {x.extents, as_dtype("test", x.values, dtype)}; }

Dense counted(Index n) {
  Dense x = Dense::zeros(DType::F32, {n});
  for (Index i = 0; i < n; ++i) x.values.mutate<float>()[i] = static_cast<float>(i);
  return x;
}

// The order of a bias whose elements counted from 0.
std::vector<Index> order_in(const Dense& bias) {
  const Dense as_float = as(DType::F32, bias);
  const auto v = as_float.values.as<float>();
  return {v.begin(), v.end()};
}

std::string element(const Dense& x, Index i) {
  const auto w = static_cast<std::size_t>(x.values.width());
  return std::string(
      as_text(std::span(x.values.bytes().data() + static_cast<std::size_t>(i) * w, w)));
}

// Whether the elements that `after` keeps are those of `before` at row rows[r] and column
// columns[c].
bool is_moved(const Dense& after, const Dense& before, const std::vector<Index>* rows,
              const std::vector<Index>* columns, bool may_be_zero) {
  const Index width = after.extents[1];
  const std::string zero = element(Dense::zeros(after.dtype(), {1}), 0);
  for (Index r = 0; r < after.extents[0]; ++r)
    for (Index c = 0; c < width; ++c) {
      const std::string now = element(after, r * width + c),
                        was = element(before, (rows ? (*rows)[r] : r) * width +
                                                  (columns ? (*columns)[c] : c));
      if (now != was && !(may_be_zero && now == zero)) return false;
    }
  return after.extents == before.extents && after.dtype() == before.dtype();
}

struct Run {
  Outcome outcome;
  std::map<std::string, Dense> tensors;
  double number(const std::string& name, const char* key) const {
    for (std::vector<Cell> row : outcome.report.rows)
      if (std::get<std::string>(outcome.report.at(row, "name")) == name)
        return std::get<double>(outcome.report.at(row, key));
    return -1;
  }
};

Run run(const TempDir& dir, auto o) {
  o.input = dir / "in.safetensors";
  o.output.path = dir / "out.safetensors";
  o.output.force = true;
  Run r{prune(o), {}};
  const Checkpoint out = Checkpoint::open(o.output.path);
  for (const CheckpointTensor& t : out.tensors()) {
    Dense x = out.load(t).to_dense();
    r.tensors.emplace(t.name, Dense{x.extents, Values(x.dtype(), x.size())});
    std::memcpy(r.tensors.at(t.name).values.mutate_bytes(), x.values.bytes().data(),
                x.values.bytes().size());
  }
  return r;
}

auto tiles(const std::vector<std::string>& reorder) {
  auto o = prune_options("1:2:1:4x1");
  o.patterns.include = {"first.weight"};
  o.reorder = reorder;
  return o;
}

// y = next relu(first x + bias).
std::vector<double> outputs(const Dense& first, const Dense& bias, const Dense& next,
                            const Dense& x) {
  const auto product = [](const Dense& w, const std::vector<double>& v) {
    std::vector<double> y(w.extents[0]);
    for (std::size_t r = 0; r < y.size(); ++r)
      for (std::size_t c = 0; c < v.size(); ++c)
        y[r] += static_cast<double>(w.values.as<float>()[r * v.size() + c]) * v[c];
    return y;
  };
  const auto in = x.values.as<float>();
  std::vector<double> h = product(first, {in.begin(), in.end()});
  for (std::size_t r = 0; r < h.size(); ++r)
    h[r] = std::max(0.0, h[r] + static_cast<double>(bias.values.as<float>()[r]));
  return product(next, h);
}

}  // namespace

TEST_CASE("--reorder permutes a weight's rows, its bias and the next weight's columns together") {
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16}) {
    const TempDir dir;
    Dice dice(5);
    const Dense first = as(dtype, normals(dice, {24, 16})), bias = as(dtype, counted(24)),
                next = as(dtype, normals(dice, {5, 24}));
    // The next weight comes first in the file.
    write_tensors(dir, "in.safetensors",
                  {{"next.weight", next}, {"first.bias", bias}, {"first.weight", first}});
    const Run r = run(dir, tiles({"first.weight=next.weight"}));
    const std::vector<Index> order = order_in(r.tensors.at("first.bias"));
    CHECK(!std::is_sorted(order.begin(), order.end()));
    CHECK(is_moved(r.tensors.at("next.weight"), next, nullptr, &order, false));
    CHECK(is_moved(r.tensors.at("first.weight"), first, &order, nullptr, true));
    CHECK(r.number("first.weight", "energy") > 1.02 * r.number("first.weight", "energy_unordered"));
    CHECK(r.number("first.weight", "energy_unordered") ==
          doctest::Approx(run(dir, tiles({})).number("first.weight", "energy")).epsilon(1e-5));
  }
}

TEST_CASE("--reorder does not change the function of two layers") {
  const TempDir dir;
  Dice dice(6);
  const Dense first = normals(dice, {24, 16}), bias = counted(24), next = normals(dice, {5, 24}),
              x = normals(dice, {16});
  write_tensors(dir, "in.safetensors",
                {{"first.weight", first}, {"first.bias", bias}, {"next.weight", next}});
  const Run r = run(dir, tiles({"first.weight=next.weight"}));
  const Dense &pruned = r.tensors.at("first.weight"), &moved = r.tensors.at("first.bias");
  // The pruned weight with its rows in their original order.
  const std::vector<Index> order = order_in(moved);
  Dense kept = Dense::zeros(DType::F32, {24, 16});
  for (Index i = 0; i < 24; ++i)
    std::copy_n(pruned.values.as<float>().begin() + i * 16, 16,
                kept.values.mutate<float>().begin() + order[i] * 16);
  const std::vector<double> before = outputs(kept, bias, next, x),
                            after = outputs(pruned, moved, r.tensors.at("next.weight"), x);
  for (std::size_t i = 0; i < before.size(); ++i)
    CHECK(after[i] == doctest::Approx(before[i]).epsilon(1e-12));
}

TEST_CASE("--reorder of a chain of layers permutes both rows and columns of the inner weight") {
  const TempDir dir;
  Dice dice(7);
  const Dense a = normals(dice, {24, 8}), b = normals(dice, {16, 24}), c = normals(dice, {4, 16});
  write_tensors(dir, "in.safetensors",
                {{"m.2.up.weight", c},
                 {"m.1.up.weight", b},
                 {"m.1.up.bias", counted(16)},
                 {"m.0.up.weight", a},
                 {"m.0.up.bias", counted(24)}});
  auto o = tiles({"m.1.*.weight=m.2.*.weight", "*.0.*.weight=*.1.*.weight"});
  o.patterns.include = {"m.*.weight"};
  const Run r = run(dir, o);
  const std::vector<Index> of_a = order_in(r.tensors.at("m.0.up.bias")),
                           of_b = order_in(r.tensors.at("m.1.up.bias"));
  CHECK(is_moved(r.tensors.at("m.0.up.weight"), a, &of_a, nullptr, true));
  CHECK(is_moved(r.tensors.at("m.1.up.weight"), b, &of_b, &of_a, true));
  CHECK(is_moved(r.tensors.at("m.2.up.weight"), c, nullptr, &of_b, true));
  for (const char* name : {"m.0.up.weight", "m.1.up.weight"})
    CHECK(r.number(name, "energy") >= r.number(name, "energy_unordered") - 1e-6);
}

TEST_CASE("--reorder permutes scores and statistics with the next weight's columns") {
  const TempDir dir;
  Dice dice(8);
  const Dense next = normals(dice, {5, 24});
  const Tensors tensors = {{"first.weight", normals(dice, {24, 16})},
                           {"first.bias", counted(24)},
                           {"next.weight", next}};
  write_tensors(dir, "in.safetensors", tensors);
  Dense squares = Dense::zeros(DType::F32, {24});
  for (float& v : squares.values.mutate<float>()) v = static_cast<float>(dice.uniform() * 9);
  Dense ones = Dense::zeros(DType::F32, {16});
  for (float& v : ones.values.mutate<float>()) v = 1;
  auto wanda = tiles({}), movement = tiles({});
  wanda.tensors.method = PruneMethod::wanda;
  wanda.calibration.statistics = write_tensors(
      dir, "statistics", {{"first.weight.squares", ones}, {"next.weight.squares", squares}});
  wanda.rules = {"next.weight=magnitude:sparsity=0.5"};
  movement.files.scores = write_tensors(dir, "scores", {{"next.weight", normals(dice, {5, 24})}});
  movement.rules = {"next.weight=movement:sparsity=0.5"};
  for (auto o : {wanda, movement}) {
    const Run without = run(dir, o);
    o.reorder = {"first.weight=next.weight"};
    const Run with = run(dir, o);
    const std::vector<Index> order = order_in(with.tensors.at("first.bias"));
    CHECK(!std::is_sorted(order.begin(), order.end()));
    CHECK(is_moved(with.tensors.at("next.weight"), without.tensors.at("next.weight"), nullptr,
                   &order, false));
  }
}

TEST_CASE("--reorder with --method gradient increases the kept sum of |weight * gradient|") {
  const TempDir dir;
  Dice dice(10);
  const Dense first = normals(dice, {24, 16}), scores = normals(dice, {24, 16});
  write_tensors(dir, "in.safetensors",
                {{"first.weight", first},
                 {"first.bias", counted(24)},
                 {"next.weight", normals(dice, {5, 24})}});
  auto o = tiles({});
  o.tensors.method = PruneMethod::gradient;
  o.files.scores = write_tensors(dir, "scores", {{"first.weight", scores}});
  const auto kept = [&] {
    const Run r = run(dir, o);
    const std::vector<Index> order = order_in(r.tensors.at("first.bias"));
    CHECK(is_moved(r.tensors.at("first.weight"), first, &order, nullptr, true));
    double sum = 0;
    for (Index i = 0; i < 24 * 16; ++i)
      sum += std::abs(static_cast<double>(r.tensors.at("first.weight").values.as<float>()[i]) *
                      static_cast<double>(scores.values.as<float>()[order[i / 16] * 16 + i % 16]));
    return sum;
  };
  const double without = kept();
  o.reorder = {"first.weight=next.weight"};
  CHECK(kept() > 1.02 * without);
}

TEST_CASE("--reorder rejects rules that conflict with weights, other rules or other options") {
  const TempDir dir;
  Dice dice(9);
  write_tensors(dir, "in.safetensors",
                {{"first.weight", normals(dice, {24, 16})},
                 {"next.weight", normals(dice, {5, 24})},
                 {"twin.weight", normals(dice, {5, 24})},
                 {"square.weight", normals(dice, {24, 24})},
                 {"other.weight", normals(dice, {24, 16})},
                 {"other.bias", counted(23)},
                 {"cube.weight", normals(dice, {4, 24, 2})}});
  const auto refuses = [&](const std::vector<std::string>& reorder, const char* text,
                           const auto&... change) {
    auto o = tiles(reorder);
    (change(o), ...);
    CAPTURE(text);
    CHECK(fault_of([&] { run(dir, o); }) == Fault::usage);
    const std::string error = error_of([&] { run(dir, o); });
    INFO(error);
    CHECK(held(131, has(error, text)));
  };
  const auto all = [](auto& o) { o.patterns.include = {"*.weight"}; };
  refuses({"first.weight"}, "expected FIRST=NEXT");
  refuses({"first.weight=*"}, "got 1 and 0");
  refuses({"frist.weight=next.weight"}, "did you mean 'first.weight'");
  refuses({"first.weight=nxet.weight"}, "did you mean 'next.weight'");
  refuses({"next.weight=first.weight"}, "'next.weight': expected a tensor pruned to nmgv");
  refuses({"first.weight=other.weight"}, "has 24 rows, but 'other.weight' has 16 columns");
  refuses({"first.weight=cube.weight"}, "expected a matrix, got shape [4, 24, 2]");
  refuses({"other.weight=next.weight"}, "but the bias 'other.bias' is F32 of shape [23]", all);
  refuses({"first.weight=next.weight", "first.weight=twin.weight"}, "by another --reorder");
  refuses({"first.weight=next.weight", "square.weight=next.weight"},
          "the columns of 'next.weight' follow the rows of 'first.weight' already", all);
  refuses({"square.weight=square.weight"}, "depends on its own output", all);
  refuses({"first.weight=next.weight"}, "--reorder and --mask exclude each other", [&](auto& o) {
    o.tensors.structure = Spec("unstructured");
    o.files.mask = dir / "in.safetensors";
  });
  refuses({"first.weight=next.weight"}, "--nan keep and --reorder exclude each other",
          [](auto& o) { o.tensors.nan = Nan::keep; });
}

TEST_CASE("wildcards of a --reorder rule carry the matched text into the next name") {
  const auto next = [](const char* rule, const char* name) {
    return ReorderRule::parse(rule).next_of(name);
  };
  CHECK(next("a.*.w=b.*.w", "a.x.7.w") == "b.x.7.w");
  CHECK(next("*.a.*=*.b.*", "l.0.a.weight") == "l.0.b.weight");
  CHECK(next("a.*.*=b.*", "a.1.2") == "b.1");
  CHECK(next("a[=]b=c[*]", "a=b") == "c*");
  CHECK(ReorderRule::parse("a[=]*?=c").pattern() == "a=*[?]");
}
