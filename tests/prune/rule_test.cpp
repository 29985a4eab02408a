// SPDX-License-Identifier: Apache-2.0
// Rules with a user-defined sparsifier.
#include <doctest/doctest.h>

#include "libsten/core/registry/registry.h"
#include "libsten/programs/prune/prune.h"
#include "tests/support/prune_options.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Every k-th value.
struct EveryKth {
  static constexpr const char* name = "user-every-kth";
  Index k = 2;
  bool keep(float, Index i) const { return i % k == 0; }
};

// Keeps values with a score above 0.
struct AboveZero {
  static constexpr const char* name = "user-above-zero";
  static constexpr bool needs_scores = true;
  Mask select(const Dense& x, const Hints& hints) const {
    Mask m = Mask::none(x.extents);
    const auto s = hints.scores->values.as<float>();
    for (Index i = 0; i < x.size(); ++i) m.set(i, s[i] > 0);
    return m;
  }
};

void register_both() {
  registry().add_sparsifier(EveryKth::name, Spec::parse("user-every-kth:k=2"), [](const Spec& s) {
    s.check_keys({"k"});
    return EveryKth{s.integer("k")};
  });
  registry().add_sparsifier(AboveZero::name, Spec(AboveZero::name), [](const Spec& s) {
    s.check_keys({});
    return AboveZero{};
  });
}

// One F32 tensor a.weight [2, 3].
std::string file(const TempDir& dir, const char* name, const std::vector<float>& v) {
  const auto bytes = std::as_bytes(std::span(v));
  return dir.write(
      name, safetensors_bytes(R"({"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})",
                              as_text(bytes)));
}

std::vector<float> pruned(const TempDir& dir, const std::string& rule, const std::string& scores) {
  auto o = prune_options();
  o.input = dir / "in.safetensors";
  o.output.path = dir / "out.safetensors";
  o.output.force = true;
  o.rules = {rule};
  o.files.scores = scores;
  prune(o);
  const Checkpoint out = Checkpoint::open(o.output.path);
  return floats(out.load(out.tensors().front()).to_dense());
}

}  // namespace

TEST_CASE("a rule can use a sparsifier that a user registered") {
  register_both();
  const TempDir dir;
  file(dir, "in.safetensors", {1, 2, 3, 4, 5, 6});
  CHECK(pruned(dir, "a.weight=user-every-kth:k=3", "") == std::vector<float>{1, 0, 0, 4, 0, 0});
  CHECK(fault_of([&] { pruned(dir, "a.weight=user-every-kth:n=3", ""); }) == Fault::usage);
  CHECK(has(error_of([&] { pruned(dir, "a.weight=user-every-kht:k=3", ""); }),
            "did you mean 'user-every-kth'"));
}

TEST_CASE("a user-defined sparsifier that needs scores reads them from the score file") {
  register_both();
  const TempDir dir;
  file(dir, "in.safetensors", {1, 2, 3, 4, 5, 6});
  const std::string scores = file(dir, "s.safetensors", {1, -1, 0, 2, -3, 3});
  CHECK(pruned(dir, "a.weight=user-above-zero", scores) == std::vector<float>{1, 0, 0, 4, 0, 6});
  CHECK(has(error_of([&] { pruned(dir, "a.weight=user-above-zero", ""); }), "needs --scores"));
}
