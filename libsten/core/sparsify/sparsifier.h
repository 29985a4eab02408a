// SPDX-License-Identifier: Apache-2.0
// Sparsifiers: choose which elements of a tensor stay. A sparsifier is a plain struct; its members
// decide its kind:
//
//  streaming      bool keep(v, Index i) const                one value at a time (v: float, and
//                                                            double for F64 if supported)
//  blocking       Index block() const
//                 void select(span<const float> in, span<uint8_t> keep) const
//                                                            block() neighbours, fewer at the end
//                                                            of a row; `keep` is 0 on entry
//                 bool select_by_row(const Dense& x, const MatrixView& lines, uint8_t* bits) const
//                                                            optional: the whole tensor at once,
//                                                            into a mask of zeros, or false
//  materializing  Mask select(const Dense& x, const Hints& h) const
//                 Mask select_stored(const Entries& x, const Hints& h) const
//                                                            optional: the mask [x.size()] of these
//                                                            entries, all others being 0, in memory
//                                                            proportional to the entries. The other
//                                                            kinds do not need it
//
// A materializing sparsifier declares the Hints it reads: static constexpr bool needs_scores =
// true, needs_pattern, needs_own. For scores it may have:
//  static Dense scores_of(const Dense& x, const Dense& gradient)
//                                     the scores of one gradient; default: the gradient itself
//  static void add_scores(Dense& scores, const Dense& x, const Dense& gradient)
//                                     adds the scores of one step; for scores summed over training
//  static constexpr bool scores_are_learned = true
//                                     scores are parameters, not computed from gradients of x
//
// Other optional members, of any kind:
//  static S make(const Spec&)         a sparsifier of a spec, or throws; checks the keys
//                                     (Spec::check_keys). Default: without keys
//  static constexpr SpecDoc doc       of a built-in sparsifier: what it keeps, for docs/formats.md
//  bool selects_on_device(const Dense& x) const   whether it can select on x's device; its hints
//                                     are on that device or on the CPU
//  Share share() const                the share that stays, if the parameters determine it.
//                                     Otherwise `sparsity` or `fraction` is the share pruned
//  std::uint64_t seed                 the spec's key `seed`; every tensor gets a seed of its own
//  static constexpr const char* own_keys[]
//                                     for the own_sparsifier of a layout (core/tensor/layout.h): keys of
//                                     its spec that are not the layout's
//  std::string_view fit_name() const  the name of the fit's algorithm, for reports
//
// Blocks run along the rows of the matrix view; the members `axis` and `dims` of a blocking
// sparsifier change this (matrix_view.h).
#pragma once
#include <memory>
#include <optional>
#include <typeinfo>

#include "libsten/core/base/name.h"
#include "libsten/core/base/spec.h"
#include "libsten/core/sparsify/kinds.h"
#include "libsten/core/tensor/layout.h"

namespace sten {

class Sparsifier;

// Inputs besides the tensor that some sparsifiers need.
struct Hints {
  const Mask* pattern = nullptr;    // the pattern that the tensor has
  const Dense* scores = nullptr;    // a score per element; the sparsifier defines their meaning
  const Sparsifier* own = nullptr;  // the tensor's own sparsifier
};

// The hints on the CPU, for a sparsifier that selects on the CPU.
class HintsHere {
 public:
  explicit HintsHere(const Hints& hints);
  HintsHere(const HintsHere&) = delete;
  HintsHere& operator=(const HintsHere&) = delete;
  const Hints& hints() const { return hints_; }

 private:
  Mask pattern_;
  Dense scores_;
  Hints hints_;
};

// n of every m elements stay.
struct Share {
  Index n = 0, m = 1;
  double sparsity() const { return 1 - static_cast<double>(n) / static_cast<double>(m); }
};

template <class S>
concept Materializing = Named<S> && requires(const S& s, const Dense& x, const Hints& h) {
  { s.select(x, h) } -> std::same_as<Mask>;
};

enum class Kind { streaming, blocking, materializing };
std::string_view name_of(Kind kind);

// A sparsifier of any kind as a value; copies share it.
class Sparsifier {
 public:
  template <class S>
  requires Streaming<S> || Blocking<S> || Materializing<S> Sparsifier(S s)
      : self_(std::make_shared<const Model<S>>(std::move(s))) {}

  Name name() const { return self_->name; }
  Kind kind() const { return self_->kind; }
  // The spec given to the registry, "threshold:at=0.5"; the name if it was made without the
  // registry.
  Spec spec() const { return spec_ ? *spec_ : Spec(std::string(name().text())); }
  bool has_spec() const { return spec_ != nullptr; }
  Sparsifier with_spec(const Spec& spec) const {
    Sparsifier s = *this;
    s.spec_ = std::make_shared<const Spec>(spec);
    return s;
  }
  bool needs_scores() const { return self_->needs_scores; }
  bool needs_pattern() const { return self_->needs_pattern; }
  bool needs_own() const { return self_->needs_own; }
  Dense scores_of(const Dense& x, const Dense& gradient) const {
    return self_->scores_of(x, gradient);
  }
  // Whether scores are summed over training, from 0 by add_scores().
  bool adds_scores() const { return self_->adds_scores; }
  void add_scores(Dense& scores, const Dense& x, const Dense& gradient) const {
    self_->add_scores(scores, x, gradient);
  }
  // Whether scores are parameters, not computed from gradients.
  bool scores_are_learned() const { return self_->scores_are_learned; }
  // The share that stays, if the parameters determine it.
  std::optional<Share> share() const { return self_->share(); }
  bool has_seed() const { return self_->has_seed; }
  // The fit's algorithm, such as "exact"; empty if there is only one.
  std::string_view fit_name() const { return self_->fit_name(); }
  // Returns the positions to keep. Deterministic for every number of threads. Error for a dtype or
  // shape that cannot be ranked. The mask is on x's device; the hints are there or on the CPU.
  // Without a device implementation, selects on the CPU (core/base/fallback.h).
  Mask select(const Dense& x, const Hints& hints = {}) const;
  // Whether select() runs on x's device.
  bool selects_on_device(const Dense& x) const { return self_->selects_on_device(x); }
  // The selection from these entries, all other elements being 0: a mask [x.size()], in memory
  // proportional to the entries. The hints are those of the whole tensor. Requires
  // selects_stored().
  Mask select_stored(const Entries& x, const Hints& hints = {}) const {
    return self_->select_stored(x, hints);
  }
  bool selects_stored() const { return self_->selects_stored; }

  // The struct it was made from; nullptr if that has another type.
  template <class S>
  const S* get() const {
    const Concept& self = *self_;
    return typeid(self) == typeid(Model<S>) ? &static_cast<const Model<S>&>(self).sparsifier
                                            : nullptr;
  }

  // Whether select_rows() can select from some rows without the others: streaming sparsifiers, and
  // blocking ones whose blocks run along rows.
  bool is_local() const { return self_->is_local; }
  // Selects like select() from `rows` neighbouring rows of a row-major matrix with `cols` columns,
  // starting at its element `first`; sets keep[i] to 1 or 0. For a streaming sparsifier, any run of
  // values is a row.
  void select_rows(const float* x, Index first, Index rows, Index cols, std::uint8_t* keep) const {
    self_->select_rows(x, first, rows, cols, keep);
  }
  void select_rows(const double* x, Index first, Index rows, Index cols, std::uint8_t* keep) const {
    self_->select_rows(x, first, rows, cols, keep);
  }

 private:
  struct Concept {
    Name name;
    Kind kind;
    bool needs_scores, needs_pattern, needs_own, adds_scores, scores_are_learned, has_seed;
    bool is_local, selects_stored;
    virtual ~Concept() = default;
    virtual Dense scores_of(const Dense& x, const Dense& gradient) const = 0;
    virtual void add_scores(Dense& scores, const Dense& x, const Dense& gradient) const = 0;
    virtual std::optional<Share> share() const = 0;
    virtual std::string_view fit_name() const = 0;
    virtual Mask select(const Dense& x, const Hints& h) const = 0;
    virtual bool selects_on_device(const Dense& x) const = 0;
    virtual Mask select_stored(const Entries& x, const Hints& h) const = 0;
    virtual void select_rows(const float*, Index, Index, Index, std::uint8_t*) const = 0;
    virtual void select_rows(const double*, Index, Index, Index, std::uint8_t*) const = 0;
  };
  template <class S>
  struct Model;

  std::shared_ptr<const Concept> self_;
  std::shared_ptr<const Spec> spec_;
};

template <class S>
struct Sparsifier::Model final : Concept {
  explicit Model(S s) : sparsifier(std::move(s)) {
    name = S::name;
    kind = Materializing<S> ? Kind::materializing : Streaming<S> ? Kind::streaming : Kind::blocking;
    needs_scores = needs_pattern = needs_own = scores_are_learned = false;
    if constexpr (requires { S::needs_scores; }) needs_scores = S::needs_scores;
    if constexpr (requires { S::needs_pattern; }) needs_pattern = S::needs_pattern;
    if constexpr (requires { S::needs_own; }) needs_own = S::needs_own;
    if constexpr (requires { S::scores_are_learned; }) scores_are_learned = S::scores_are_learned;
    adds_scores = requires(Dense & scores, const Dense& x) { S::add_scores(scores, x, x); };
    has_seed = requires { sparsifier.seed; };
    selects_stored = !Materializing<S> || requires(const Entries& x) {
      sparsifier.select_stored(x, Hints());
    };
    is_local = kind == Kind::streaming;
    if constexpr (Blocking<S> && !Materializing<S>) {
      is_local = true;
      if constexpr (requires { sparsifier.axis; }) is_local &= sparsifier.axis == 1;
      if constexpr (requires { sparsifier.dims; }) is_local &= !sparsifier.dims.given();
    }
  }
  Dense scores_of(const Dense& x, const Dense& gradient) const override {
    if constexpr (requires { S::scores_of(x, gradient); })
      return S::scores_of(x, gradient);
    else
      return gradient;
  }
  void add_scores([[maybe_unused]] Dense& scores, [[maybe_unused]] const Dense& x,
                  [[maybe_unused]] const Dense& gradient) const override {
    if constexpr (requires { S::add_scores(scores, x, gradient); })
      S::add_scores(scores, x, gradient);
    else
      fail_usage("{} has no additive scores", S::name);
  }
  std::optional<Share> share() const override {
    if constexpr (requires { sparsifier.share(); })
      return sparsifier.share();
    else
      return std::nullopt;
  }
  std::string_view fit_name() const override {
    if constexpr (requires { sparsifier.fit_name(); })
      return sparsifier.fit_name();
    else
      return "";
  }
  Mask select(const Dense& x, const Hints& h) const override {
    if constexpr (Materializing<S>) return sparsifier.select(x, h);
    if constexpr (!Materializing<S>) sparsify_detail::check_prunable(x.dtype());
    if constexpr (Streaming<S>)
      return sparsify_detail::stream(sparsifier, x.extents, x.values, [](Index i) { return i; });
    if constexpr (Blocking<S>) return sparsify_detail::block(sparsifier, x);
  }
  Mask select_stored(const Entries& x, [[maybe_unused]] const Hints& h) const override {
    sparsify_detail::check_prunable(x.values.dtype());
    if constexpr (requires { sparsifier.select_stored(x, h); })
      return sparsifier.select_stored(x, h);
    else if constexpr (Materializing<S>)
      fail_usage("{} needs the whole tensor", S::name);
    else if constexpr (Streaming<S>)
      return sparsify_detail::stream(sparsifier, {x.size()}, x.values,
                                     [&](Index k) { return x.at[k]; });
    else
      return sparsify_detail::block_stored(sparsifier, x);
  }
  bool selects_on_device([[maybe_unused]] const Dense& x) const override {
    if constexpr (requires { sparsifier.selects_on_device(x); })
      return sparsifier.selects_on_device(x);
    else
      return false;
  }
  void select_rows(const float* x, Index first, Index rows, Index cols,
                   std::uint8_t* keep) const override {
    select_by_row(x, first, rows, cols, keep);
  }
  void select_rows(const double* x, Index first, Index rows, Index cols,
                   std::uint8_t* keep) const override {
    select_by_row(x, first, rows, cols, keep);
  }

  S sparsifier;

 private:
  template <class T>
  void select_by_row(const T* x, Index first, Index rows, Index cols, std::uint8_t* keep) const {
    if constexpr (Streaming<S>) {
      for (Index i = 0; i < rows * cols; ++i) keep[i] = sparsifier.keep(x[i], first + i);
    } else if constexpr (Blocking<S> && !Materializing<S>) {
      using In = std::conditional_t<sparsify_detail::SelectsAs<S, T>, T, float>;
      const Index b = std::min<Index>(sparsifier.block(), cols);
      if (b < 1) return;
      std::vector<In> in(b);
      std::fill_n(keep, rows * cols, std::uint8_t{0});
      for (Index r = 0; r < rows; ++r)
        for (Index c = 0; c < cols; c += b) {
          const Index width = std::min(b, cols - c), at = r * cols + c;
          for (Index j = 0; j < width; ++j) in[j] = static_cast<In>(x[at + j]);
          sparsifier.select(std::span<const In>(in.data(), width), std::span(keep + at, width));
        }
    } else {
      fail_usage("{} needs the whole tensor", S::name);
    }
  }
};

}  // namespace sten
