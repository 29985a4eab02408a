#include "libsten/training/trainer/state_exchange.h"

#include "libsten/core/registry/registry.h"
#include "libsten/training/comm/together.h"

namespace sten {
namespace {

// Replaces values by those of rank 0.
class FromFirst {
 public:
  explicit FromFirst(Communicator& ranks) : ranks_(ranks) {}
  bool is_first() const { return ranks_.rank() == 0; }

  void pass(Index& n) { ranks_.broadcast(std::as_writable_bytes(std::span(&n, 1))); }
  void pass(std::string& text) { text = broadcast_text(ranks_, std::move(text)); }
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
    if (is_first()) std::copy(bytes.begin(), bytes.end(), mine.mutate());
    ranks_.broadcast({mine.mutate(), mine.size()});
    bytes = std::move(mine);
  }
  void pass(Tensor& t) {
    Stored s;
    if (is_first()) s = t.save();
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
    if (is_first()) return;
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
      if (!is_first()) {
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
};

}  // namespace

void broadcast_state(Communicator& ranks, TrainState& state) {
  FromFirst from(ranks);
  from.pass(state.step);
  auto size = std::ssize(state.parameters);
  from.pass(size);
  state.parameters.resize(static_cast<std::size_t>(size), Parameter(Dense::zeros(DType::F32, {})));
  for (Parameter& p : state.parameters) from.pass(p);
  from.pass_named(state.scores);
  from.pass(state.recoveries);
}

}  // namespace sten
