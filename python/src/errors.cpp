// SPDX-License-Identifier: Apache-2.0
// Errors and warnings of libsten as those of Python.
#include <cctype>

#include "libsten/core/base/error.h"
#include "libsten/core/base/log.h"
#include "libsten/files/system/overwrite.h"
#include "python/src/bindings.h"

namespace sten::python {
namespace {

// Messages name options by the programs' flags: "--sparsity" is the argument `sparsity`.
std::string with_arguments(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = i == 0 || text[i - 1] == ' ' || text[i - 1] == '(';
    if (starts && text.compare(i, 2, "--") == 0 && i + 2 < text.size() &&
        std::islower(static_cast<unsigned char>(text[i + 2])))
      i += 2;
    out += text[i];
  }
  return out;
}

void warn_in_python(const std::string& text) {
  const nb::gil_scoped_acquire hold;
  if (PyErr_WarnEx(PyExc_RuntimeWarning, with_arguments(text).c_str(), 1) != 0)
    throw nb::python_error();  // warnings are errors
}

}  // namespace

void bind_errors(nb::module_& m) {
  static nb::object error;  // lives as long as the interpreter
  error = nb::exception<Error>(m, "Error", PyExc_ValueError);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      PyErr_SetString(error.ptr(), with_arguments(e.what()).c_str());
    }
  });
  set_log_sink(warn_in_python);
  overwrite_option = "overwrite=True";
}

}  // namespace sten::python
