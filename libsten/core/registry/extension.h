// SPDX-License-Identifier: Apache-2.0
// Makes a shared library an extension, which the programs load by --load. Include this header in
// each source of the library; libsten/sten.h includes it.
//
// The sources get an ELF note with the version of libsten, the id of its public headers and the
// standard library. load_extension() (core/dispatch/load_extension.h) compares it in the file: the
// initializers of a library, which register layouts, run before a loaded library could be asked,
// and with other headers they would use types of another size.
#pragma once
#include <libsten/core/base/build_id.h>  // written by the build: cmake/StenBuildId.cmake

#include <cstdint>
#include <version>

#if defined(_LIBCPP_VERSION)
#define STEN_STANDARD_LIBRARY "libc++"
#elif defined(_GLIBCXX_DEBUG)
#define STEN_STANDARD_LIBRARY "libstdc++-debug"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define STEN_STANDARD_LIBRARY "libstdc++-old-abi"
#else
#define STEN_STANDARD_LIBRARY "libstdc++"
#endif

namespace sten {

// An ELF note as the file has it.
struct ExtensionNote {
  static constexpr std::uint32_t type_of_abi = 1;
  std::uint32_t name_size = 5, text_size = sizeof(text), type = type_of_abi;
  char name[8] = "sten";
  char text[64] = STEN_BUILD_ID " " STEN_STANDARD_LIBRARY;  // "VERSION HEADERS LIBRARY"
};

namespace {
[[gnu::used, gnu::section(".note.sten"), gnu::aligned(4)]] constexpr ExtensionNote extension_note{};
}  // namespace

}  // namespace sten
