#include "libsten/calibrate/layer.h"

#include <array>
#include <cmath>
#include <limits>

#include "libsten/base/error.h"
#include "libsten/base/text.h"
#include "libsten/calibrate/admm.h"
#include "libsten/calibrate/reconstruct.h"
#include "libsten/calibrate/scores.h"
#include "libsten/calibrate/sparsegpt.h"
#include "libsten/linalg/dense_gemm.h"

namespace sten {
namespace {

using namespace calibrate;

constexpr std::array methods = {"magnitude", "wanda", "ria", "sparsegpt", "admm"};

bool is_solved(const std::string& method) { return method == "sparsegpt" || method == "admm"; }

void check(const Matrix& w, const InputStatistics& inputs, const CalibratedOptions& o) {
  check_method(o.method);
  const auto in = static_cast<std::size_t>(w.cols);
  if (o.method != "magnitude" && inputs.squares.size() != in && !inputs.has_gram())
    fail_usage("--method {} needs the squares of {} inputs, and there are {}", o.method, in,
               inputs.squares.size());
  if (needs_gram(o) && !inputs.has_gram())
    fail_usage("{} needs the Gram matrix of the layer's inputs",
               o.reconstruct ? "--reconstruct" : "--method " + o.method);
  for (const Dense* each : {&inputs.gram, &inputs.cross})
    if (each->size() > 0 && each->extents != Shape{w.cols, w.cols})
      fail_usage("a matrix of shape {} does not fit a layer of {} inputs", to_string(each->extents),
                 w.cols);
}

std::vector<double> squares_of(const InputStatistics& inputs) {
  if (!inputs.squares.empty()) return inputs.squares;
  std::vector<double> squares(inputs.gram.extents[0]);
  const auto gram = inputs.gram.values.as<float>();
  for (Index j = 0; j < std::ssize(squares); ++j) squares[j] = gram[j * std::ssize(squares) + j];
  return squares;
}

double output_error(const Matrix& pruned, const Matrix& dense, const InputStatistics& inputs) {
  if (!inputs.has_gram()) return std::numeric_limits<double>::quiet_NaN();
  const float* gram = inputs.gram.values.as<float>().data();
  if (!inputs.has_cross()) {
    Matrix lost = dense;
    for (std::size_t i = 0; i < lost.values.size(); ++i) lost.values[i] -= pruned.values[i];
    const double all = trace(dense, gram, dense);
    return all > 0 ? std::max(0.0, trace(lost, gram, lost) / all) : 0;
  }
  const float* cross = inputs.cross.values.as<float>().data();
  const double all = inputs.target_squares.value_or(trace(dense, gram, dense));
  const double error = trace(pruned, gram, pruned) - 2 * trace(dense, cross, pruned) + all;
  return all > 0 ? std::max(0.0, error / all) : 0;
}

Matrix masked(const Matrix& w, const Kept& kept) {
  Matrix out = w;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (!kept[i]) out.values[i] = 0;
  return out;
}

Mask to_mask(const Kept& kept, const Matrix& w, const CalibratedOptions& o, const Shape& shape) {
  Mask mask = Mask::none(shape);
  std::uint8_t* bits = mask.bits.mutate();
  for (Index r = 0; r < w.rows; ++r)
    for (Index c = 0; c < w.cols; ++c)
      if (kept[r * w.cols + c]) set_bit(bits, o.transposed ? c * w.rows + r : r * w.cols + c);
  return mask;
}

}  // namespace

void check_method(const std::string& method) {
  const std::vector<std::string> known(methods.begin(), methods.end());
  if (std::ranges::find(known, method) == known.end())
    fail_usage("there is no method {}{}", quote(method), suggestion(method, known));
}

bool needs_gram(const CalibratedOptions& o) { return o.reconstruct || is_solved(o.method); }

CalibratedLayer prune_layer(const Dense& x, const InputStatistics& inputs,
                            const CalibratedOptions& o) {
  const Matrix w = o.transposed ? transposed(matrix_of(x)) : matrix_of(x);
  check(w, inputs, o);
  // One library, so that the bits do not depend on which one is faster today.
  std::optional<UseDenseLibrary> products;
  if (const DenseLibrary* blas = find_dense_library("OpenBLAS")) products.emplace(*blas);
  std::optional<Gram> gram;
  if (needs_gram(o)) gram.emplace(inputs, o.damping);
  const Chooser chooser(o);
  Kept kept;
  Matrix pruned;
  if (o.method == "sparsegpt") {
    pruned = w;
    kept = prune_by_sparsegpt(pruned, *gram, chooser);
  } else if (o.method == "admm") {
    kept = choose_by_admm(w, *gram, chooser);
  } else if (o.method == "wanda") {
    kept = chooser.choose(wanda_ranks(w, squares_of(inputs)));
  } else if (o.method == "ria") {
    kept = chooser.choose(ria_ranks(w, squares_of(inputs)));
  } else {
    kept = chooser.choose(magnitude_ranks(w));
  }
  const Matrix as_they_were = masked(w, kept);
  if (o.reconstruct || o.method == "admm")
    pruned = reconstruct(w, kept, *gram);
  else if (o.method != "sparsegpt")
    pruned = as_they_were;
  CalibratedLayer out{to_dense(o.transposed ? transposed(pruned) : pruned, x.dtype(), x.extents),
                      to_mask(kept, w, o, x.extents)};
  out.error_before = output_error(as_they_were, w, inputs);
  out.error = output_error(pruned, w, inputs);
  return out;
}

}  // namespace sten
