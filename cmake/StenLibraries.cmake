# SPDX-License-Identifier: Apache-2.0
# The target sten_dependencies: what the sources of libsten include and link of other libraries.
# STEN_HAS_onednn and the like say which of the optional ones are used.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(re2 REQUIRED)
find_package(utf8proc REQUIRED)
find_path(xxhash_INCLUDE_DIR xxhash.h REQUIRED)  # the header alone
find_package(PNG QUIET)
find_package(JPEG QUIET)
# Dense products are those of oneDNN and OpenBLAS. Their headers are needed here; the libraries are
# loaded by a process that multiplies, which has to tell OpenBLAS the core before it initialises.
find_path(onednn_INCLUDE_DIR dnnl.h)
find_path(openblas_INCLUDE_DIR openblas_config.h PATH_SUFFIXES openblas-pthread openblas-openmp openblas)
mark_as_advanced(onednn_INCLUDE_DIR openblas_INCLUDE_DIR xxhash_INCLUDE_DIR)
set(png_INCLUDE_DIR ${PNG_INCLUDE_DIRS})
set(jpeg_INCLUDE_DIR ${JPEG_INCLUDE_DIRS})
option(STEN_ONEDNN "Use oneDNN where its header is found" ON)
option(STEN_OPENBLAS "Use OpenBLAS where its header is found" ON)
option(STEN_PNG "Read PNG images where libpng is found" ON)
option(STEN_JPEG "Read JPEG images where libjpeg is found" ON)

add_library(sten_dependencies INTERFACE)
target_include_directories(sten_dependencies INTERFACE ${PROJECT_SOURCE_DIR})
target_include_directories(sten_dependencies SYSTEM INTERFACE ${xxhash_INCLUDE_DIR})
target_link_libraries(sten_dependencies INTERFACE fmt::fmt nlohmann_json::nlohmann_json re2::re2 utf8proc::utf8proc
                      Threads::Threads ${CMAKE_DL_LIBS})
foreach(library IN ITEMS onednn openblas png jpeg)
  string(TOUPPER ${library} name)
  if(STEN_${name} AND ${library}_INCLUDE_DIR)
    set(STEN_HAS_${library} ON)
    target_include_directories(sten_dependencies SYSTEM INTERFACE ${${library}_INCLUDE_DIR})
    target_link_libraries(sten_dependencies INTERFACE $<TARGET_NAME_IF_EXISTS:${name}::${name}>)
  else()
    message(STATUS "Without ${library}: absent/ stands in")
  endif()
endforeach()
