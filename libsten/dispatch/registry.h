// The process's tables of layouts and sparsifiers, by name.
#pragma once
#include <functional>
#include <map>
#include <shared_mutex>

#include "libsten/sparsify/sparsifier.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// What an implementation of a sparsifier gets besides the sparsifier and the tensor.
struct SparsifyCall {
  const Spec& layout;  // to write
  const Hints& hints;
  // Becomes the positions that stay, unless it is nullptr. Left alone, those that the result stores.
  Mask* kept = nullptr;
};

// A way from a tensor in one layout to what a sparsifier keeps of it, in another. What selecting from
// the dense form, and dropping what is not stored, would give; Unsupported for tensors it cannot
// handle, which go that way then.
struct SparsifierImplementation {
  std::string sparsifier, in, out;
  // Whether it serves these numbers; layouts are those above.
  std::function<bool(const Sparsifier& s, const Spec& in, const Spec& out)> serves;
  std::function<Tensor(const Sparsifier& s, const Tensor& x, const SparsifyCall& call)> run;

  // Instead of a sparsifier's name: all that can choose among entries (Sparsifier::selects_stored).
  static constexpr const char* any_stored = "*stored";
};

class Registry {
 public:
  // Makes L known to files, conversions and programs. `example` is a spec that the tests of every
  // registered layout use. A registered name is replaced, and loses its edges.
  template <Layout L>
  void add_layout(const Spec& example = Spec(L::name));
  // A lossless way from one layout to another that spares dense: the same positions and values,
  // rows and columns as the same dimensions, or Error where To cannot hold them. `to` is the spec
  // to reach, or the layout's name and dims where the way goes on: a layout whose spec needs more
  // is an end only. Both layouts are registered before; the edge may come anew.
  template <Layout From, Layout To>
  void add_edge(To (*convert)(const From& x, const Spec& to));
  // `make` turns a spec into a sparsifier or throws; it checks the keys (Spec::check_keys). Those
  // of `own_keys` are its own where it is the own_sparsifier of a layout.
  void add_sparsifier(std::string name, const Spec& example,
                      std::function<Sparsifier(const Spec&)> make,
                      std::vector<std::string> own_keys = {});
  // The same for an S with a name and a static S make(const Spec&).
  template <class S>
  void add_sparsifier(const Spec& example) {
    std::vector<std::string> own_keys;
    if constexpr (requires { S::own_keys; })
      own_keys.assign(std::begin(S::own_keys), std::end(S::own_keys));
    add_sparsifier(
        S::name, example, [](const Spec& s) { return S::make(s); }, std::move(own_keys));
  }

  // run(const S&, const In&, const SparsifyCall&) gives an Out (SparsifierImplementation). `serves`,
  // if not empty, has to agree. All three are registered before, and to register one of them anew
  // ends it; the same three, or what is `any_stored`, replace.
  template <class S, Layout In, Layout Out, class F>
  void add_implementation(
      F run, std::function<bool(const S&, const Spec& in, const Spec& out)> serves = nullptr);
  void add_implementation(SparsifierImplementation made);
  // Those that may serve the sparsifier: of its name, then of any.
  using Implementations = std::vector<std::shared_ptr<const SparsifierImplementation>>;
  Implementations implementations(const Sparsifier& s) const;

  // Error (usage) where the layout is unknown or the spec can never be packed; what is near is
  // suggested.
  void check_layout(const Spec& spec) const;
  // The spec, checked so, with its keys in the layout's own order.
  Spec canonical(const Spec& spec) const;
  // x where the mask keeps it, exactly, or Error. On x's device, as prune(); falls back to the CPU
  // where the layout is not packed there.
  Tensor pack(const Dense& x, const Mask& keep, const Spec& layout) const;
  // What a sparsifier keeps of x, packed; in one step with an implementation for dense.
  // `kept` gets the mask, if needed.
  Tensor prune(const Dense& x, const Sparsifier& s, const Spec& layout, const Hints& hints = {},
               Mask* kept = nullptr) const;
  Tensor prune(const Dense& x, const Spec& sparsifier, const Spec& layout, const Hints& hints = {},
               Mask* kept = nullptr) const {
    return prune(x, this->sparsifier(sparsifier), layout, hints, kept);
  }
  // From parts read elsewhere, all of them checked: Error.
  Tensor load(const Stored& stored) const;
  // Names of the parts a layout is saved as, in order.
  const std::vector<std::string>& part_names(std::string_view layout) const;
  // Whether a tensor in the layout may be without one of these parts.
  bool is_optional_part(std::string_view layout, std::string_view part) const;
  Sparsifier sparsifier(const Spec& spec) const;

  // Edges from a layout, by name: what it leads to.
  using Edge = std::function<Tensor(const Tensor&, const Spec& to)>;
  std::map<std::string, Edge> edges(std::string_view from) const;
  // Whether specs of the layout have that key.
  bool has_key(std::string_view layout, std::string_view key) const;
  // Whether the layout's name alone is not a spec of it, as its example shows.
  bool needs_parameters(std::string_view layout) const;

  // Whether it is registered and holds any set of positions of a matrix, whatever its numbers:
  // static constexpr bool holds_any_pattern of the layout.
  bool holds_any_pattern(std::string_view layout) const;
  // The name of its own_sparsifier; empty without one, and for an unknown layout.
  std::string own_sparsifier(std::string_view layout) const;
  // Whether its numbers say which sets of positions it holds: those of its own sparsifier.
  bool is_structure(std::string_view layout) const;
  // Whether a structure holds all that `other` does, of a layout with its own sparsifier.
  bool includes(const Spec& layout, const Spec& other) const;
  // Bytes of all parts where those positions are packed; none where they are refused, or where to
  // pack them is the only way to know and such a list exists. A structure holds them.
  std::optional<Index> bytes(const Spec& layout, const Occupancy& of) const;

  struct Example {
    std::string name;
    Spec spec;
  };
  // In the order in which they were added first: the built-in ones, as reports have them, come
  // before others.
  std::vector<Example> layouts() const;
  // By name.
  std::vector<Example> sparsifiers() const;
  // Of the sparsifier: keys that are none of the layout's whose own it is.
  std::vector<std::string> own_keys(std::string_view sparsifier) const;

 private:
  struct LayoutEntry {
    Spec example;
    std::size_t order = 0;
    bool holds_any_pattern = false;
    std::string own_sparsifier;
    std::vector<std::string> keys, part_names, optional_parts;
    std::function<bool(const Spec&, const Spec& other)> includes;
    std::function<std::optional<Index>(const Spec&, const Occupancy&)> bytes;  // may be empty
    std::function<void(const Spec&)> check;
    std::function<Tensor(const Dense&, const Mask&, const Spec&)> pack;
    std::function<bool(const Shape&, const Spec&)> packs_on_device;
    std::function<Tensor(const Stored&)> load;
  };
  struct SparsifierEntry {
    Spec example;
    std::function<Sparsifier(const Spec&)> make;
    std::vector<std::string> own_keys;
  };
  void add(std::string name, LayoutEntry entry);
  void add(std::string from, std::string to, Edge edge);
  const LayoutEntry& layout(std::string_view name) const;

  mutable std::shared_mutex lock_;
  std::map<std::string, LayoutEntry, std::less<>> layouts_;
  std::map<std::string, SparsifierEntry, std::less<>> sparsifiers_;
  std::map<std::string, std::map<std::string, Edge>, std::less<>> edges_;
  std::map<std::string, Implementations, std::less<>> implementations_;  // by sparsifier
};

// The process-wide one, with the built-ins in it.
Registry& registry();

// For namespace scope: where a file says `const bool added = add_layout<Mine>("mine:k=1");`, every
// program that it is linked to knows the layout.
template <Layout L>
bool add_layout(std::string_view example) {
  registry().add_layout<L>(Spec::parse(example));
  return true;
}
template <class S>
bool add_sparsifier(std::string_view example) {
  registry().add_sparsifier<S>(Spec::parse(example));
  return true;
}
template <Layout From, Layout To>
bool add_edge(To (*convert)(const From& x, const Spec& to)) {
  registry().add_edge<From, To>(convert);
  return true;
}

// run(const S& s, const In& x, const SparsifyCall& call): what s keeps of x, as call.layout.
template <class S, Layout In, Layout Out>
bool add_sparsifier_implementation(Out (*run)(const S&, const In&, const SparsifyCall&)) {
  registry().add_implementation<S, In, Out>(run);
  return true;
}

template <class S, Layout In, Layout Out, class F>
void Registry::add_implementation(
    F run, std::function<bool(const S&, const Spec& in, const Spec& out)> serves) {
  add_implementation(
      {S::name, In::name, Out::name,
       [serves = std::move(serves)](const Sparsifier& s, const Spec& in, const Spec& out) {
         const S* own = s.get<S>();
         return own && (!serves || serves(*own, in, out));
       },
       [run](const Sparsifier& s, const Tensor& x, const SparsifyCall& call) -> Tensor {
         return Out(run(*s.get<S>(), x.as<In>(), call));
       }});
}

template <Layout From, Layout To>
void Registry::add_edge(To (*convert)(const From&, const Spec&)) {
  add(From::name, To::name,
      [convert](const Tensor& x, const Spec& to) -> Tensor { return convert(x.as<From>(), to); });
}

template <Layout L>
void Registry::add_layout(const Spec& example) {
  LayoutEntry e;
  e.example = example;
  e.holds_any_pattern = requires { L::holds_any_pattern; };
  if constexpr (requires { L::own_sparsifier; }) e.own_sparsifier = L::own_sparsifier;
  e.includes = [](const Spec& s, const Spec& other) {
    if constexpr (requires { L::includes(s, other); })
      return L::includes(s, other);
    else
      return s == other;
  };
  if constexpr (requires(const Spec& s, const Occupancy& of) {
                  { L::bytes(s, of) } -> std::convertible_to<std::optional<Index>>;
                })
    e.bytes = [](const Spec& s, const Occupancy& of) { return L::bytes(s, of); };
  L blank;
  L::parts(blank, parts_detail::KeyLister{e.keys, e.part_names, e.optional_parts});
  e.check = [](const Spec& s) {
    if constexpr (requires { L::check(s); }) L::check(s);
  };
  e.pack = [](const Dense& x, const Mask& m, const Spec& s) -> Tensor { return L::pack(x, m, s); };
  e.packs_on_device = []([[maybe_unused]] const Shape& shape, [[maybe_unused]] const Spec& s) {
    if constexpr (requires { L::packs_on_device(shape, s); })
      return L::packs_on_device(shape, s);
    else
      return false;
  };
  e.load = [](const Stored& s) -> Tensor { return sten::load<L>(s); };
  add(L::name, std::move(e));
}

}  // namespace sten
