#include "libsten/calibrate/layer.h"

#include <array>
#include <cmath>
#include <limits>

#include "libsten/base/error.h"
#include "libsten/base/text.h"
#include "libsten/calibrate/admm.h"
#include "libsten/calibrate/rank_choice.h"
#include "libsten/calibrate/reconstruct.h"
#include "libsten/calibrate/scores.h"
#include "libsten/calibrate/sparsegpt.h"
#include "libsten/linalg/dense_gemm.h"

namespace sten {
namespace {

using namespace calibrate;

constexpr std::array methods = {"magnitude", "wanda", "ria", "sparsegpt", "admm"};

bool is_solved(const std::string& method) { return method == "sparsegpt" || method == "admm"; }

void check(Index inputs_of_w, const InputStatistics& inputs, const CalibratedOptions& o) {
  check_method(o.method);
  const auto in = static_cast<std::size_t>(inputs_of_w);
  const bool has_squares = !inputs.squares.empty() || !inputs.has_gram();
  if (o.method != "magnitude" && has_squares && inputs.squares.size() != in)
    fail_usage("--method {} needs the squares of {} inputs, and there are {}", o.method, in,
               inputs.squares.size());
  if (needs_gram(o) && !inputs.has_gram())
    fail_usage("{} needs the Gram matrix of the layer's inputs",
               o.reconstruct ? "--reconstruct" : "--method " + o.method);
  for (const Dense* each : {&inputs.gram, &inputs.cross})
    if (each->size() > 0 && each->extents != Shape{inputs_of_w, inputs_of_w})
      fail_usage("a matrix of shape {} does not fit a layer of {} inputs", to_string(each->extents),
                 inputs_of_w);
}

// Whether it is known how large the dense layer's outputs are.
bool has_error(const InputStatistics& inputs) {
  return inputs.has_gram() && (!inputs.has_cross() || inputs.target_squares);
}

// What the outputs of a layer lose.
class OutputError {
 public:
  OutputError(const Matrix& dense, const InputStatistics& inputs)
      : dense_(dense), inputs_(inputs), gram_(inputs.gram.values.as<float>().data()) {
    all_ = inputs.has_cross() ? *inputs.target_squares : trace(dense, gram_, dense);
  }
  double of(const Matrix& pruned) const {
    if (!(all_ > 0)) return 0;
    if (inputs_.has_cross()) {
      const float* cross = inputs_.cross.values.as<float>().data();
      return std::max(0.0,
                      (trace(pruned, gram_, pruned) - 2 * trace(dense_, cross, pruned)) / all_ + 1);
    }
    return std::max(0.0, trace_of_difference(dense_, pruned, gram_) / all_);
  }

 private:
  const Matrix& dense_;
  const InputStatistics& inputs_;
  const float* gram_;
  double all_ = 0;
};

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

std::optional<Mask> choose_layer(const Dense& w, const InputStatistics& inputs,
                                 const CalibratedOptions& o) {
  const Index rows = w.extents.empty() ? 1 : w.extents[0];
  check(o.transposed || rows == 0 ? rows : w.size() / rows, inputs, o);
  const bool keeps_values = !o.reconstruct && !is_solved(o.method);
  if (!keeps_values || has_error(inputs) || (o.by_row && o.transposed)) return std::nullopt;
  return choose_by_rank(w, inputs, o);
}

CalibratedLayer prune_layer(const Dense& x, const InputStatistics& inputs,
                            const CalibratedOptions& o) {
  if (std::optional<Mask> mask = choose_layer(x, inputs, o)) {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    Dense kept = Dense::pack(x, *mask);
    return {std::move(kept), *std::move(mask), unknown, unknown};
  }
  Matrix w = o.transposed ? transposed(matrix_of(x)) : matrix_of(x);
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
  } else {
    kept = chooser.choose(ranks_of(o.method, w, inputs));
  }
  const bool solved = o.reconstruct || o.method == "admm",
             updated = solved || o.method == "sparsegpt";
  double before = std::numeric_limits<double>::quiet_NaN(), after = before;
  std::optional<OutputError> error;
  if (has_error(inputs)) error.emplace(w, inputs);
  if (error || !updated) {
    Matrix as_they_were = masked(w, kept);
    if (error) before = after = error->of(as_they_were);
    if (!updated) pruned = std::move(as_they_were);
  }
  if (solved) {
    pruned = {};  // its memory is for what is solved
    pruned = reconstruct(w, kept, *gram);
  }
  if (error && updated) after = error->of(pruned);
  Mask mask = to_mask(kept, w, o, x.extents);
  w = {};  // its memory is for what is returned
  return {to_dense(o.transposed ? transposed(pruned) : pruned, x.dtype(), x.extents),
          std::move(mask), before, after};
}

}  // namespace sten
