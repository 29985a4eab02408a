// Images of other extents, of the elements nearest to each place or of those around it: as ONNX's
// Resize with `nearest` and `linear`.
#include <cmath>
#include <map>

#include "libsten/base/text.h"
#include "libsten/ops/check.h"
#include "libsten/ops/image_map.h"
#include "libsten/ops/register.h"

namespace sten {
namespace {

// Where an element of the result is, along an axis of x.
enum class Coordinates {
  half_pixel,
  pytorch_half_pixel,
  half_pixel_symmetric,
  asymmetric,
  align_corners
};
enum class Nearest { round_prefer_floor, round_prefer_ceil, floor, ceil };

template <class E>
E word_among(std::string_view op, const Attributes& a, const char* name,
             const std::map<std::string, E>& all, const std::string& fallback) {
  const std::string& word = a.word(name, fallback);
  const auto at = all.find(word);
  if (at == all.end()) fail_usage("{}: {} is {}", op, name, quote(word));
  return at->second;
}

// One number for all axes, or a word of as many as there are, with commas between them.
std::vector<double> scales_of(std::string_view op, const Attributes& a, std::size_t axes) {
  for (const auto& [name, value] : a.all()) {
    if (name != "scales") continue;
    const auto* word = std::get_if<std::string>(&value);
    if (!word) return std::vector<double>(axes, a.number("scales", 1));
    std::vector<double> all;
    for (const char* at = word->c_str(); *at != 0; at += *at == ',') {
      char* end = nullptr;
      all.push_back(std::strtod(at, &end));
      if (end == at || (*end != 0 && *end != ',')) fail_usage("{}: scales is {}", op, quote(*word));
      at = end;
    }
    if (all.size() != axes) fail_usage("{}: scales is {}, not {} numbers", op, quote(*word), axes);
    return all;
  }
  return {};
}

class Resize : public ImageMap {
 public:
  // `size` of the result or `scales`; where both are given, the scales say where its elements are.
  Resize(std::string_view op, const Shape& x, const Attributes& a) : ImageMap(op, x) {
    a.check(op, {"size", "scales", "mode", "coordinates", "nearest"});
    is_linear_ = word_among<bool>(op, a, "mode", {{"nearest", false}, {"linear", true}}, "nearest");
    using enum Coordinates;
    coordinates_ = word_among<Coordinates>(op, a, "coordinates",
                                           {{"half-pixel", half_pixel},
                                            {"pytorch-half-pixel", pytorch_half_pixel},
                                            {"half-pixel-symmetric", half_pixel_symmetric},
                                            {"asymmetric", asymmetric},
                                            {"align-corners", align_corners}},
                                           "half-pixel");
    nearest_ = word_among<Nearest>(op, a, "nearest",
                                   {{"round-prefer-floor", Nearest::round_prefer_floor},
                                    {"round-prefer-ceil", Nearest::round_prefer_ceil},
                                    {"floor", Nearest::floor},
                                    {"ceil", Nearest::ceil}},
                                   "round-prefer-floor");
    const std::vector<double> scales = scales_of(op, a, axes);
    const Attributes::List sizes = a.list("size", {});
    if (sizes.empty() ? scales.empty() : sizes.size() != axes)
      fail_usage("{}: size is {}, and x {}", op, to_string(sizes), to_string(x));
    for (std::size_t i = 0; i < axes; ++i) {
      constexpr Index most = Index{1} << 31;
      const std::size_t d = first() + i;
      const auto n = static_cast<double>(size[d]);
      const double wanted =
          sizes.empty() ? std::floor(n * scales[i]) : static_cast<double>(sizes[i]);
      if (!(wanted >= 1 && wanted <= static_cast<double>(most)) ||
          (!scales.empty() && !(scales[i] > 0)))
        fail_usage("{}: the extent {} of x would become {}", op, size[d], wanted);
      result[d] = static_cast<Index>(wanted);
      // The same quotient, without an error of rounding where the sizes are given.
      step_[d] = scales.empty() ? n : 1;
      per_[d] = scales.empty() ? wanted : scales[i];
      resized_[d] = scales.empty() ? wanted : scales[i] * n;
    }
  }

  // Element o of the result is x[low] + part * (x[high] - x[low]) along axis d.
  struct Sample {
    Index low, high;
    double part;
  };
  Sample sample(std::size_t d, Index o) const {
    const double at = place(d, static_cast<double>(o));
    const auto last = static_cast<double>(size[d] - 1);
    const auto within = [=](double v) { return static_cast<Index>(std::clamp(v, 0.0, last)); };
    if (!is_linear_) {
      const Index i = within(nearest(at));
      return {i, i, 0};
    }
    const double below = std::floor(at);
    return {within(below), within(below + 1), at - below};
  }
  std::pair<Index, Index> reach(Index o) const {
    const Sample s = sample(first(), o);
    return {s.low, s.high};
  }

  // An element of an image, by its first channel, and its share.
  struct Tap {
    Index at;
    double share;
  };
  // Those of place o; no more than 8.
  std::size_t taps(const std::array<Index, 3>& o, std::array<Tap, 8>& to) const {
    std::size_t count = 1;
    to[0] = {0, 1};
    for (std::size_t d = 0; d < 3; ++d) {
      const Sample s = d < first() ? Sample{0, 0, 0} : sample(d, o[d]);
      const bool is_one = s.low == s.high || s.part == 0;
      for (std::size_t i = 0; i < count; ++i) {
        const Tap t = to[i];
        to[i] = {t.at * size[d] + s.low, is_one ? t.share : t.share * (1 - s.part)};
        if (!is_one) to[count + i] = {t.at * size[d] + s.high, t.share * s.part};
      }
      count *= is_one ? 1 : 2;
    }
    for (std::size_t i = 0; i < count; ++i) to[i].at *= channels;
    return count;
  }

 private:
  double place(std::size_t d, double o) const {
    const auto n = static_cast<double>(size[d]);
    const double half = (o + 0.5) * step_[d] / per_[d] - 0.5;
    switch (coordinates_) {
      case Coordinates::half_pixel:
        return half;
      case Coordinates::pytorch_half_pixel:
        return resized_[d] > 1 ? half : 0;
      case Coordinates::half_pixel_symmetric:
        return n / 2 * (1 - static_cast<double>(result[d]) / resized_[d]) + half;
      case Coordinates::asymmetric:
        return o * step_[d] / per_[d];
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

  bool is_linear_ = false;
  Coordinates coordinates_ = Coordinates::half_pixel;
  Nearest nearest_ = Nearest::round_prefer_floor;
  std::array<double, 3> step_{1, 1, 1}, per_{1, 1, 1}, resized_{1, 1, 1};
};

Outputs resize(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  const Resize r("resize", x.extents, call.attributes);
  return with_real("resize", x.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = x.values.as<T>().data();
    return {write_places<T>(call.out(), r, [&](const std::array<Index, 3>& o, Index image, T* to) {
      std::array<Resize::Tap, 8> taps;
      const std::size_t count = r.taps(o, taps);
      const T* from = in + image + taps[0].at;
      if (count == 1) {
        std::copy(from, from + r.channels, to);
        return;
      }
      const auto first = static_cast<T>(taps[0].share);
      for (Index c = 0; c < r.channels; ++c) to[c] = first * from[c];
      for (std::size_t i = 1; i < count; ++i) {
        from = in + image + taps[i].at;
        const auto share = static_cast<T>(taps[i].share);
        for (Index c = 0; c < r.channels; ++c) to[c] += share * from[c];
      }
    })};
  });
}

Outputs resize_grad(const Call& call) {
  if (!call.wants(0)) return {std::nullopt};
  const Dense& dy = call.in[0].as<Dense>();
  const Shape& x = input_shape("resize.grad", call, 0);
  const Resize r("resize.grad", x, call.attributes);
  check_gradient("resize.grad", dy, r.shape());
  return with_real("resize.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const T* from = dy.values.as<T>().data();
    return {gather_places<T>(
        call.out(), x, r, [&](Index o) { return r.reach(o); },
        [&](const std::array<Index, 3>& o, Index, Index row, Index begin, Index end, T* to) {
          std::array<Resize::Tap, 8> taps;
          const std::size_t count = r.taps(o, taps);
          for (std::size_t i = 0; i < count; ++i) {
            if (taps[i].at < begin || taps[i].at >= end) continue;
            const auto share = static_cast<T>(taps[i].share);
            for (Index c = 0; c < r.channels; ++c) to[taps[i].at + c] += share * from[row + c];
          }
        })};
  });
}

}  // namespace

void add_resize(Operators& all) {
  all.declare("resize", {Keeps::nothing});
  add_streamed(all, "resize", {"dense"}, 1, resize);
  add_streamed(all, "resize.grad", {"dense"}, 1, resize_grad);
}

}  // namespace sten
