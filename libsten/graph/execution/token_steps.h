// What is done to tokens each by itself, on a few panels of them at a time, so that what one step
// writes is still in a cache when the next one reads it.
#pragma once
#include <memory>
#include <vector>

#include "kernels/epilogue.h"
#include "libsten/ops/float_map.h"
#include "libsten/product/sparse_product.h"

namespace sten::execution {

// Some tokens, from a multiple of panel_width on, and where each value of a chain has their panels, or
// the narrow one, of so many lanes.
struct TokenGroup {
  Index first, count, lanes;
  float* const* at;

  Form form() const { return lanes == few_width ? Form::few : Form::panels; }
};

class TokenStep {
 public:
  virtual ~TokenStep() = default;
  virtual void run(const TokenGroup& group) const = 0;
};

// y = activation(w x + bias + residual). Values are numbers in the chain.
struct ProductStep final : TokenStep {
  Tensor weight;                       // F32 [out, in]
  std::optional<SparseFactor> sparse;  // of it, or it is dense
  std::optional<Tensor> bias{};
  std::size_t x = 0, y = 0;
  std::optional<std::size_t> residual{};
  kernels::Activation activation = kernels::Activation::none;
  bool stream = false;  // what is written is not read soon

  explicit ProductStep(Tensor w);
  Index in() const { return shape_[1]; }
  Index out() const { return shape_[0]; }
  void run(const TokenGroup& group) const override;

 private:
  Shape shape_;
};

// Layer normalisation; y may be x.
struct NormalizeStep final : TokenStep {
  Tensor gamma, beta;
  float eps = 0;
  std::size_t x = 0, y = 0;
  Index features = 0;

  NormalizeStep(Tensor gamma, Tensor beta) : gamma(std::move(gamma)), beta(std::move(beta)) {}
  void run(const TokenGroup& group) const override;
};

struct AddStep final : TokenStep {
  std::size_t a = 0, b = 0, y = 0;
  Index features = 0;
  void run(const TokenGroup& group) const override;
};

// y = f(x), element for element; y may be x.
struct MapStep final : TokenStep {
  FloatMap f;
  std::size_t x = 0, y = 0;
  Index features = 0;
  void run(const TokenGroup& group) const override;
};

// The sum of a row of each table, of those that ids name.
struct EmbedStep final : TokenStep {
  struct Table {
    Tensor rows;
    std::vector<Index> steps;        // in the ids, for each extent of the tokens
    bool is_wide;                    // I64, else I32
    const std::byte* ids = nullptr;  // set before each run
  };
  std::vector<Table> tables;
  Shape extents;  // of the tokens
  std::size_t y = 0;
  Index features = 0;
  void run(const TokenGroup& group) const override;

 private:
  const float* row(const Table& table, Index token) const;
};

// Rows of tokens become panels, and back. `rows` is set before each run.
struct LoadStep final : TokenStep {
  const float* rows = nullptr;
  std::size_t y = 0;
  Index features = 0;
  void run(const TokenGroup& group) const override;
};
struct StoreStep final : TokenStep {
  float* rows = nullptr;
  std::size_t x = 0;
  Index features = 0;
  void run(const TokenGroup& group) const override;
};

}  // namespace sten::execution
