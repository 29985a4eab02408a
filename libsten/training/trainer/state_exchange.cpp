// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/state_exchange.h"

#include "libsten/core/registry/registry.h"
#include "libsten/training/comm/together.h"
#include "libsten/training/optim/gradients.h"
#include "libsten/training/trainer/recovery_json.h"

namespace sten {
namespace {

// Replaces values by those of one rank.
class FromRank {
 public:
  explicit FromRank(Communicator& ranks, int from = 0) : ranks_(ranks), from_(from) {}
  bool sends() const { return ranks_.rank() == from_; }

  void pass(Index& n) { ranks_.broadcast(std::as_writable_bytes(std::span(&n, 1)), from_); }
  void pass(std::string& text) { text = broadcast_text(ranks_, std::move(text), from_); }
  void pass(DType& dtype) {
    std::string name(name_of(dtype));
    pass(name);
    dtype = *dtype_from(name);
  }
  void pass(Shape& shape) {
    resize(shape);
    for (Index& n : shape) pass(n);
  }
  void pass(Array<std::byte>& bytes) {
    auto size = static_cast<Index>(bytes.size());
    pass(size);
    auto mine = Array<std::byte>::uninitialized(static_cast<std::size_t>(size));
    if (sends()) std::copy(bytes.begin(), bytes.end(), mine.mutate());
    ranks_.broadcast({mine.mutate(), mine.size()}, from_);
    bytes = std::move(mine);
  }
  void pass(Tensor& t) {
    Stored s;
    if (sends()) s = t.save();
    std::string layout = s.layout.str();
    pass(layout);
    pass(s.shape);
    pass(s.dtype);
    resize(s.parts);
    for (Part& p : s.parts) {
      pass(p.name);
      pass(p.dtype);
      pass(p.shape);
      pass(p.bytes);
    }
    if (sends()) return;
    s.layout = Spec::parse(layout);
    t = registry().load(s);
  }
  void pass(Parameter& p) {
    pass(p.name);
    pass(p.value);
    pass_named(p.state);
  }
  void pass(std::vector<RecoveryState>& all) {
    resize(all);
    for (RecoveryState& r : all) {
      std::string text = dump_json(to_json(r));
      pass(text);
      if (!sends()) {
        const nlohmann::ordered_json json = parse_json(text, "state of rank 0");
        r = read_recovery(JsonReader(json, "state of rank 0"));
      }
      if (r.before) pass(*r.before);
    }
  }
  // A map or list of names and tensors.
  template <class M>
  void pass_named(M& named) {
    std::vector<std::pair<std::string, Tensor>> all;
    for (auto& [name, t] : named) all.emplace_back(name, t);
    auto size = std::ssize(all);
    pass(size);
    all.resize(static_cast<std::size_t>(size), {"", Dense::zeros(DType::F32, {})});
    named.clear();
    for (auto& [name, t] : all) {
      pass(name);
      pass(t);
      named.emplace(name, std::move(t));
    }
  }

 private:
  template <class V>
  void resize(V& v) {
    Index size = std::ssize(v);
    pass(size);
    v.resize(static_cast<std::size_t>(size));
  }

  Communicator& ranks_;
  const int from_;
};

}  // namespace

void broadcast_state(Communicator& ranks, TrainState& state) {
  FromRank from(ranks);
  from.pass(state.step);
  auto size = std::ssize(state.parameters);
  from.pass(size);
  state.parameters.resize(static_cast<std::size_t>(size), Parameter(Dense::zeros(DType::F32, {})));
  for (Parameter& p : state.parameters) from.pass(p);
  from.pass_named(state.scores);
  from.pass(state.recoveries);
  auto with_residuals = std::ssize(state.residuals);
  from.pass(with_residuals);
  auto mine = state.residuals.begin();
  for (Index i = 0; i < with_residuals; ++i) {
    Index rank = from.sends() ? (mine++)->first : 0;
    from.pass(rank);
    from.pass_named(state.residuals[static_cast<int>(rank)]);
  }
}

void gather_residuals(Communicator& ranks, TrainState& state) {
  for (int r = 1; r < ranks.size(); ++r) {
    NamedValues<Tensor> passed;
    if (ranks.rank() == r) passed = state.residuals[r];
    FromRank(ranks, r).pass_named(passed);
    if (ranks.rank() == 0 && !passed.empty()) state.residuals[r] = std::move(passed);
  }
}

void take_residuals(const Communicator& ranks, TrainState& state) {
  NamedValues<Tensor> mine;
  for (auto& [rank, residuals] : state.residuals) {
    if (rank % ranks.size() != ranks.rank()) continue;
    for (auto& [name, x] : residuals) {
      const auto at = mine.find(name);
      if (at == mine.end())
        mine.emplace(name, std::move(x));
      else
        add_gradient(at->second, x);
    }
  }
  state.residuals.clear();
  if (!mine.empty()) state.residuals.emplace(ranks.rank(), std::move(mine));
}

}  // namespace sten
