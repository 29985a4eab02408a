// What operators allocate for their outputs and gradients.
#include <doctest/doctest.h>

#include "libsten/ops/operators.h"
#include "tests/memory/counter.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Below the size of blocks that are kept for the next tensor, which the counter does not see.
constexpr Index rows = 960, cols = 1024, inner = 64;
constexpr std::int64_t dense_bytes = rows * cols * 4;
// What is kept, several times while it is put together, and tiles of the output.
constexpr std::int64_t most = dense_bytes / 4;
static_assert(dense_bytes < 4 << 20);

OutFormat rare(const char* layout) {
  return OutFormat::fused(registry().sparsifier(Spec::parse("random:fraction=0.995,seed=1")),
                          Spec::parse(layout));
}

// A first call packs weights and makes what threads keep.
template <class F>
std::int64_t steady_bytes_of(F&& f) {
  f();
  return bytes_of(f);
}

}  // namespace

TEST_CASE("a streaming sparsifier in an output's format leaves nothing dense to be made") {
  const Threads one(1);
  Dice dice(1);
  const Tensor x = normals(dice, {rows, inner}), big = normals(dice, {rows, cols}),
               right = normals(dice, {inner, cols}), dense = normals(dice, {cols, inner});
  const Spec spec = Spec::parse("nmg:n=1,m=4,g=4");
  const Tensor sparse = registry().prune(dense.to_dense(), spec, spec),
               left = registry().prune(x.to_dense(), spec, spec);
  // The same with dense outputs is seen by the counter.
  CHECK(steady_bytes_of([&] { linear(x, dense); }) >= dense_bytes);
  for (const char* layout : {"csr", "csc", "coo", "bitmask"}) {
    CAPTURE(std::string(layout));
    const OutFormat format = rare(layout);
    CHECK(steady_bytes_of([&] { linear(x, dense, format); }) < most);
    CHECK(steady_bytes_of([&] { linear(x, sparse, format); }) < most);
    CHECK(steady_bytes_of([&] { matmul(x, right, format); }) < most);
    CHECK(steady_bytes_of([&] { matmul(left, right, format); }) < most);
    CHECK(steady_bytes_of([&] { scale(big, 2, format); }) < most);
    CHECK(steady_bytes_of([&] { relu(big, format); }) < most);
    CHECK(steady_bytes_of([&] { add(big, big, format); }) < most);
  }
}

TEST_CASE("a streaming sparsifier in a gradient's format leaves nothing dense to be made") {
  const Threads one(1);
  Dice dice(2);
  // dw is [rows, cols], and so is dx of the second.
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

TEST_CASE("gradients of native sparse weights are computed without a dense one") {
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

TEST_CASE("a call through the dispatcher allocates its outputs and nothing else") {
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
