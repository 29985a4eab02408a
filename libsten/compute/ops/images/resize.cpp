// SPDX-License-Identifier: Apache-2.0
// Resizing of images by nearest elements, linear or cubic interpolation, as ONNX's Resize with
// `nearest`, `linear` and `cubic` (Keys 1981).
#include "libsten/compute/ops/images/resize.h"

#include <cmath>
#include <map>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/indices.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/images/image_map.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

// The coordinate of an output element along an axis of x.
enum class Coordinates {
  half_pixel,
  pytorch_half_pixel,
  half_pixel_symmetric,
  tf_half_pixel,  // TensorFlow's, for nearest; in ONNX opset 11
  asymmetric,
  align_corners
};
enum class Mode { nearest, linear, cubic };
enum class Nearest { round_prefer_floor, round_prefer_ceil, floor, ceil };

template <class E>
E word_among(std::string_view op, const Attributes& a, const char* name,
             const std::map<std::string, E>& all, const std::string& fallback) {
  const std::string& word = a.word(name, fallback);
  const auto at = all.find(word);
  if (at == all.end()) fail_usage("{}: unknown {} {}", op, name, quote(word));
  return at->second;
}

// The values of input `to` for the spatial axes. Those of images and channels must keep their
// extents.
template <class T>
std::vector<T> spatial_values(std::string_view op, const Dense& to, const Shape& x,
                              const std::vector<T>& all, bool are_scales) {
  const auto saves = [&](std::size_t d) {
    return all[d] == static_cast<T>(are_scales ? Index{1} : x[d]);
  };
  if (to.extents.size() != 1 || all.size() != x.size() || !saves(0) || !saves(x.size() - 1))
    fail_usage("{}: x {} cannot be resized by {} {}", op, to_string(x), to_string(to.extents),
               are_scales ? "scales" : "sizes");
  return {all.begin() + 1, all.end() - 1};
}

// The requested `size` of the result or `scales`, from attributes or input `to`.
struct ResizeTo {
  std::vector<Index> size;
  std::vector<double> scales;

  ResizeTo(std::string_view op, const Shape& x, const Attributes& a, const Tensor* to)
      : size(a.list("size", {})), scales(resize_scales(op, a, x.size() < 2 ? 0 : x.size() - 2)) {
    if (!to) return;
    if (!size.empty() || !scales.empty() || x.size() < 2)
      fail_usage("{}: sizes or scales are given as attributes and as an input", op);
    const Dense& t = to->as<Dense>();
    if (t.dtype() == DType::F32) {
      const auto v = t.values.as<float>();
      scales = spatial_values<double>(op, t, x, {v.begin(), v.end()}, true);
    } else {
      size = spatial_values<Index>(op, t, x, integers_of(op, "the size", t), false);
    }
  }
};

class Resize : public ImageMap {
 public:
  // If sizes and scales are given, scales determine the coordinates.
  Resize(std::string_view op, const Shape& x, const Attributes& a, const Tensor* given)
      : ImageMap(op, x) {
    a.check(op, {"size", "scales", "mode", "coordinates", "nearest", "cubic", "exclude-outside"});
    mode_ = word_among<Mode>(
        op, a, "mode",
        {{"nearest", Mode::nearest}, {"linear", Mode::linear}, {"cubic", Mode::cubic}}, "nearest");
    cubic_ = a.number("cubic", -0.75);
    excludes_outside_ = a.integer("exclude-outside", 0) != 0;
    using enum Coordinates;
    coordinates_ = word_among<Coordinates>(op, a, "coordinates",
                                           {{"half-pixel", half_pixel},
                                            {"pytorch-half-pixel", pytorch_half_pixel},
                                            {"half-pixel-symmetric", half_pixel_symmetric},
                                            {"tf-half-pixel", tf_half_pixel},
                                            {"asymmetric", asymmetric},
                                            {"align-corners", align_corners}},
                                           "half-pixel");
    nearest_ = word_among<Nearest>(op, a, "nearest",
                                   {{"round-prefer-floor", Nearest::round_prefer_floor},
                                    {"round-prefer-ceil", Nearest::round_prefer_ceil},
                                    {"floor", Nearest::floor},
                                    {"ceil", Nearest::ceil}},
                                   "round-prefer-floor");
    const ResizeTo to(op, x, a, given);
    if (to.size.empty() ? to.scales.empty() : to.size.size() != axes)
      fail_usage("{}: size {} does not fit x {}", op, to_string(to.size), to_string(x));
    for (std::size_t i = 0; i < axes; ++i) {
      constexpr double most = 0x1p31;
      const std::size_t d = first() + i;
      const auto n = static_cast<double>(size[d]);
      by_scales_ = !to.scales.empty();
      const double scale = by_scales_ ? to.scales[i] : 1;
      const double wanted =
          to.size.empty() ? scaled_extent(size[d], scale) : static_cast<double>(to.size[i]);
      if (!(wanted >= 1 && wanted <= most && scale > 0))
        fail_usage("{}: the extent {} of x cannot become {}", op, size[d], wanted);
      result[d] = static_cast<Index>(wanted);
      // The same quotient without rounding error if sizes are given.
      step_[d] = by_scales_ ? 1 : n;
      per_[d] = by_scales_ ? scale : wanted;
      resized_[d] = by_scales_ ? scale * n : wanted;
    }
  }

  // Element o of the result is the sum of share[i] * x[at[i]] along axis d. The elements ascend.
  struct Samples {
    std::array<Index, 4> at;
    std::array<double, 4> share;
    std::size_t count;
  };
  Samples samples(std::size_t d, Index o) const {
    const double at = place(d, static_cast<double>(o)), below = std::floor(at), part = at - below;
    const auto last = static_cast<double>(size[d] - 1);
    const auto within = [=](double v) { return static_cast<Index>(std::clamp(v, 0.0, last)); };
    if (mode_ == Mode::nearest) return {{within(nearest(at))}, {1}, 1};
    if (part == 0 && below >= 0 && below <= last) return {{within(below)}, {1}, 1};
    if (mode_ == Mode::linear) {
      const Index low = within(below), high = within(below + 1);
      return low == high ? Samples{{low}, {1}, 1} : Samples{{low, high}, {1 - part, part}, 2};
    }
    Samples all{{}, {}, 4};
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const double v = below + static_cast<double>(i) - 1;
      const bool is_out = excludes_outside_ && (v < 0 || v > last);
      all.at[i] = within(v);
      sum += all.share[i] = is_out ? 0 : cubic(std::abs(at - v));
    }
    for (double& share : all.share) share /= sum;
    return all;
  }
  std::pair<Index, Index> reach(Index o) const {
    const Samples s = samples(first(), o);
    return {s.at[0], s.at[s.count - 1]};
  }

  // An element of an image, by its first channel, and its weight.
  struct Tap {
    Index at;
    double share;
  };
  using Taps = std::array<Tap, 64>;
  // The taps of output position o. Returns their number.
  std::size_t taps(const std::array<Index, 3>& o, Taps& to) const {
    std::size_t count = 1;
    to[0] = {0, 1};
    for (std::size_t d = 0; d < 3; ++d) {
      const Samples s = d < first() ? Samples{{0}, {1}, 1} : samples(d, o[d]);
      for (std::size_t k = s.count; k-- > 0;)  // the first ones last, since they are in place
        for (std::size_t i = 0; i < count; ++i)
          to[k * count + i] = {to[i].at * size[d] + s.at[k], to[i].share * s.share[k]};
      count *= s.count;
    }
    for (std::size_t i = 0; i < count; ++i) to[i].at *= channels;
    return count;
  }

 private:
  double place(std::size_t d, double o) const {
    const auto n = static_cast<double>(size[d]);
    // By scales in float32, as ONNX Runtime and PyTorch: 1 / float{1 / 3.0} is 3.
    const auto f = static_cast<float>(o), scale = static_cast<float>(per_[d]);
    const double half =
        by_scales_ ? (f + 0.5F) / scale - 0.5F : (o + 0.5) * step_[d] / per_[d] - 0.5;
    switch (coordinates_) {
      case Coordinates::half_pixel:
        return half;
      case Coordinates::pytorch_half_pixel:
        return resized_[d] > 1 ? half : 0;
      case Coordinates::half_pixel_symmetric:
        return n / 2 * (1 - static_cast<double>(result[d]) / resized_[d]) + half;
      case Coordinates::tf_half_pixel:
        return half + 0.5;
      case Coordinates::asymmetric:
        return by_scales_ ? f / scale : o * step_[d] / per_[d];
      case Coordinates::align_corners:
        return resized_[d] == 1 ? 0 : o * (n - 1) / (resized_[d] - 1);
    }
    return half;
  }
  double nearest(double at) const {
    switch (nearest_) {
      case Nearest::round_prefer_floor:
        return std::ceil(at - 0.5);
      case Nearest::round_prefer_ceil:
        return std::floor(at + 0.5);
      case Nearest::floor:
        return std::floor(at);
      case Nearest::ceil:
        return std::ceil(at);
    }
    return at;
  }

  double cubic(double distance) const {
    const double x = distance, a = cubic_;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }

  Mode mode_ = Mode::nearest;
  double cubic_ = -0.75;
  bool excludes_outside_ = false, by_scales_ = false;
  Coordinates coordinates_ = Coordinates::half_pixel;
  Nearest nearest_ = Nearest::round_prefer_floor;
  std::array<double, 3> step_{1, 1, 1}, per_{1, 1, 1}, resized_{1, 1, 1};
};

// The weighted sum of the taps' channels; four taps, the common case of images, in one pass.
template <class T>
void add_taps(const T* image, const Resize::Taps& taps, std::size_t count, Index channels, T* to) {
  std::array<const T*, 64> from;
  std::array<T, 64> share;
  for (std::size_t i = 0; i < count; ++i) {
    from[i] = image + taps[i].at;
    share[i] = static_cast<T>(taps[i].share);
  }
  if (count == 1) {
    std::copy(from[0], from[0] + channels, to);
  } else if (count == 4) {
    const T *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    for (Index i = 0; i < channels; ++i)
      to[i] = share[0] * a[i] + share[1] * b[i] + share[2] * c[i] + share[3] * d[i];
  } else {
    for (Index i = 0; i < channels; ++i) to[i] = share[0] * from[0][i];
    for (std::size_t k = 1; k < count; ++k)
      for (Index i = 0; i < channels; ++i) to[i] += share[k] * from[k][i];
  }
}

Outputs resize(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  const Resize r("resize", x.extents, call.attributes, call.in.size() > 1 ? &call.in[1] : nullptr);
  return with_real("resize", x.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = x.values.as<T>().data();
    return {
        write_positions<T>(call.out(), r, [&](const std::array<Index, 3>& o, Index image, T* to) {
          Resize::Taps taps;
          const std::size_t count = r.taps(o, taps);
          add_taps(in + image, taps, count, r.channels, to);
        })};
  });
}

Outputs resize_grad(const Call& call) {
  Outputs out(call.formats.size());
  if (!call.wants(0)) return out;
  const Dense& dy = call.in[0].as<Dense>();
  const Shape& x = input_shape("resize.grad", call, 0);
  const Resize r("resize.grad", x, call.attributes, call.in.size() > 1 ? &call.in[1] : nullptr);
  check_gradient("resize.grad", dy, r.shape());
  return with_real("resize.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const T* from = dy.values.as<T>().data();
    out[0] = gather_positions<T>(
        call.out(), x, r, [&](Index o) { return r.reach(o); },
        [&](const std::array<Index, 3>& o, Index, Index row, Index begin, Index end, T* to) {
          Resize::Taps taps;
          const std::size_t count = r.taps(o, taps);
          for (std::size_t i = 0; i < count; ++i) {
            if (taps[i].at < begin || taps[i].at >= end) continue;
            const auto share = static_cast<T>(taps[i].share);
            for (Index c = 0; c < r.channels; ++c) to[taps[i].at + c] += share * from[row + c];
          }
        });
    return out;
  });
}

}  // namespace

std::vector<double> resize_scales(std::string_view op, const Attributes& a, std::size_t axes) {
  for (const auto& [name, value] : a.all()) {
    if (name != "scales") continue;
    const auto* word = std::get_if<std::string>(&value);
    if (!word) return std::vector<double>(axes, a.number("scales", 1));
    std::vector<double> all;
    for (const char* at = word->c_str(); *at != 0; at += *at == ',') {
      char* end = nullptr;
      all.push_back(std::strtod(at, &end));
      if (end == at || (*end != 0 && *end != ','))
        fail_usage("{}: scales must be numbers separated by commas, got {}", op, quote(*word));
      at = end;
    }
    if (all.size() != axes)
      fail_usage("{}: scales {} must have {} numbers", op, quote(*word), axes);
    return all;
  }
  return {};
}

void add_resize(Operators& all) {
  all.declare("resize", {SavedForBackward::others});
  for (const std::size_t inputs : {1, 2}) {
    add_streamed(all, "resize", std::vector<Name>(inputs, "dense"), 1, resize);
    add_streamed(all, "resize.grad", std::vector<Name>(inputs, "dense"), inputs, resize_grad);
  }
}

}  // namespace sten
