// Binary operators, broadcast to one shape.
#include <cmath>

#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

// The result for a and b, and their gradients from dy. For F32, an operator has a loop over the
// elements [begin, end); for other dtypes a function of one element.
using BinaryLoop = void (*)(const Broadcast& repeated, Index begin, Index end, const float* dy,
                            const float* a, const float* b, float* to);
template <class T>
using BinaryFunction = T (*)(T dy, T a, T b);

struct BinaryKernel {
  BinaryLoop f32;
  BinaryFunction<double> f64;
  BinaryFunction<std::int64_t> i64 = nullptr;
};
struct BinaryRow {
  const char* name;
  SavedForBackward saves;
  BinaryKernel value;
  BinaryKernel grads[2] = {};  // of a and b; nullptr: dy itself
};

template <class F>
void each_value(const Broadcast& repeated, Index begin, Index end, const float*, const float* a,
                const float* b, float* to) {
  repeated.each_pair(begin, end, a, b,
                     [=](Index i, float x, float y) { to[i - begin] = F{}(x, y); });
}
template <class G>
void each_grad(const Broadcast& repeated, Index begin, Index end, const float* dy, const float* a,
               const float* b, float* to) {
  repeated.each_pair(begin, end, a, b,
                     [=](Index i, float x, float y) { to[i - begin] = G{}(dy[i], x, y); });
}
// Computed in C: unsigned for integers that may overflow.
template <class T, class C, class F>
T one_value(T, T a, T b) {
  return static_cast<T>(F{}(static_cast<C>(a), static_cast<C>(b)));
}

template <class I, class F>
constexpr BinaryKernel value_kernel(F) {
  return {each_value<F>, one_value<double, double, F>, one_value<std::int64_t, I, F>};
}
template <class G>
constexpr BinaryKernel grad_kernel(G g) {
  return {each_grad<G>, g};
}

// f(a, b), and the gradients of a and b from (dy, a, b).
template <class I, class F>
constexpr BinaryRow sum_row(const char* name, F f) {
  return {name, SavedForBackward::nothing, value_kernel<I>(f)};
}
template <class I, class F, class A, class B>
constexpr BinaryRow binary_row(const char* name, F f, A a, B b) {
  return {name, SavedForBackward::inputs, value_kernel<I>(f), {grad_kernel(a), grad_kernel(b)}};
}

// Rounds towards zero; overflow wraps.
std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) fail_usage("div: integer division by 0");
  return b == -1 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : a / b;
}
template <std::floating_point T>
T quotient(T a, T b) {
  return a / b;
}

// The lowest 64 bits; fractions round towards zero.
std::int64_t power(std::int64_t a, std::int64_t b) {
  if (b < 0 && a == 0) fail_usage("pow: integer 0 raised to the negative exponent {}", b);
  if (b < 0) return a == 1 || (a == -1 && b % 2 == 0) ? 1 : a == -1 ? -1 : 0;
  std::uint64_t y = 1, x = static_cast<std::uint64_t>(a);
  for (; b > 0; b /= 2, x *= x)
    if (b % 2) y *= x;
  return static_cast<std::int64_t>(y);
}
// Avoids pow() for squares and their gradients, the most common powers.
template <std::floating_point T>
T power(T a, T b) {
  return b == 2 ? a * a : b == 1 ? a : std::pow(a, b);
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <std::floating_point T>
T product(T a, T b) {
  return a * b;
}

constexpr auto plus = [](auto a, auto b) { return a + b; };
constexpr auto minus = [](auto a, auto b) { return a - b; };

// NaN has precedence. Equal operands each get half of the gradient.
template <class T>
bool is_nan(T v) {
  return !std::integral<T> && std::isnan(static_cast<double>(v));
}
constexpr auto least = [](auto a, auto b) { return a < b || is_nan(a) ? a : b; };
constexpr auto most = [](auto a, auto b) { return a > b || is_nan(a) ? a : b; };
constexpr auto if_less = [](auto dy, auto a, auto b) {
  return a == b ? dy / 2 : a > b ? decltype(dy){0} : dy;
};
constexpr auto if_more = [](auto dy, auto a, auto b) { return if_less(dy, b, a); };

constexpr BinaryRow binary_rows[] = {
    sum_row<std::uint64_t>("add", plus),
    sum_row<std::uint64_t>("sub", minus),
    binary_row<std::uint64_t>(
        "mul", [](auto a, auto b) { return a * b; }, [](auto dy, auto, auto b) { return dy * b; },
        [](auto dy, auto a, auto) { return dy * a; }),
    binary_row<std::int64_t>(
        "div", [](auto a, auto b) { return quotient(a, b); },
        [](auto dy, auto, auto b) { return dy / b; },
        [](auto dy, auto a, auto b) { return -dy * (a / b / b); }),
    // The logarithm of 0 is ignored where the power is 0.
    binary_row<std::int64_t>(
        "pow", [](auto a, auto b) { return power(a, b); },
        [](auto dy, auto a, auto b) { return b == 0 ? b : dy * b * power(a, b - 1); },
        [](auto dy, auto a, auto b) {
          return a == 0 && b >= 0 ? a : dy * power(a, b) * std::log(a);
        }),
    binary_row<std::int64_t>(
        "p-relu", [](auto a, auto b) { return a < 0 ? product(a, b) : a; },
        [](auto dy, auto a, auto b) { return a > 0 ? dy : dy * b; },
        [](auto dy, auto a, auto) { return a < 0 ? dy * a : decltype(dy){0}; }),
    binary_row<std::int64_t>("min", least, if_less, if_more),
    binary_row<std::int64_t>("max", most, if_more, if_less),
};

// Applies the kernel to a and b, broadcast to `shape`.
template <class T>
Tensor write_interleaved(const OutFormat& format, const Shape& shape, const BinaryKernel& kernel,
                         const T* dy, const Dense& a, const Dense& b) {
  const Broadcast repeated(shape, a.extents, b.extents);
  const T *x = a.values.as<T>().data(), *y = b.values.as<T>().data();
  const auto fill = [&](Index begin, Index end, T* to) {
    if constexpr (std::same_as<T, float>) {
      kernel.f32(repeated, begin, end, dy, x, y, to);
    } else {
      const auto f = [&] {
        if constexpr (std::same_as<T, double>)
          return kernel.f64;
        else
          return kernel.i64;
      }();
      repeated.each_pair(begin, end, x, y,
                         [=](Index i, T u, T v) { to[i - begin] = f(dy ? dy[i] : T{}, u, v); });
    }
  };
  if constexpr (std::same_as<T, std::int64_t>)
    return dense_elements<T>(DType::I64, shape, fill);
  else
    return write_elements<T>(format, shape, fill);
}

// Operands have one dtype, that of the result, except for exponents.
Outputs binary_forward(const BinaryRow& row, const Call& call) {
  call.attributes.check(row.name, {});
  const Dense &a = call.in[0].as<Dense>(), &b = call.in[1].as<Dense>();
  const DType dtype = a.dtype();
  const bool is_power = row.name == std::string_view("pow");
  if (!is_power) check_dtypes(row.name, "a", dtype, "b", b.dtype());
  for (const DType t : {dtype, b.dtype()})
    if (t == DType::BOOL) fail_usage("{}: BOOL elements do not support arithmetic", row.name);
  const Shape shape = broadcast_shape(row.name, a.extents, b.extents);
  DType in = computed_in(row.name, dtype);
  if (in == DType::I64 && is_prunable(b.dtype())) in = DType::F64;
  const bool is_as_stored = in == dtype && in != DType::I64;
  if (!is_as_stored && !is_plain(call.out()))
    fail_unsupported("{}: {} results are computed densely", row.name, name_of(dtype));
  const Dense x = to_compute(row.name, a, in), y = to_compute(row.name, b, in);
  return with_computed(in, [&]<class T>(T) -> Outputs {
    const Tensor all = write_interleaved<T>(is_as_stored ? call.out() : OutFormat::dense(), shape,
                                            row.value, nullptr, x, y);
    if (in == dtype) return {all};
    return {Dense{shape, as_dtype(row.name, *all.values(), dtype)}};
  });
}

// Gradient of add and sub: dy, negated for the second operand of sub.
Outputs sum_grad(const std::string& op, bool is_sub, const Call& call) {
  const Dense& dy = call.in[0].as<Dense>();
  const Shape &a = input_shape(op, call, 0), &b = input_shape(op, call, 1);
  check_gradient(op, dy, broadcast_shape(op, a, b));
  return with_real(op, dy.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = dy.values.as<T>().data();
    Outputs out(2);
    for (std::size_t i = 0; i < 2; ++i) {
      if (!call.wants(i)) continue;
      const bool is_minus = i == 1 && is_sub, is_repeated = call.shapes[i] != dy.extents;
      if (!is_repeated && !is_minus && is_plain(call.out(i))) {
        out[i] = call.in[0];
        continue;
      }
      const auto signed_dy = [&](const OutFormat& format) {
        return write_elements<T>(format, dy.extents, [&](Index begin, Index end, T* to) {
          for (Index k = begin; k < end; ++k) to[k - begin] = is_minus ? -in[k] : in[k];
        });
      };
      if (!is_repeated)
        out[i] = signed_dy(call.out(i));
      else if (is_minus)
        out[i] = sum_to<T>(call.out(i), signed_dy(OutFormat::dense()).template as<Dense>(),
                           call.shapes[i]);
      else
        out[i] = sum_to<T>(call.out(i), dy, call.shapes[i]);
    }
    return out;
  });
}

// Gradients of the other operators, from saved operands.
Outputs binary_grad(const BinaryRow& row, const std::string& op, const Call& call) {
  const Dense &dy = call.in[0].as<Dense>(), &a = call.in[1].as<Dense>();
  Dense b = call.in[2].as<Dense>();
  check_dtypes(op, "the gradient", dy.dtype(), "an operand", a.dtype());
  if (row.name == std::string_view("pow")) b.values = as_dtype(op, b.values, dy.dtype());
  check_dtypes(op, "the gradient", dy.dtype(), "an operand", b.dtype());
  check_gradient(op, dy, broadcast_shape(op, a.extents, b.extents));
  return with_real(op, dy.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = dy.values.as<T>().data();
    Outputs out(2);
    for (std::size_t i = 0; i < 2; ++i) {
      if (!call.wants(i)) continue;
      const Shape& shape = i == 0 ? a.extents : b.extents;
      const bool is_repeated = shape != dy.extents;
      Tensor all = write_interleaved<T>(is_repeated ? OutFormat::dense() : call.out(i), dy.extents,
                                        row.grads[i], in, a, b);
      out[i] =
          is_repeated ? sum_to<T>(call.out(i), all.template as<Dense>(), shape) : std::move(all);
    }
    return out;
  });
}

// A sparse a with a scalar, in a's layout: zeros are preserved.
Outputs sparse_by_scalar(const BinaryRow& row, const Call& call) {
  call.attributes.check(row.name, {});
  const Tensor& a = call.in[0];
  const Dense& b = call.in[1].as<Dense>();
  check_dtypes(row.name, "a", a.dtype(), "b", b.dtype());
  if (b.size() != 1 || b.extents.size() > a.shape().size())
    fail_unsupported("{}: a sparse a of shape {} needs a scalar b, got {}", row.name,
                     to_string(a.shape()), to_string(b.extents));
  return with_real(row.name, a.dtype(), [&]<class T>(T) -> Outputs {
    const T by = b.values.as<T>()[0];
    const T of_zero = row.name == std::string_view("mul") ? 0 * by : 0 / by;
    if (!(of_zero == 0))
      fail_unsupported("{}: zeros do not stay 0 with the operand {}", row.name, by);
    return {Tensor::update(a, [&](Values& v) {
      const Dense x{{v.size()}, v};
      v = *write_interleaved<T>(OutFormat::dense(), x.extents, row.value, nullptr, x,
                                Dense{{}, b.values})
               .values();
    })};
  });
}

}  // namespace

void add_binary(Operators& all) {
  for (const BinaryRow& row : binary_rows) {
    const Name op(row.name);
    const std::string grad = std::string(row.name) + ".grad";
    all.declare(op, {row.saves});
    add_streamed(all, op, {"dense", "dense"}, 1,
                 [&row](const Call& call) { return binary_forward(row, call); });
    if (row.saves == SavedForBackward::nothing)
      add_streamed(all, grad, {"dense"}, 2,
                   [grad, is_sub = row.name == std::string_view("sub")](const Call& call) {
                     return sum_grad(grad, is_sub, call);
                   });
    else
      add_streamed(all, grad, {"dense", "dense", "dense"}, 2,
                   [&row, grad](const Call& call) { return binary_grad(row, grad, call); });
    if (op == Name("mul") || op == Name("div"))
      all.add(
          {op, {any::layout, "dense"}, {{"keep-all", any::layout}}},
          [&row](const Call& call) { return sparse_by_scalar(row, call); },
          [](const Signature& s) { return s.in[0] != Name("dense") && s.in[0] == s.out[0].tmp; });
  }
}

}  // namespace sten
