// SPDX-License-Identifier: Apache-2.0
// Mixture of experts with gated layers, as in Mixtral (Jiang et al. 2024): gathers the tokens of
// each expert, and calls linear for its weights, in any layout.
#include "libsten/compute/ops/products/mixture_of_experts.h"

#include <array>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {

MixtureAttributes::MixtureAttributes(const char* op, const Attributes& given, Index experts)
    : top_k(given.integer("top_k", 1)) {
  given.check(op, {"top_k", "normalize", "activation"});
  if (top_k < 1 || top_k > experts)
    fail_usage("{}: top_k must be in [1, {}], the number of experts, got {}", op, experts, top_k);
  const Index normalize = given.integer("normalize", 0);
  if (normalize != 0 && normalize != 1)
    fail_usage("{}: normalize must be 0 or 1, got {}", op, normalize);
  normalizes = normalize == 1;
  const std::string name = given.word("activation", "silu");
  activation = find_unary_row(name);
  if (!activation)
    fail_usage("{}: unknown activation \"{}\", expected an elementwise operator of one input", op,
               name);
}

std::string expert_misfit(Index expert, std::span<const Tensor> weights, Index features) {
  const Shape gate = weights[0].shape();
  if (gate.size() != 2 || gate[1] != features)
    return fmt::format("gate {} must be [n, {}], got {}", expert, features, to_string(gate));
  const Shape shapes[] = {gate, gate, {features, gate[0]}};
  constexpr const char* names[] = {"gate", "up", "down"};
  for (std::size_t i = 1; i < weights_per_expert; ++i)
    if (weights[i].shape() != shapes[i])
      return fmt::format("{} {} must be {}, got {}", names[i], expert, to_string(shapes[i]),
                         to_string(weights[i].shape()));
  return "";
}

namespace {

// The rows of an expert's tokens.
template <class T>
Dense gathered(const std::vector<RoutedToken>& load, const T* from, Index features) {
  Dense to = unwritten<T>({std::ssize(load), features});
  gather_tokens(load, features, from, to.values.template mutate<T>().data());
  return to;
}

}  // namespace

Tensor rows_of_expert(const Attributes& attributes, const Dense& x, const Dense& logits,
                      Index expert) {
  const char* const op = "mixture-of-experts";
  check_dtypes(op, "x", x.dtype(), "the router logits", logits.dtype());
  const Index experts = logits.extents.back(), features = x.extents.back();
  const MixtureAttributes given(op, attributes, experts);
  return with_real(op, x.dtype(), [&]<class T>(T) -> Tensor {
    const ExpertRouting<T> routing(logits.values.as<T>().data(), logits.size() / experts, experts,
                                   given.top_k, given.normalizes);
    return gathered(routing.load[expert], x.values.as<T>().data(), features);
  });
}

std::vector<double> router_weight_sums(const Attributes& attributes, const Dense& logits) {
  const char* const op = "mixture-of-experts";
  const Index experts = logits.extents.back();
  const MixtureAttributes given(op, attributes, experts);
  return with_real(op, logits.dtype(), [&]<class T>(T) {
    const ExpertRouting<T> routing(logits.values.as<T>().data(), logits.size() / experts, experts,
                                   given.top_k, given.normalizes);
    std::vector<double> sums(experts);
    for (std::size_t i = 0; i < routing.chosen.size(); ++i)
      sums[routing.chosen[i]] += static_cast<double>(routing.weights[i]);
    return sums;
  });
}

ExpertHidden::ExpertHidden(Name activation, const Tensor& rows, const Tensor& gate_weight,
                           const Tensor& up_weight)
    : gate(apply("linear", {rows, gate_weight})),
      active(apply(activation, {gate})),
      up(apply("linear", {rows, up_weight})),
      product(apply("mul", {active, up})) {}

namespace {

// Operands and attributes; or with first = 1 those of the gradient, whose input 0 is the gradient
// of the output.
struct ExpertsCall {
  const Dense &x, &logits;
  std::span<const Tensor> weights;  // of all experts
  Index tokens = 1, features = 0, experts = 0;
  MixtureAttributes attributes;

  ExpertsCall(const char* op, const Call& call, std::size_t first)
      : x(call.in[first].as<Dense>()),
        logits(call.in[first + 1].as<Dense>()),
        weights(call.in.subspan(first + first_expert_input)),
        experts(logits.extents.empty() ? 0 : logits.extents.back()),
        attributes(op, call.attributes, experts) {
    check_dtypes(op, "x", x.dtype(), "the router logits", logits.dtype());
    check_extents(op);
    if (first == 1) check_alike(op, "the gradient", call.in[0].as<Dense>(), "x", x);
  }

  std::span<const Tensor> weights_of(Index expert) const {
    return weights.subspan(expert * weights_per_expert, weights_per_expert);
  }

 private:
  void check_extents(const char* op) {
    const Shape &a = x.extents, &r = logits.extents;
    if (a.empty() || r.size() != a.size() || !std::equal(a.begin(), a.end() - 1, r.begin()))
      fail_usage("{}: x is {} but the router logits are {}", op, to_string(a), to_string(r));
    features = a.back();
    for (std::size_t i = 0; i + 1 < a.size(); ++i) tokens *= a[i];
    if (std::ssize(weights) != experts * Index{weights_per_expert})
      fail_usage("{}: expected gate, up and down of {} experts, got {} weights", op, experts,
                 weights.size());
    for (Index e = 0; e < experts; ++e) check_expert(op, e);
  }
  void check_expert(const char* op, Index e) {
    if (const std::string misfit = expert_misfit(e, weights_of(e), features); !misfit.empty())
      fail_usage("{}: {}", op, misfit);
    for (const Tensor& w : weights_of(e))
      check_dtypes(op, "x", x.dtype(), fmt::format("expert {}", e).c_str(), w.dtype());
  }
};

template <class T>
ExpertRouting<T> routing_of(const ExpertsCall& g) {
  return {g.logits.values.as<T>().data(), g.tokens, g.experts, g.attributes.top_k,
          g.attributes.normalizes};
}

template <class T>
const T* values_in(const Tensor& x) {
  return x.as<Dense>().values.as<T>().data();
}

// Values of the tokens of one expert, from their rows of x.
struct ExpertRun : ExpertHidden {
  std::span<const Tensor> weights;
  Tensor x, y;  // y: without the weights of the tokens

  ExpertRun(const ExpertsCall& call, Index expert, Tensor rows)
      : ExpertHidden(Name(call.attributes.activation->name), rows, call.weights_of(expert)[0],
                     call.weights_of(expert)[1]),
        weights(call.weights_of(expert)),
        x(std::move(rows)),
        y(apply("linear", {product, weights[2]})) {}
};

Outputs mix_experts(const Call& call) {
  const ExpertsCall g("mixture-of-experts", call, 0);
  return with_real("mixture-of-experts", g.x.dtype(), [&]<class T>(T) -> Outputs {
    const ExpertRouting<T> routing = routing_of<T>(g);
    Dense y = Dense::zeros(real_dtype<T>, g.x.extents);
    const T* const x = g.x.values.as<T>().data();
    T* const to = y.values.mutate<T>().data();
    for (Index e = 0; e < g.experts; ++e) {
      if (routing.load[e].empty()) continue;
      const ExpertRun run(g, e, gathered(routing.load[e], x, g.features));
      add_weighted(routing.load[e], routing, g.features, values_in<T>(run.y), to);
    }
    return {std::move(y)};
  });
}

// Format and hints of output i, but what the dispatcher does after the operator.
struct WeightOutput {
  std::optional<OutFormat> format;
  OutHints hints;

  WeightOutput(const Call& call, std::size_t i) {
    if (!call.wants(i)) return;
    format = call.out(i);
    format->external = KeepAll{};
    format->layout = format->tmp;
    if (!call.hints.empty()) hints = call.hints[i];
    hints.sum = nullptr;
  }
};

struct LinearGradients {
  std::optional<Tensor> x, weight;
};
LinearGradients linear_gradients(const Tensor& dy, const Tensor& x, const Tensor& w, bool wants_x,
                                 const WeightOutput& weight) {
  const std::array<Tensor, 3> in{dy, x, w};
  const OutFormat* formats[] = {wants_x ? &OutFormat::dense() : nullptr,
                                weight.format ? &*weight.format : nullptr};
  if (!formats[0] && !formats[1]) return {};
  const std::array<Shape, 2> shapes{x.shape(), w.shape()};
  const std::array<OutHints, 2> hints{OutHints{}, weight.hints};
  Outputs out =
      run("linear.grad",
          {.in = in, .formats = formats, .attributes = {}, .shapes = shapes, .hints = hints});
  return {std::move(out[0]), std::move(out[1])};
}

// The gradient of an elementwise operator's input.
Tensor activation_gradient(const UnaryRow& f, const Tensor& dy, const Tensor& x, const Tensor& y) {
  const std::string op = std::string(f.name) + ".grad";
  using enum SavedForBackward;
  const std::array<Tensor, 2> all{dy, f.saves == outputs ? y : x};
  const std::span<const Tensor> in(all.data(), f.saves == nothing ? 1 : 2);
  const OutFormat* const format = &OutFormat::dense();
  const Shape shape = x.shape();
  return *run(Name(op),
              Call{.in = in, .formats = {&format, 1}, .attributes = {}, .shapes = {&shape, 1}})
              .front();
}

// Gradients of x, of the weights of the chosen experts [tokens, top_k], and of the matrices.
template <class T>
class ExpertGradients {
 public:
  ExpertGradients(const ExpertsCall& call, const Dense& gradient, const Call& wanted)
      : g_(call),
        dy_(gradient.values.as<T>().data()),
        wanted_(wanted),
        out_(wanted.formats.size()),
        dweights_(g_.tokens * g_.attributes.top_k) {
    if (wanted.wants(0)) dx_ = Dense::zeros(real_dtype<T>, g_.x.extents);
  }

  void add(const ExpertRouting<T>& routing, Index e) {
    const std::vector<RoutedToken>& load = routing.load[e];
    const ExpertRun run(g_, e, gathered(load, g_.x.values.as<T>().data(), g_.features));
    const std::size_t first = 2 + static_cast<std::size_t>(e) * weights_per_expert;
    std::array<WeightOutput, weights_per_expert> weights{
        WeightOutput(wanted_, first), {wanted_, first + 1}, {wanted_, first + 2}};
    const Tensor dresult = result_gradient(run.y, routing, load);
    const bool wants_inner = dx_ || weights[0].format || weights[1].format;
    LinearGradients down =
        linear_gradients(dresult, run.product, run.weights[2], wants_inner, weights[2]);
    out_[first + 2] = std::move(down.weight);
    if (!wants_inner) return;
    const Tensor dgate = activation_gradient(*g_.attributes.activation,
                                             apply("mul", {*down.x, run.up}), run.gate, run.active);
    const Tensor dup = apply("mul", {*down.x, run.active});
    LinearGradients gate =
        linear_gradients(dgate, run.x, run.weights[0], dx_.has_value(), weights[0]);
    LinearGradients up = linear_gradients(dup, run.x, run.weights[1], dx_.has_value(), weights[1]);
    out_[first] = std::move(gate.weight);
    out_[first + 1] = std::move(up.weight);
    if (!dx_) return;
    add_rows(*gate.x, load);
    add_rows(*up.x, load);
  }

  Outputs take(const ExpertRouting<T>& routing) {
    if (dx_) out_[0] = std::move(*dx_);
    if (wanted_.wants(1)) {
      Dense dlogits = Dense::zeros(real_dtype<T>, g_.logits.extents);
      routing.gradient(dweights_.data(), dlogits.values.template mutate<T>().data());
      out_[1] = std::move(dlogits);
    }
    return std::move(out_);
  }

 private:
  // The gradient of an expert's y; and of the weights of its tokens.
  Tensor result_gradient(const Tensor& y, const ExpertRouting<T>& routing,
                         const std::vector<RoutedToken>& load) {
    Dense dresult = gathered(load, dy_, g_.features);
    T* row = dresult.values.template mutate<T>().data();
    const T* from = values_in<T>(y);
    for (const RoutedToken& t : load) {
      const Index at = t.token * routing.top_k + t.slot;
      double sum = 0;
      for (Index i = 0; i < g_.features; ++i) {
        sum += double{*row} * *from++;
        *row++ *= routing.weights[at];
      }
      dweights_[at] = static_cast<T>(sum);
    }
    return dresult;
  }
  // Adds the rows of an expert's tokens to the gradient of x.
  void add_rows(const Tensor& rows, const std::vector<RoutedToken>& load) {
    T* const to = dx_->values.template mutate<T>().data();
    const T* from = values_in<T>(rows);
    for (const RoutedToken& t : load)
      for (Index i = 0; i < g_.features; ++i) to[t.token * g_.features + i] += *from++;
  }

  const ExpertsCall& g_;
  const T* dy_;
  const Call& wanted_;
  Outputs out_;
  std::optional<Dense> dx_;
  std::vector<T> dweights_;
};

Outputs mix_experts_gradient(const Call& call) {
  const ExpertsCall g("mixture-of-experts.grad", call, 1);
  const Dense& dy = call.in[0].as<Dense>();
  return with_real("mixture-of-experts.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const ExpertRouting<T> routing = routing_of<T>(g);
    ExpertGradients<T> gradients(g, dy, call);
    for (Index e = 0; e < g.experts; ++e) gradients.add(routing, e);
    return gradients.take(routing);
  });
}

}  // namespace

void add_mixture_of_experts(Operators& all) {
  const Name op("mixture-of-experts"), dense("dense");
  all.declare(op, {SavedForBackward::inputs});
  all.add({op, {dense, dense, any::layout, any::more}, {{}}}, mix_experts);
  all.add({"mixture-of-experts.grad",
           {dense, dense, dense, any::layout, any::more},
           {{}, {}, {any::sparsifier, any::layout}, {"", any::more}}},
          mix_experts_gradient);
}

}  // namespace sten
