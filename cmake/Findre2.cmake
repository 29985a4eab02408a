# SPDX-License-Identifier: Apache-2.0
# RE2 as Debian ships it: a header and a library, no CMake package.
find_path(re2_INCLUDE_DIR re2/re2.h)
find_library(re2_LIBRARY re2)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(re2 REQUIRED_VARS re2_LIBRARY re2_INCLUDE_DIR)
if(re2_FOUND AND NOT TARGET re2::re2)
  add_library(re2::re2 UNKNOWN IMPORTED)
  set_target_properties(re2::re2 PROPERTIES IMPORTED_LOCATION ${re2_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${re2_INCLUDE_DIR})
endif()
mark_as_advanced(re2_INCLUDE_DIR re2_LIBRARY)
