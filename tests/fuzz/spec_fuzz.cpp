// SPDX-License-Identifier: Apache-2.0
// Fuzz target: specs, and every layout, sparsifier and schedule made from them.
#include "libsten/core/layout/nmg_patterns.h"
#include "libsten/core/registry/registry.h"
#include "libsten/programs/staged/schedule.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sten;
  const std::string text(reinterpret_cast<const char*>(data), size);
  Spec spec;
  if (!fuzz::accepted([&] { spec = Spec::parse(text); })) return 0;
  if (!fuzz::accepted([&] {
        if (!(Spec::parse(spec.str()) == spec)) fuzz::broken("a spec is another once written");
      }))
    fuzz::broken("a spec cannot be read once written: " + spec.str());
  fuzz::accepted([&] {
    const Spec canonical = registry().canonical(spec);
    if (!(registry().canonical(canonical) == canonical)) fuzz::broken("canonical is not final");
    const Dense x = Dense::zeros(DType::F32, {3, 4});
    const Tensor t = registry().pack(x, Mask::none({3, 4}), canonical);
    if (t.to_dense().shape() != x.shape()) fuzz::broken("another shape");
  });
  fuzz::accepted([&] {
    const Sparsifier sparsifier = registry().sparsifier(spec);
    // A chunk of n:m:g has g strips per pattern, however small the tensor. Specs that take seconds
    // or gigabytes are skipped.
    if (spec.is("nmg") || spec.is("nmgv")) {
      const Index n = spec.integer("n"), m = spec.integer("m");
      if (pattern_count(n, m, 65536) > (Index{1} << 22) / m / spec.integer("g")) return;
    }
    const Dense x = Dense::zeros(DType::F32, {3, 4});
    const Mask pattern = Mask::all({3, 4});
    sparsifier.select(x, Hints{.pattern = &pattern});
  });
  fuzz::accepted([&] {
    const Schedule s = parse_schedule(text, 0.5, {});
    for (const double v : s.sparsity)
      if (!(v >= 0 && v <= 1)) fuzz::broken("a stage beyond [0, 1]");
  });
  return 0;
}
