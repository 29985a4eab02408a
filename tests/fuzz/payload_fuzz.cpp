// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the parts of every registered layout, forged or valid with changes. A tensor that
// loads obeys the laws of layouts.
#include "libsten/core/registry/route.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/parts.h"

namespace {

using namespace sten;
using fuzz::Bytes;

constexpr DType dtypes[] = {DType::F32, DType::U8,  DType::I32, DType::I64,
                            DType::F16, DType::F64, DType::U16, DType::BOOL};
// More elements than this are not made dense: a small file may claim them.
constexpr Index most_elements = Index{1} << 14;

Index extent(Bytes& in) {
  const Index e = in.below(20);
  if (e == 19) return in.number();  // any, negative ones too
  return e;
}

Shape shape_of(Bytes& in, Index most_rank) {
  Shape s(in.below(most_rank + 1));
  for (Index& e : s) e = extent(in);
  return s;
}

// The layout's example with other parameters.
Spec vary(Bytes& in, const Spec& example) {
  Spec spec = example;
  for (const auto& [key, value] : example.args())
    if (in.below(2)) spec.set(key, in.below(8) ? in.below(12) : in.number());
  if (in.below(4) == 0) spec.set("axis", in.below(2));
  if (in.below(4) == 0)
    spec.set("dims", std::to_string(in.below(4)) + "." + std::to_string(in.below(4)));
  return spec;
}

Array<std::byte> some_bytes(Bytes& in, std::size_t n) {
  auto bytes = Array<std::byte>::uninitialized(n);
  std::byte* to = bytes.mutate();
  const bool sparse = in.below(2);
  for (std::size_t i = 0; i < n; ++i) to[i] = sparse ? std::byte{0} : std::byte{in.byte()};
  for (Index k = in.below(16); sparse && n > 0 && k > 0; --k)
    to[static_cast<std::size_t>(in.byte()) * 8 % n] = std::byte{in.byte()};
  return bytes;
}

Part forged(Bytes& in, const std::string& name) {
  Part p{name, in.one_of(dtypes), shape_of(in, 6), {}};
  std::size_t n = 1;
  for (const Index e : p.shape)
    n = e >= 0 && e < 64 && n < 4096 ? n * static_cast<std::size_t>(e) : 16;
  n *= static_cast<std::size_t>(width_of(p.dtype));
  if (in.below(16) == 0) n += 1;
  p.bytes = some_bytes(in, n);
  return p;
}

void change(Bytes& in, Stored& s) {
  for (Index k = 1 + in.below(4); k > 0 && !s.parts.empty(); --k) {
    Part& p = s.parts[in.below(static_cast<Index>(s.parts.size()))];
    switch (in.below(8)) {
      case 0:
        s.shape = shape_of(in, 4);
        break;
      case 1:
        p.shape = shape_of(in, 6);
        break;
      case 2:
        p.dtype = in.one_of(dtypes);
        break;
      case 3:
        p = forged(in, p.name);
        break;
      case 4:
        s.parts.erase(s.parts.begin() + (&p - s.parts.data()));
        break;
      default:
        if (p.bytes.size())
          p.bytes.mutate()[static_cast<std::size_t>(in.number()) % p.bytes.size()] =
              std::byte{in.byte()};
    }
  }
}

Stored good(Bytes& in, const Spec& spec) {
  Shape shape(2 + in.below(3));
  for (Index& e : shape) e = in.below(9);
  Dense x = Dense::zeros(in.one_of(dtypes), shape);
  Mask m = Mask::none(shape);
  for (Index i = 0; i < x.size(); ++i) {
    m.set(i, in.below(3) == 0);
    x.values.put(i, Values(x.dtype(), some_bytes(in, static_cast<std::size_t>(x.values.width()))),
                 0);
  }
  return registry().pack(x, m, spec).save();
}

void check_laws(const Stored& s) {
  const Tensor t = registry().load(s);
  if (size_of(t.shape()) > most_elements) return;
  const Dense x = t.to_dense();
  const Mask stored = t.stored();
  const Stored saved = t.save();
  const Tensor again = registry().load(saved);
  if (!testing::same_parts(again.save(), saved)) fuzz::broken("other parts once loaded again");
  if (!testing::same_bits(again.to_dense(), x)) fuzz::broken("other elements once loaded again");
  if (t.layout() != "dense" && !t.has_fillers()) {
    const Tensor packed = registry().pack(x, stored, saved.layout);
    if (!testing::same_bits(packed.to_dense(), x)) fuzz::broken("packed it is another");
    if (!testing::same_mask(packed.stored(), stored)) fuzz::broken("packed it stores others");
  }
  for (const char* to : {"csr", "coo", "bitmask", "csc"})
    fuzz::accepted([&] {
      const Tensor other = convert(t, Spec(to));
      if (!testing::same_bits(other.to_dense(), x)) fuzz::broken("converted it is another");
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  static const auto layouts = registry().layouts();
  const auto& entry = layouts[in.below(static_cast<Index>(layouts.size()))];
  fuzz::accepted([&] {
    Stored s{.layout = vary(in, entry.spec), .shape = {}, .dtype = in.one_of(dtypes), .parts = {}};
    if (in.below(3) == 0) {
      s.shape = shape_of(in, 4);
      for (const std::string& name : registry().part_names(entry.name))
        s.parts.push_back(forged(in, name));
    } else {
      s = good(in, s.layout);
      if (in.below(8)) change(in, s);
    }
    check_laws(s);
  });
  return 0;
}
