# SPDX-License-Identifier: Apache-2.0
# libsten: the rooms that libsten/CMakeLists.txt declares, linked to one shared library; the plug-in
# for MPI (kernels/CMakeLists.txt has that for CUDA); and sten-bench's own library.
set_source_files_properties(core/base/version.cpp PROPERTIES COMPILE_DEFINITIONS STEN_VERSION="${PROJECT_VERSION}")
sten_target(sten)
set_target_properties(sten PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
get_property(STEN_FORMER_FOLDERS GLOBAL PROPERTY STEN_FORMER_FOLDERS)
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS *.h)
sten_forwarding_headers(${PROJECT_BINARY_DIR}/include "${STEN_FORMER_FOLDERS}" ${headers})
target_include_directories(sten PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                       $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
target_link_libraries(sten PUBLIC fmt::fmt PRIVATE sten_dependencies)
# The id that extensions are compared by.
set(build_id ${PROJECT_BINARY_DIR}/include/libsten/core/base/build_id.h)
file(GLOB_RECURSE hashed CONFIGURE_DEPENDS *.h ${PROJECT_SOURCE_DIR}/kernels/*.h)
set(write_build_id ${CMAKE_COMMAND} -D ROOT=${PROJECT_SOURCE_DIR} -D VERSION=${PROJECT_VERSION} -D OUT=${build_id}
                   -P ${PROJECT_SOURCE_DIR}/cmake/StenBuildId.cmake)
add_custom_command(OUTPUT ${build_id} COMMAND ${write_build_id}
                   DEPENDS ${hashed} ${PROJECT_SOURCE_DIR}/cmake/StenBuildId.cmake VERBATIM)
if(NOT EXISTS ${build_id})  # for tools that only read the sources
  execute_process(COMMAND ${write_build_id} COMMAND_ERROR_IS_FATAL ANY)
endif()
add_custom_target(sten_build_id DEPENDS ${build_id})
add_dependencies(sten sten_build_id)
if(TARGET sten_core_dispatch)
  add_dependencies(sten_core_dispatch sten_build_id)
  target_include_directories(sten_core_dispatch PRIVATE ${PROJECT_BINARY_DIR}/include)
endif()
include(StenExtension)
if(STEN_SANITIZE STREQUAL thread)
  target_sources(sten PRIVATE programs/absent/staged.cpp)
  target_link_libraries(sten PRIVATE nlohmann_json::nlohmann_json)
elseif(STEN_SANITIZE)
  # It shall not use what the tests compiled of the same templates, without optimisation.
  target_link_options(sten PRIVATE -Wl,-Bsymbolic-functions)
endif()
if(STEN_HAS_CUDA)
  add_dependencies(sten sten_cuda)
endif()

# Processes that compute together, by MPI: loaded by a process that mpirun started, from the folder
# of libsten. Builds with AddressSanitizer, whose leak check Open MPI does not pass, do without.
option(STEN_MPI "Build the transport over MPI where Open MPI's headers are found" ON)
set(use_mpi ${STEN_MPI})
if(STEN_SANITIZE AND NOT STEN_SANITIZE STREQUAL thread)
  set(use_mpi OFF)
endif()
if(use_mpi)
  set(MPI_CXX_SKIP_MPICXX ON)  # C's functions alone
  find_package(MPI COMPONENTS CXX QUIET)
endif()
if(use_mpi AND MPI_CXX_FOUND)
  file(GLOB mpi_sources CONFIGURE_DEPENDS training/comm/mpi/*.cpp)
  add_library(sten_mpi MODULE ${mpi_sources})
  sten_target(sten_mpi)
  target_include_directories(sten_mpi PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_options(sten_mpi PRIVATE -Wl,-soname,libsten_mpi.so)  # Debian asks for one in this folder
  target_compile_definitions(sten_mpi PRIVATE STEN_VERSION="${PROJECT_VERSION}")
  set_target_properties(MPI::MPI_CXX PROPERTIES IMPORTED_GLOBAL TRUE)  # for tests
  target_link_libraries(sten_mpi PRIVATE MPI::MPI_CXX Threads::Threads)
  add_dependencies(sten sten_mpi)
  install(TARGETS sten_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mpi)
else()
  message(STATUS "Without MPI: sten-train trains in one process")
endif()

# What sten-bench measures, and how: for that program alone, and for its tests.
file(GLOB bench_sources CONFIGURE_DEPENDS programs/bench/*.cpp)
add_library(sten_bench STATIC ${bench_sources})
add_library(sten::bench ALIAS sten_bench)
sten_target(sten_bench)
sten_precompile(sten_bench <nlohmann/json.hpp>)
set_target_properties(sten_bench PROPERTIES EXPORT_NAME bench)
target_include_directories(sten_bench PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_link_libraries(sten_bench PUBLIC sten PRIVATE nlohmann_json::nlohmann_json)
