// SPDX-License-Identifier: Apache-2.0
// Tensor: an immutable value of any layout, including layouts of users.
#pragma once
#include <memory>
#include <typeinfo>
#include <utility>

#include "libsten/core/base/derived.h"
#include "libsten/core/base/device.h"
#include "libsten/core/base/name.h"
#include "libsten/core/tensor/layout.h"

namespace sten {

// Copies share memory.
class Tensor {
 public:
  template <Layout L>
  Tensor(L layout) : self_(std::make_shared<Model<L>>(std::move(layout))) {}

  std::string_view layout() const { return self_->layout(); }
  Name layout_name() const { return self_->layout_name(); }
  // The layout with its parameters: "nmg:n=1,m=10,g=4".
  Spec spec() const { return self_->spec(); }
  DType dtype() const { return values() ? values()->dtype() : save().dtype; }
  Device device() const { return self_->device(); }
  // The tensor on `device`: shares memory if it is there already, else copies.
  Tensor to(Device device) const;
  Shape shape() const { return self_->shape(); }
  // The dense form on the tensor's device. A layout without a device implementation is converted on
  // the CPU (core/base/fallback.h).
  Dense to_dense() const;
  // The stored positions. n:m and n:m:g return all slots, since fillers equal kept zeros.
  Mask stored() const;
  // Whether some stored positions may be fillers of value 0.
  bool has_fillers() const { return self_->has_fillers(); }
  // The parts; shares the tensor's memory.
  Stored save() const { return self_->save(); }
  std::size_t bytes() const;
  // Elements of padding per element of the tensor: 0.67 if 1.67 times as many are stored.
  double padding() const { return self_->padding(); }

  // The layout's field `values` in its own order, including padding and fillers; nullptr for a
  // layout without such a field.
  const Values* values() const { return self_->values(); }
  // The same positions with other values: as many and in the same order, possibly of another dtype.
  // Error (usage) for a layout without `values`.
  Tensor with_values(Values v) const;
  // Calls f(Values&) on the tensor's values, in place if nothing else shares them.
  template <class F>
  static Tensor update(Tensor t, F&& f) {
    Values v = t.take_values();
    f(v);
    return t.with_values(std::move(v));
  }

  // If nothing else shares the tensor or its values, calls f(Values&), which overwrites the values,
  // and drops derived values; allocates nothing. Else returns false.
  template <class F>
  bool overwrite(F&& f) {
    if (self_.use_count() != 1) return false;
    Values* v = self_->own_values();
    if (!v || v->bytes().is_shared()) return false;
    self_->derived = Derived();
    f(*v);
    return true;
  }

  // Values derived from the tensor, shared by its copies.
  const Derived& derived() const { return self_->derived; }
  // Values derived from the positions only; with_values() passes them on to its result.
  const Derived& of_positions() const { return *shared_positions(); }

  template <Layout L>
  bool is() const {
    const Concept& self = *self_;
    return typeid(self) == typeid(Model<L>);
  }
  template <Layout L>
  const L& as() const {
    if (!is<L>()) {
      if (layout() != L::name)
        fail_usage("the tensor has layout {}, expected {}", layout(), L::name);
      fail_usage("the tensor's layout {} is another type of the same name", layout());
    }
    return static_cast<const Model<L>&>(*self_).value;
  }

 private:
  struct Concept {
    virtual ~Concept() = default;
    virtual std::string_view layout() const = 0;
    virtual Name layout_name() const = 0;
    virtual Spec spec() const = 0;
    virtual Device device() const = 0;
    virtual bool unpacks_on_device() const = 0;
    virtual bool stored_on_device() const = 0;
    virtual std::shared_ptr<Concept> to(Device device) const = 0;
    virtual const Values* values() const = 0;
    virtual Values* own_values() = 0;
    virtual Values take_values() = 0;
    virtual std::shared_ptr<Concept> with_values(Values v) const = 0;
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
    Name layout_name() const override {
      static const Name name(L::name);
      return name;
    }
    Spec spec() const override {
      Spec s(L::name);
      L::parts(value, parts_detail::SpecWriter{s});
      return s;
    }
    Device device() const override { return device_of(value); }
    bool unpacks_on_device() const override {
      if constexpr (requires { value.unpacks_on_device(); })
        return value.unpacks_on_device();
      else
        return false;
    }
    bool stored_on_device() const override {
      if constexpr (requires { value.stored_on_device(); })
        return value.stored_on_device();
      else
        return false;
    }
    std::shared_ptr<Concept> to(Device device) const override {
      return std::make_shared<Model>(move_to(value, device));
    }
    static constexpr bool has_values = requires(L l) {
      { (l.values) } -> std::same_as<Values&>;
    };
    const Values* values() const override {
      if constexpr (has_values)
        return &value.values;
      else
        return nullptr;
    }
    Values* own_values() override {
      if constexpr (has_values)
        return &value.values;
      else
        return nullptr;
    }
    Values take_values() override {
      if constexpr (has_values)
        return std::exchange(value.values, {});
      else
        return {};
    }
    std::shared_ptr<Concept> with_values(Values v) const override {
      if constexpr (has_values) {
        L other = value;
        other.values = std::move(v);
        return std::make_shared<Model>(std::move(other));
      } else {
        return nullptr;
      }
    }
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

  explicit Tensor(std::shared_ptr<Concept> self) : self_(std::move(self)) {}
  // The values, taken from the tensor if nothing else shares it.
  Values take_values();
  std::shared_ptr<Derived> shared_positions() const {
    return *derived().get<std::shared_ptr<Derived>>([] { return std::make_shared<Derived>(); });
  }

  std::shared_ptr<Concept> self_;
};

}  // namespace sten
