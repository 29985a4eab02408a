// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/pytorch/globals.h"

namespace sten {
namespace {

struct Row {
  std::string_view module, name;
  TorchGlobal what;
  std::optional<DType> dtype = {};
};

constexpr Row rows[] = {
    {"collections", "OrderedDict", TorchGlobal::dict},
    {"collections", "defaultdict", TorchGlobal::dict},
    {"torch._utils", "_rebuild_tensor", TorchGlobal::tensor},
    {"torch._utils", "_rebuild_tensor_v2", TorchGlobal::tensor},
    {"torch._utils", "_rebuild_tensor_v3", TorchGlobal::tensor_of_dtype},
    {"torch._utils", "_rebuild_parameter", TorchGlobal::parameter},
    {"torch._utils", "_rebuild_parameter_with_state", TorchGlobal::parameter},
    {"torch._tensor", "_rebuild_from_type_v2", TorchGlobal::typed_tensor},
    {"torch", "Tensor", TorchGlobal::type},
    {"torch.nn.parameter", "Parameter", TorchGlobal::type},

    {"torch", "DoubleStorage", TorchGlobal::storage, DType::F64},
    {"torch", "FloatStorage", TorchGlobal::storage, DType::F32},
    {"torch", "HalfStorage", TorchGlobal::storage, DType::F16},
    {"torch", "BFloat16Storage", TorchGlobal::storage, DType::BF16},
    {"torch", "LongStorage", TorchGlobal::storage, DType::I64},
    {"torch", "IntStorage", TorchGlobal::storage, DType::I32},
    {"torch", "ShortStorage", TorchGlobal::storage, DType::I16},
    {"torch", "CharStorage", TorchGlobal::storage, DType::I8},
    {"torch", "ByteStorage", TorchGlobal::storage, DType::U8},
    {"torch", "BoolStorage", TorchGlobal::storage, DType::BOOL},
    {"torch", "ComplexFloatStorage", TorchGlobal::storage, DType::C64},
    {"torch", "UntypedStorage", TorchGlobal::bytes, DType::U8},
    {"torch.storage", "UntypedStorage", TorchGlobal::bytes, DType::U8},

    {"torch", "float64", TorchGlobal::dtype, DType::F64},
    {"torch", "float32", TorchGlobal::dtype, DType::F32},
    {"torch", "float16", TorchGlobal::dtype, DType::F16},
    {"torch", "bfloat16", TorchGlobal::dtype, DType::BF16},
    {"torch", "float8_e4m3fn", TorchGlobal::dtype, DType::F8_E4M3},
    {"torch", "float8_e5m2", TorchGlobal::dtype, DType::F8_E5M2},
    {"torch", "float8_e4m3fnuz", TorchGlobal::dtype, DType::F8_E4M3FNUZ},
    {"torch", "float8_e5m2fnuz", TorchGlobal::dtype, DType::F8_E5M2FNUZ},
    {"torch", "float8_e8m0fnu", TorchGlobal::dtype, DType::F8_E8M0},
    {"torch", "int64", TorchGlobal::dtype, DType::I64},
    {"torch", "int32", TorchGlobal::dtype, DType::I32},
    {"torch", "int16", TorchGlobal::dtype, DType::I16},
    {"torch", "int8", TorchGlobal::dtype, DType::I8},
    {"torch", "uint64", TorchGlobal::dtype, DType::U64},
    {"torch", "uint32", TorchGlobal::dtype, DType::U32},
    {"torch", "uint16", TorchGlobal::dtype, DType::U16},
    {"torch", "uint8", TorchGlobal::dtype, DType::U8},
    {"torch", "bool", TorchGlobal::dtype, DType::BOOL},
    {"torch", "complex64", TorchGlobal::dtype, DType::C64},

    // Saved by trainers beside tensors.
    {"torch", "Size", TorchGlobal::ignored},
    {"torch", "device", TorchGlobal::ignored},
    {"torch.torch_version", "TorchVersion", TorchGlobal::ignored},
    {"argparse", "Namespace", TorchGlobal::ignored},
    {"collections", "Counter", TorchGlobal::ignored},
    {"builtins", "set", TorchGlobal::ignored},
    {"__builtin__", "set", TorchGlobal::ignored},
    {"builtins", "list", TorchGlobal::ignored},
    {"__builtin__", "list", TorchGlobal::ignored},
    {"builtins", "dict", TorchGlobal::ignored},
    {"__builtin__", "dict", TorchGlobal::ignored},
    {"builtins", "slice", TorchGlobal::ignored},
    {"__builtin__", "slice", TorchGlobal::ignored},
    {"builtins", "range", TorchGlobal::ignored},
    {"__builtin__", "xrange", TorchGlobal::ignored},
    {"_codecs", "encode", TorchGlobal::ignored},
    {"datetime", "datetime", TorchGlobal::ignored},
    {"datetime", "timedelta", TorchGlobal::ignored},
    {"pathlib", "PosixPath", TorchGlobal::ignored},
    {"numpy", "dtype", TorchGlobal::ignored},
    {"numpy", "ndarray", TorchGlobal::ignored},
    {"numpy.core.multiarray", "scalar", TorchGlobal::ignored},
    {"numpy.core.multiarray", "_reconstruct", TorchGlobal::ignored},
    {"numpy._core.multiarray", "scalar", TorchGlobal::ignored},
    {"numpy._core.multiarray", "_reconstruct", TorchGlobal::ignored},
};

}  // namespace

std::optional<KnownGlobal> known_global(std::string_view module, std::string_view name) {
  for (const Row& r : rows)
    if (r.module == module && r.name == name) return KnownGlobal{r.what, r.dtype};
  return {};
}

std::string_view torch_name(DType dtype) {
  for (const Row& r : rows)
    if (r.what == TorchGlobal::dtype && r.dtype == dtype) return r.name;
  return "";
}

}  // namespace sten
