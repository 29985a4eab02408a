// A value in any layout, the user's own included.
#pragma once
#include <memory>
#include <typeinfo>

#include "libsten/base/derived.h"
#include "libsten/tensor/layout.h"

namespace sten {

// Copying shares; a Tensor never changes once made.
class Tensor {
 public:
  template <Layout L>
  Tensor(L layout) : self_(std::make_shared<Model<L>>(std::move(layout))) {}

  std::string_view layout() const { return self_->layout(); }
  Shape shape() const { return self_->shape(); }
  Dense to_dense() const { return self_->to_dense(); }
  // Positions the layout stores. n:m and n:m:g cannot tell a kept zero from a filler: all slots.
  Mask stored() const { return self_->stored(); }
  // Whether some of them may be fillers of value 0.
  bool has_fillers() const { return self_->has_fillers(); }
  // Shares the tensor's memory.
  Stored save() const { return self_->save(); }
  // Bytes of all parts.
  std::size_t bytes() const;
  // Elements of padding per element of the tensor: 0.67 where the layout stores 1.67 times as many.
  double padding() const { return self_->padding(); }

  // What is computed from the tensor and kept with it, copies included.
  const Derived& derived() const { return self_->derived; }

  template <Layout L>
  const L& as() const {
    if (layout() != L::name) fail_usage("the tensor is {}, not {}", layout(), L::name);
    const Concept& self = *self_;
    if (typeid(self) != typeid(Model<L>))
      fail_usage("the tensor's layout {} is another type of that name", layout());
    return static_cast<const Model<L>&>(*self_).value;
  }

 private:
  struct Concept {
    virtual ~Concept() = default;
    virtual std::string_view layout() const = 0;
    virtual Shape shape() const = 0;
    virtual Dense to_dense() const = 0;
    virtual Mask stored() const = 0;
    virtual bool has_fillers() const = 0;
    virtual Stored save() const = 0;
    virtual double padding() const = 0;
    Derived derived;
  };
  template <Layout L>
  struct Model final : Concept {
    explicit Model(L v) : value(std::move(v)) {}
    std::string_view layout() const override { return L::name; }
    Shape shape() const override { return value.shape(); }
    Dense to_dense() const override { return value.to_dense(); }
    Mask stored() const override {
      if constexpr (requires { value.stored(); })
        return value.stored();
      else
        return nonzero_mask(value.to_dense());
    }
    bool has_fillers() const override {
      return requires { L::has_fillers; };
    }
    Stored save() const override { return sten::save(value); }
    double padding() const override {
      if constexpr (requires { value.padding(); })
        return value.padding();
      else
        return 0;
    }
    L value;
  };
  std::shared_ptr<const Concept> self_;
};

}  // namespace sten
