#include "libsten/graph/executor.h"

#include <ctime>
#include <set>

#include "libsten/base/parallel.h"

namespace sten {
namespace {

double now() {
  timespec t{};
  clock_gettime(threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Index bytes_of(const Tensor& x) { return static_cast<Index>(x.bytes()); }

// Of a product with what the weight stores.
double flops_of(const Node& n, std::span<const Tensor> in, const Tensor& out) {
  const auto elements = static_cast<double>(size_of(out.shape()));
  if (n.op.text() == "linear" && in[1].values()) {
    const double rows = std::max<double>(1, static_cast<double>(in[1].shape().front()));
    return 2 * elements / rows * static_cast<double>(in[1].values()->size());
  }
  if (n.op.text() != "attention") return 0;
  const auto keys = static_cast<double>(in[1].shape()[1]);
  const auto width = static_cast<double>(in[0].shape()[2]);
  return 2 * keys * elements *
         (1 + width / std::max<double>(1, static_cast<double>(out.shape()[2])));
}

Tensor call(const Node& n, std::span<const Tensor> in) {
  try {
    return apply(n.op, in, n.attributes, n.formats.out);
  } catch (const Unsupported&) {
    throw;
  } catch (const Error& e) {
    throw Error(e.fault(), fmt::format("node {}: {}", quote(n.name), e.what()));
  }
}

}  // namespace

struct Executor::State {
  Graph graph;
  NamedValues<Tensor> weights;
  ExecutorOptions options;
  ExecutionPlan plan{};
  NamedValues<Tensor> outputs{};
  std::vector<std::vector<std::string>> last_uses{};  // of each node
  bool was_run = false;

  void plan_uses() {
    std::set<std::string, std::less<>> kept(graph.outputs().begin(), graph.outputs().end());
    last_uses.resize(graph.nodes().size());
    for (std::size_t i = graph.nodes().size(); i-- > 0;) {
      const Node& n = graph.nodes()[i];
      for (const std::string& name : n.inputs)
        if (kept.insert(name).second) last_uses[i].push_back(name);
      if (kept.insert(n.name).second) last_uses[i].push_back(n.name);
    }
  }

  void begin(NamedValues<Tensor>& values, const NamedValues<Tensor>& inputs) {
    graph.check_inputs(inputs);
    values = inputs;
    plan.weight_bytes = 0;
    for (const auto& [name, x] : weights) {
      values.emplace(name, x);
      plan.weight_bytes += bytes_of(x);
    }
    for (const Constant& c : graph.constants()) {
      values.emplace(c.name, Tensor(c.value));
      plan.weight_bytes += static_cast<Index>(c.value.values.bytes().size());
    }
  }

  void step(std::size_t i, NamedValues<Tensor>& values, Index& live) {
    const Node& n = graph.nodes()[i];
    ExecutionStep& s = plan.steps[i];
    std::vector<Tensor> in;
    for (const std::string& name : n.inputs) in.push_back(values.find(name)->second);
    std::vector<std::string> log;
    if (!was_run) Operators::log_plans(&log);
    const double start = now();
    const Tensor out = [&] {
      try {
        return call(n, in);
      } catch (...) {
        Operators::log_plans(nullptr);
        throw;
      }
    }();
    s.seconds = now() - start;
    Operators::log_plans(nullptr);
    if (!was_run && !log.empty()) s.why = log.back();
    s.flops = flops_of(n, in, out);
    s.bytes = static_cast<double>(bytes_of(out));
    for (const Tensor& x : in) {
      s.bytes += static_cast<double>(bytes_of(x));
      if (x.layout() != Dense::name) s.layout = x.spec().str();
    }
    live += bytes_of(out);
    plan.live_bytes = plan.peak_bytes = std::max(plan.live_bytes, live);
    values.emplace(n.name, out);
    in.clear();
    for (const std::string& done : last_uses[i]) {
      const auto at = values.find(done);
      if (graph.find_node(done)) live -= bytes_of(at->second);
      values.erase(at);
    }
  }
};

Executor::Executor(Graph graph, NamedValues<Tensor> weights, const ExecutorOptions& options)
    : state_(std::make_unique<State>(State{std::move(graph), std::move(weights), options})) {
  state_->graph.check_weights(state_->weights);
  state_->plan_uses();
  for (const Node& n : state_->graph.nodes())
    state_->plan.steps.push_back({{n.name}, std::string(n.op.text()), "", "", 0, 0, 0});
}

Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

const ExecutionPlan& Executor::plan() const { return state_->plan; }
const Graph& Executor::graph() const { return state_->graph; }

const NamedValues<Tensor>& Executor::run(const NamedValues<Tensor>& inputs) {
  State& s = *state_;
  const double start = now();
  NamedValues<Tensor> values;
  s.begin(values, inputs);
  s.outputs.clear();
  Index live = 0;
  s.plan.live_bytes = s.plan.peak_bytes = 0;
  for (std::size_t i = 0; i < s.graph.nodes().size(); ++i) s.step(i, values, live);
  for (const std::string& name : s.graph.outputs())
    s.outputs.emplace(name, values.find(name)->second);
  s.was_run = true;
  s.plan.seconds = now() - start;
  return s.outputs;
}

}  // namespace sten
