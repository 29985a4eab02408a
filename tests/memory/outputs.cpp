// SPDX-License-Identifier: Apache-2.0
// Allocations of operators for outputs and gradients.
#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "tests/memory/counter.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Smaller than the blocks that the memory pool reuses, which the counter does not see.
constexpr Index rows = 960, cols = 1024, inner = 64;
constexpr std::int64_t dense_bytes = rows * cols * 4;
// The kept values, several times during packing, and tiles of the output.
constexpr std::int64_t most = dense_bytes / 4;
static_assert(dense_bytes < 4 << 20);

OutFormat rare(const char* layout) {
  return OutFormat::fused(registry().sparsifier(Spec::parse("random:fraction=0.995,seed=1")),
                          Spec::parse(layout));
}

// The same as external sparsifier.
OutFormat rare_after(const char* layout) {
  const OutFormat f = rare(layout);
  return OutFormat::after(f.inline_by, f.layout);
}

// The first call packs weights and allocates scratch of threads.
template <class F>
std::int64_t steady_bytes_of(F&& f) {
  f();
  return bytes_of(f);
}

}  // namespace

TEST_CASE("operators with a streaming sparsifier as output format allocate no dense output") {
  const Threads one(1);
  Dice dice(1);
  const Tensor x = normals(dice, {rows, inner}), big = normals(dice, {rows, cols}),
               right = normals(dice, {inner, cols}), dense = normals(dice, {cols, inner});
  const Spec spec = Spec::parse("nmg:n=1,m=4,g=4");
  const Tensor sparse = registry().prune(dense.to_dense(), spec, spec),
               left = registry().prune(x.to_dense(), spec, spec);
  // The counter sees dense outputs.
  CHECK(steady_bytes_of([&] { linear(x, dense); }) >= dense_bytes);
  for (const OutFormat& format : {rare("csr"), rare("csc"), rare("coo"), rare("bitmask"),
                                  rare_after("csr"), rare_after("bitmask")}) {
    CAPTURE(format.str());
    CHECK(steady_bytes_of([&] { linear(x, dense, format); }) < most);
    CHECK(steady_bytes_of([&] { linear(x, sparse, format); }) < most);
    CHECK(steady_bytes_of([&] { matmul(x, right, format); }) < most);
    CHECK(steady_bytes_of([&] { matmul(left, right, format); }) < most);
    CHECK(steady_bytes_of([&] { scale(big, 2, format); }) < most);
    CHECK(steady_bytes_of([&] { relu(big, format); }) < most);
    CHECK(steady_bytes_of([&] { add(big, big, format); }) < most);
  }
}

TEST_CASE("neither pass of an output format with two sparsifiers allocates a dense tensor") {
  const Threads one(1);
  Dice dice(4);
  constexpr Index n = 4096;
  const Tensor x = normals(dice, {n, 4}), w = normals(dice, {n, 4});
  const auto by = [](const char* spec) { return registry().sparsifier(Spec::parse(spec)); };
  // The size of csr and of a copy with its positions, several times.
  constexpr std::int64_t sparse_bytes = n * n / 100 * 8, dense_bytes_here = n * n * 4;
  constexpr std::int64_t most_here = 10 * sparse_bytes;
  static_assert(most_here < dense_bytes_here / 4);
  for (const char* second : {"magnitude:sparsity=0.995", "random:fraction=0.5", "nm:n=1,m=4",
                             "block-magnitude:sparsity=0.99,h=8,w=8", "nmg:n=1,m=4,g=4"}) {
    CAPTURE(std::string(second));
    const OutFormat format{by("threshold:at=6"), Spec("csr"), by(second), Spec("csr")};
    std::optional<Tensor> y;
    CHECK(steady_bytes_of([&] { y = linear(x, w, format); }) < most_here);
    CHECK(y->stored().count() > n * n / 2000);
  }
  const Tensor sparse = linear(x, w, OutFormat::fused(by("threshold:at=6"), Spec("csr")));
  CHECK(sparse.stored().count() < n * n / 80);
  CHECK(sparse.stored().count() > n * n / 125);
  const Sparsifier magnitude = by("magnitude:sparsity=0.995");
  for (const char* layout : {"csr", "csc", "coo", "bitmask"}) {
    CAPTURE(std::string(layout));
    const Tensor t = convert(sparse, Spec(layout));
    std::optional<Tensor> y;
    CHECK(steady_bytes_of([&] { y = sparsify(t, magnitude, Spec(layout)); }) < most_here);
    CHECK(y->stored().count() == n * n - std::llround(0.995 * n * n));
  }
  // The counter includes a dense fallback.
  const Tensor masked = convert(sparse, Spec("masked"));
  CHECK(steady_bytes_of([&] { sparsify(masked, magnitude, Spec("masked")); }) >= dense_bytes_here);
}

TEST_CASE("a gradient format with a streaming sparsifier allocates no dense gradient") {
  const Threads one(1);
  Dice dice(2);
  // dw of the first call and dx of the second are [rows, cols].
  const Tensor x = normals(dice, {inner, cols}), w = normals(dice, {rows, cols}),
               dy = normals(dice, {inner, rows});
  const Tensor v = normals(dice, {inner, cols}), dv = normals(dice, {rows, inner});
  Tape tape;
  const OutFormat format = rare("csr");
  const auto backward = [&](const Tensor& in, const Tensor& weight, const Tensor& seed,
                            bool of_weight) {
    const Var a = of_weight ? Var(in) : tape.parameter(in, format);
    const Var b = of_weight ? tape.parameter(weight, format) : Var(weight);
    std::optional<Var> y = linear(a, b);
    return [&tape, y, seed] { tape.backward(*y, seed, true); };
  };
  CHECK(steady_bytes_of(backward(x, w, dy, true)) < most);
  CHECK(steady_bytes_of(backward(w, v, dv, false)) < most);
  const Var big = tape.parameter(w, format);
  const Var y = relu(big);
  const std::int64_t before = bytes_of([&] { tape.backward(y, w); });
  CHECK(before < most);
}

TEST_CASE("gradients of csr and n:m:g weights are computed without a dense gradient") {
  const Threads one(1);
  Dice dice(3);
  const Tensor x = normals(dice, {8, cols}), dy = normals(dice, {8, rows});
  const Dense w = normals(dice, {rows, cols});
  for (const char* text : {"nmg:n=1,m=10,g=4", "csr"}) {
    CAPTURE(std::string(text));
    const Spec spec = Spec::parse(text);
    const Tensor weight = spec.is("csr")
                              ? registry().pack(w, random_mask(dice, {rows, cols}, 0.05), spec)
                              : registry().prune(w, spec, spec);
    Tape tape;
    const Var v = tape.parameter(weight);
    const Var y = linear(Var(x), v);
    tape.backward(y, dy, true);
    CHECK(bytes_of([&] { tape.backward(y, dy, true); }) < dense_bytes / 2);
    CHECK(v.grad()->spec() == weight.spec());
  }
}

TEST_CASE("a dispatched call allocates only its list of outputs") {
  static const Name op("test.nothing");
  operators().add({op, {"dense"}, {{}}}, [](const Call& c) -> Outputs { return {c.in[0]}; });
  const Tensor x = Dense::of({1}, {1});
  const Attributes none;
  const OutFormat* formats[] = {&OutFormat::dense()};
  const auto once = [&] { run(op, {std::span(&x, 1), formats, none}); };
  once();
  const std::int64_t before = calls;
  once();
  // The list of outputs.
  CHECK(calls - before == 1);
}

TEST_CASE("forward and backward with sparse activations allocate no dense activation") {
  const Threads one(1);
  Dice dice(4);
  const Tensor x = normals(dice, {rows, inner}), w = normals(dice, {cols, inner}),
               v = normals(dice, {inner, cols}), dy = normals(dice, {rows, inner});
  Dense b = Dense::zeros(DType::F32, {cols});
  std::ranges::fill(b.values.mutate<float>(), -1.2816F * 8);  // nine of ten sums are below 0
  const Formats csr(OutFormat::fused(registry().sparsifier(Spec("relu")), Spec("csr")),
                    OutFormat::fused(registry().sparsifier(Spec("same-pattern")), Spec("csr")));
  Index kept = 0;
  const auto step = [&](bool is_sparse) {
    Tape tape;
    const Var vw = tape.parameter(w), vb = tape.parameter(b), vv = tape.parameter(v);
    const Var h = is_sparse ? linear(Var(x), vw, vb, csr) : relu(linear(Var(x), vw, vb));
    if (is_sparse) kept = h.value().values()->size();
    tape.backward(linear(h, vv), dy);
  };
  const std::int64_t dense = steady_bytes_of([&] { step(false); }),
                     sparse = steady_bytes_of([&] { step(true); });
  CHECK(kept > rows * cols / 12);
  CHECK(kept < rows * cols / 8);
  // The peak of a step includes weights and their gradients.
  CHECK(dense > 2 * dense_bytes);
  CHECK(sparse < dense_bytes);
}
