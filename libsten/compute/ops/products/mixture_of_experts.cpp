// Mixture of experts with gated layers, as in Mixtral (Jiang et al. 2024): gathers the tokens of
// each expert, and runs its products for all of them at once.
#include <array>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/gemm.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/elementwise/unary_rows.h"
#include "libsten/compute/ops/products/expert_router.h"

namespace sten {
namespace {

// Operands and attributes; or with first = 1 those of the gradient, whose input 0 is the gradient
// of the output.
struct ExpertsCall {
  const Dense &x, &logits, &gate_up, &down;
  Index tokens = 0, features = 0, experts = 0, hidden = 0;
  Index top_k;
  bool normalizes;
  const UnaryRow* activation;

  ExpertsCall(const char* op, const Call& call, std::size_t first)
      : x(call.in[first].as<Dense>()),
        logits(call.in[first + 1].as<Dense>()),
        gate_up(call.in[first + 2].as<Dense>()),
        down(call.in[first + 3].as<Dense>()) {
    call.attributes.check(op, {"top_k", "normalize", "activation"});
    check_dtypes(op, "x", x.dtype(), "the router logits", logits.dtype());
    check_dtypes(op, "x", x.dtype(), "gate_up", gate_up.dtype());
    check_dtypes(op, "x", x.dtype(), "down", down.dtype());
    check_shapes(op);
    top_k = call.attributes.integer("top_k", 1);
    if (top_k < 1 || top_k > experts)
      fail_usage("{}: top_k must be in [1, {}], the number of experts, got {}", op, experts, top_k);
    const Index normalize = call.attributes.integer("normalize", 0);
    if (normalize != 0 && normalize != 1)
      fail_usage("{}: normalize must be 0 or 1, got {}", op, normalize);
    normalizes = normalize == 1;
    const std::string name = call.attributes.word("activation", "silu");
    activation = find_unary_row(name);
    if (!activation)
      fail_usage("{}: unknown activation \"{}\", expected an elementwise operator of one input", op,
                 name);
    if (first == 1) check_alike(op, "the gradient", call.in[0].as<Dense>(), "x", x);
  }

  // gate_up and down of an expert.
  template <class T>
  const T* gate_up_of(Index e) const {
    return gate_up.values.as<T>().data() + e * 2 * hidden * features;
  }
  template <class T>
  const T* down_of(Index e) const {
    return down.values.as<T>().data() + e * features * hidden;
  }

 private:
  void check_shapes(const char* op) {
    const Shape &a = x.extents, &r = logits.extents, &g = gate_up.extents, &d = down.extents;
    if (a.empty() || r.size() != a.size() || !std::equal(a.begin(), a.end() - 1, r.begin()))
      fail_usage("{}: x is {} but the router logits are {}", op, to_string(a), to_string(r));
    features = a.back();
    experts = r.back();
    if (g.size() != 3 || g[0] != experts || g[1] % 2 != 0 || g[2] != features)
      fail_usage("{}: gate_up must be [{}, 2 n, {}], got {}", op, experts, features, to_string(g));
    hidden = g[1] / 2;
    if (d != Shape{experts, features, hidden})
      fail_usage("{}: down must be [{}, {}, {}], got {}", op, experts, features, hidden,
                 to_string(d));
    tokens = 1;
    for (std::size_t i = 0; i + 1 < a.size(); ++i) tokens *= a[i];
  }
};

template <class T>
ExpertRouting<T> routing_of(const ExpertsCall& g) {
  return {g.logits.values.as<T>().data(), g.tokens, g.experts, g.top_k, g.normalizes};
}

// Values of the tokens of one expert.
template <class T>
struct ExpertRun {
  const ExpertsCall& g;
  Index expert, rows;
  std::vector<T> x, both;     // [rows, features], [rows, 2 hidden]: gate and up
  Dense gate, active;         // [rows, hidden]: before and after the activation
  std::vector<T> product, y;  // [rows, hidden], [rows, features] without the weights

  ExpertRun(const ExpertsCall& call, Index e, const std::vector<RoutedToken>& load)
      : g(call), expert(e), rows(std::ssize(load)), gate(unwritten<T>({rows, g.hidden})) {
    const Index f = g.features, n = g.hidden;
    x.resize(rows * f);
    for (Index r = 0; r < rows; ++r)
      std::copy_n(g.x.values.as<T>().data() + load[r].token * f, f, x.data() + r * f);
    both.resize(rows * 2 * n);
    gemm(Transpose::b, rows, 2 * n, f, x.data(), g.gate_up_of<T>(e), both.data());
    T* const to = gate.values.template mutate<T>().data();
    for (Index r = 0; r < rows; ++r) std::copy_n(both.data() + r * 2 * n, n, to + r * n);
    active = apply(Name(g.activation->name), {Tensor(gate)}).to_dense();
    product.resize(rows * n);
    const T* a = active.values.template as<T>().data();
    for (Index r = 0; r < rows; ++r)
      for (Index i = 0; i < n; ++i) product[r * n + i] = a[r * n + i] * up(r)[i];
    y.resize(rows * f);
    gemm(Transpose::b, rows, f, n, product.data(), g.down_of<T>(e), y.data());
  }
  const T* up(Index r) const { return both.data() + (2 * r + 1) * g.hidden; }

  // The gradient of the gate's values from that of the activated ones.
  Dense gate_gradient(Dense dy) const {
    const std::string op = std::string(g.activation->name) + ".grad";
    using enum SavedForBackward;
    const SavedForBackward saves = g.activation->saves;
    const std::array<Tensor, 2> all{std::move(dy), saves == outputs ? active : gate};
    const std::span<const Tensor> in(all.data(), saves == nothing ? 1 : 2);
    const OutFormat* const format = &OutFormat::dense();
    const Shape shape = gate.extents;
    return run(Name(op),
               Call{.in = in, .formats = {&format, 1}, .attributes = {}, .shapes = {&shape, 1}})
        .front()
        ->to_dense();
  }
};

Outputs mix_experts(const Call& call) {
  const ExpertsCall g("mixture-of-experts", call, 0);
  return with_real("mixture-of-experts", g.x.dtype(), [&]<class T>(T) -> Outputs {
    const ExpertRouting<T> routing = routing_of<T>(g);
    Dense y = Dense::zeros(real_dtype<T>, g.x.extents);
    T* const to = y.values.mutate<T>().data();
    for (Index e = 0; e < g.experts; ++e) {
      if (routing.load[e].empty()) continue;
      const ExpertRun<T> run(g, e, routing.load[e]);
      for (Index r = 0; r < run.rows; ++r) {
        const auto [token, slot] = routing.load[e][r];
        const T weight = routing.weights[token * g.top_k + slot];
        const T* from = run.y.data() + r * g.features;
        for (Index i = 0; i < g.features; ++i) to[token * g.features + i] += weight * from[i];
      }
    }
    return {std::move(y)};
  });
}

// Gradients of x, of the weights of the chosen experts [tokens, top_k], of gate_up and of down.
template <class T>
struct ExpertGradients {
  const ExpertsCall& g;
  const T* dy;
  std::array<std::optional<Dense>, 4> out;
  std::vector<T> dweights;

  ExpertGradients(const ExpertsCall& call, const Dense& gradient, const Call& wanted)
      : g(call), dy(gradient.values.as<T>().data()), dweights(g.tokens * g.top_k) {
    const Dense* all[] = {&g.x, &g.logits, &g.gate_up, &g.down};
    for (std::size_t i = 0; i < 4; ++i)
      if (wanted.wants(i)) out[i] = Dense::zeros(real_dtype<T>, all[i]->extents);
  }
  T* to(std::size_t i) { return out[i] ? out[i]->values.template mutate<T>().data() : nullptr; }

  void add(const ExpertRouting<T>& routing, Index e) {
    const std::vector<RoutedToken>& load = routing.load[e];
    const ExpertRun<T> run(g, e, load);
    const Index rows = run.rows, f = g.features, n = g.hidden;
    std::vector<T> dresult(rows * f);  // of run.y
    for (Index r = 0; r < rows; ++r) {
      const Index at = load[r].token * g.top_k + load[r].slot;
      const T *from = dy + load[r].token * f, *y = run.y.data() + r * f;
      double sum = 0;
      for (Index i = 0; i < f; ++i) {
        dresult[r * f + i] = routing.weights[at] * from[i];
        sum += double{from[i]} * y[i];
      }
      dweights[at] = static_cast<T>(sum);
    }
    if (T* ddown = to(3))
      gemm(Transpose::a, f, n, rows, dresult.data(), run.product.data(), ddown + e * f * n);
    if (!out[0] && !out[2]) return;
    const std::vector<T> dboth = layer_gradient(run, dresult);
    if (T* dgate_up = to(2))
      gemm(Transpose::a, 2 * n, f, rows, dboth.data(), run.x.data(), dgate_up + e * 2 * n * f);
    if (T* dx = to(0)) {
      gemm(Transpose::none, rows, f, 2 * n, dboth.data(), g.gate_up_of<T>(e), dresult.data());
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < f; ++i) dx[load[r].token * f + i] += dresult[r * f + i];
    }
  }

  // The gradient of run.both.
  std::vector<T> layer_gradient(const ExpertRun<T>& run, const std::vector<T>& dresult) const {
    const Index rows = run.rows, n = g.hidden;
    std::vector<T> dproduct(rows * n), dboth(rows * 2 * n);
    gemm(Transpose::none, rows, n, g.features, dresult.data(), g.down_of<T>(run.expert),
         dproduct.data());
    Dense dactive = unwritten<T>({rows, n});
    T* const da = dactive.values.template mutate<T>().data();
    const T* a = run.active.values.template as<T>().data();
    for (Index r = 0; r < rows; ++r)
      for (Index i = 0; i < n; ++i) {
        const Index at = r * n + i;
        da[at] = dproduct[at] * run.up(r)[i];
        dboth[(2 * r + 1) * n + i] = dproduct[at] * a[at];
      }
    const Dense dgate = run.gate_gradient(std::move(dactive));
    for (Index r = 0; r < rows; ++r)
      std::copy_n(dgate.values.template as<T>().data() + r * n, n, dboth.data() + 2 * r * n);
    return dboth;
  }
};

Outputs mix_experts_gradient(const Call& call) {
  const ExpertsCall g("mixture-of-experts.grad", call, 1);
  const Dense& dy = call.in[0].as<Dense>();
  return with_real("mixture-of-experts.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const ExpertRouting<T> routing = routing_of<T>(g);
    ExpertGradients<T> grads(g, dy, call);
    for (Index e = 0; e < g.experts; ++e)
      if (!routing.load[e].empty()) grads.add(routing, e);
    if (T* dlogits = grads.to(1)) routing.gradient(grads.dweights.data(), dlogits);
    Outputs out(4);
    for (std::size_t i = 0; i < 4; ++i)
      if (grads.out[i]) out[i] = std::move(*grads.out[i]);
    return out;
  });
}

}  // namespace

void add_mixture_of_experts(Operators& all) {
  const Name op("mixture-of-experts");
  all.declare(op, {SavedForBackward::inputs});
  all.add({op, std::vector<Name>(4, "dense"), {{}}}, mix_experts);
  all.add({"mixture-of-experts.grad", std::vector<Name>(5, "dense"), {{}, {}, {}, {}}},
          mix_experts_gradient);
}

}  // namespace sten
