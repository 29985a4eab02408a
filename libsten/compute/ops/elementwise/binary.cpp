// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/elementwise/binary.h"

#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

// Exponents may have another dtype.
bool is_power(const BinaryRow& row) { return row.function == kernels::BinaryFunction::pow; }

using Integers = std::int64_t (*)(std::int64_t a, std::int64_t b);

template <class F>
std::int64_t wrapped(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(
      F::value(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}
template <class F>
std::int64_t exact(std::int64_t a, std::int64_t b) {
  return F::value(a, b);
}

// Rounds towards zero; overflow wraps.
std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) fail_usage("div: integer division by 0");
  return b == -1 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : a / b;
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
std::int64_t integer_p_relu(std::int64_t a, std::int64_t b) {
  return a < 0 ? wrapped<kernels::binary::mul>(a, b) : a;
}

namespace binary_table {

using enum SavedForBackward;

#define BINARY_TRAITS(...) __VA_ARGS__
constexpr BinaryRow all[] = {
#define BINARY(id, traits, ...) {.function = kernels::BinaryFunction::id, BINARY_TRAITS traits},
#include "kernels/binary.def"
#undef BINARY
};
#undef BINARY_TRAITS

}  // namespace binary_table

// The result for a and b, and their gradients from dy. For F32, a loop over the elements [begin,
// end); for other dtypes a function of one element.
using BinaryLoop = void (*)(const Broadcast& repeated, Index begin, Index end, const float* dy,
                            const float* a, const float* b, float* to);
struct BinaryKernel {
  BinaryLoop f32;
  double (*f64)(double dy, double a, double b);
  Integers i64 = nullptr;
};
struct BinaryKernels {
  BinaryKernel value, grads[2];
};

// part 0: the value; 1 and 2: the gradients of a and b.
template <class F, int part, class T>
T binary_part([[maybe_unused]] T dy, T a, T b) {
  if constexpr (part == 0)
    return F::value(a, b);
  else if constexpr (part == 1)
    return F::grad_a(dy, a, b);
  else
    return F::grad_b(dy, a, b);
}
template <class F, int part>
void binary_loop(const Broadcast& repeated, Index begin, Index end, const float* dy, const float* a,
                 const float* b, float* to) {
  repeated.each_pair(begin, end, a, b, [=](Index i, float x, float y) {
    to[i - begin] = binary_part<F, part>(part > 0 ? dy[i] : 0, x, y);
  });
}
template <class F>
constexpr BinaryKernels kernels_of(Integers integers) {
  return {{binary_loop<F, 0>, binary_part<F, 0, double>, integers},
          {{binary_loop<F, 1>, binary_part<F, 1, double>},
           {binary_loop<F, 2>, binary_part<F, 2, double>}}};
}
constexpr BinaryKernels binary_kernels[] = {
#define BINARY(id, ...)            \
  kernels_of<kernels::binary::id>( \
      binary_table::all[static_cast<int>(kernels::BinaryFunction::id)].integers),
#include "kernels/binary.def"
#undef BINARY
};
const BinaryKernels& kernels_of(const BinaryRow& row) {
  return binary_kernels[static_cast<int>(row.function)];
}

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
      repeated.each_pair(begin, end, x, y, [=](Index i, T u, T v) {
        if constexpr (std::same_as<T, double>)
          to[i - begin] = kernel.f64(dy ? dy[i] : T{}, u, v);
        else
          to[i - begin] = kernel.i64(u, v);
      });
    }
  };
  if constexpr (std::same_as<T, std::int64_t>)
    return dense_elements<T>(DType::I64, shape, fill);
  else
    return write_elements<T>(format, shape, fill);
}

// Operands have one dtype, that of the result, except for exponents.
Outputs binary_forward(const BinaryRow& row, const Call& call) {
  const Shape shape = check_binary(row, call);
  const Dense &a = call.in[0].as<Dense>(), &b = call.in[1].as<Dense>();
  const DType dtype = a.dtype();
  DType in = computed_in(row.name, dtype);
  if (in == DType::I64 && is_prunable(b.dtype())) in = DType::F64;
  const bool is_as_stored = in == dtype && in != DType::I64;
  if (!is_as_stored && !is_plain(call.out()))
    fail_unsupported("{}: {} results are computed densely", row.name, name_of(dtype));
  const Dense x = to_compute(row.name, a, in), y = to_compute(row.name, b, in);
  return with_computed(in, [&]<class T>(T) -> Outputs {
    const Tensor all = write_interleaved<T>(is_as_stored ? call.out() : OutFormat::dense(), shape,
                                            kernels_of(row).value, nullptr, x, y);
    if (in == dtype) return {all};
    return {Dense{shape, as_dtype(row.name, *all.values(), dtype)}};
  });
}

// Gradient of add and sub: dy, negated for the second operand of sub.
Outputs sum_grad(const std::string& op, bool is_sub, const Call& call) {
  check_sum_grad(op, call);
  const Dense& dy = call.in[0].as<Dense>();
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
  check_binary_grad(row, op, call);
  const Dense &dy = call.in[0].as<Dense>(), &a = call.in[1].as<Dense>();
  Dense b = call.in[2].as<Dense>();
  if (is_power(row)) b.values = as_dtype(op, b.values, dy.dtype());
  return with_real(op, dy.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = dy.values.as<T>().data();
    Outputs out(2);
    for (std::size_t i = 0; i < 2; ++i) {
      if (!call.wants(i)) continue;
      const Shape& shape = i == 0 ? a.extents : b.extents;
      const bool is_repeated = shape != dy.extents;
      Tensor all = write_interleaved<T>(is_repeated ? OutFormat::dense() : call.out(i), dy.extents,
                                        kernels_of(row).grads[i], in, a, b);
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
    const T of_zero = row.function == kernels::BinaryFunction::mul ? 0 * by : 0 / by;
    if (!(of_zero == 0))
      fail_unsupported("{}: zeros do not stay 0 with the operand {}", row.name, by);
    return {Tensor::update(a, [&](Values& v) {
      const Dense x{{v.size()}, v};
      v = *write_interleaved<T>(OutFormat::dense(), x.extents, kernels_of(row).value, nullptr, x,
                                Dense{{}, b.values})
               .values();
    })};
  });
}

}  // namespace

Shape check_binary(const BinaryRow& row, const Call& call) {
  call.attributes.check(row.name, {});
  const Tensor &a = call.in[0], &b = call.in[1];
  if (!is_power(row)) check_dtypes(row.name, "a", a.dtype(), "b", b.dtype());
  for (const Tensor* t : {&a, &b})
    if (t->dtype() == DType::BOOL)
      fail_usage("{}: BOOL elements do not support arithmetic", row.name);
  return broadcast_shape(row.name, a.shape(), b.shape());
}

void check_sum_grad(std::string_view op, const Call& call) {
  const Shape &a = input_shape(op, call, 0), &b = input_shape(op, call, 1);
  check_gradient(op, call.in[0].as<Dense>(), broadcast_shape(op, a, b));
}

Shape check_binary_grad(const BinaryRow& row, std::string_view op, const Call& call) {
  const Tensor &dy = call.in[0], &a = call.in[1], &b = call.in[2];
  check_dtypes(op, "the gradient", dy.dtype(), "an operand", a.dtype());
  if (!is_power(row)) check_dtypes(op, "the gradient", dy.dtype(), "an operand", b.dtype());
  Shape shape = broadcast_shape(op, a.shape(), b.shape());
  check_gradient(op, dy.as<Dense>(), shape);
  return shape;
}

std::span<const BinaryRow> binary_rows() { return binary_table::all; }

void add_binary(Operators& all) {
  for (const BinaryRow& row : binary_rows()) {
    const Name op(row.name);
    const std::string grad = std::string(row.name) + ".grad";
    all.declare(op, {row.saves});
    add_streamed(all, op, {"dense", "dense"}, 1,
                 [&row](const Call& call) { return binary_forward(row, call); });
    if (row.saves == SavedForBackward::nothing)
      add_streamed(all, grad, {"dense"}, 2,
                   [grad, is_sub = row.function == kernels::BinaryFunction::sub](const Call& call) {
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
