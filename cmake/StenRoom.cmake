# SPDX-License-Identifier: Apache-2.0
# sten_room(FOLDER [USES FOLDER...] [FORMERLY FOLDER] [LIBRARIES NAME...] [EARLY] [THREADS] [COLD])
# declares a room of libsten: the sources in FOLDER are one object target, whose files may include
# headers of the room itself and of the rooms that it USES. scripts/checks/includes.py reads these
# declarations and checks the includes.
#   FORMERLY   the folder below libsten/ in which these headers were in version 0.1: programs may
#              still include them from there (see StenHeaders.cmake)
#   LIBRARIES  files named NAME*.cpp need the library NAME; without it, those in absent/ are taken
#   EARLY      part of the early sten-prune, which the quickstart builds first
#   THREADS    checked by ThreadSanitizer, as early rooms are: all would take as long again to compile
#   COLD       compiled with -O1: its code does little for each tensor, and is as fast

function(sten_room folder)
  cmake_parse_arguments(PARSE_ARGV 1 room "EARLY;THREADS;COLD" "FORMERLY" "USES;LIBRARIES")
  if(STEN_SANITIZE STREQUAL thread AND NOT room_EARLY AND NOT room_THREADS)
    return()
  endif()
  string(REPLACE "/" "_" target sten_${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  foreach(library IN LISTS room_LIBRARIES)
    if(NOT STEN_HAS_${library})
      list(FILTER sources EXCLUDE REGEX "/${library}[a-z_]*\\.cpp$")
      file(GLOB absent CONFIGURE_DEPENDS ${folder}/absent/${library}*.cpp)
      list(APPEND sources ${absent})
    endif()
  endforeach()
  add_library(${target} OBJECT ${sources})
  sten_target(${target})
  target_link_libraries(${target} PRIVATE sten_dependencies)
  target_sources(sten PRIVATE $<TARGET_OBJECTS:${target}>)
  set_property(GLOBAL APPEND PROPERTY STEN_ROOMS ${folder})
  if(room_EARLY)
    set_property(GLOBAL APPEND PROPERTY STEN_EARLY_ROOMS ${target})
  endif()
  if(room_FORMERLY)
    set_property(GLOBAL APPEND PROPERTY STEN_FORMER_FOLDERS "${folder}>${room_FORMERLY}")
  endif()
  sten_unity(${target})

  set(flags)
  if(STEN_SANITIZE AND NOT STEN_SANITIZE STREQUAL thread)
    set(flags -O1)  # saves the tests more time than it costs the compiler
    # Checked functions are large. Inlined less, they take clang 14 some 15 % less time.
    if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
      list(APPEND flags "SHELL:-mllvm -inline-threshold=25")
    endif()
    if(STEN_FUZZ AND NOT folder MATCHES "^compute/")  # what the fuzzers see of the code they drive
      list(APPEND flags -fsanitize=fuzzer-no-link -fno-sanitize-coverage=pc-table)
    endif()
  elseif(room_COLD AND CMAKE_BUILD_TYPE STREQUAL Release)
    set(flags -O1)
  endif()
  target_compile_options(${target} PRIVATE ${flags})
  # The first room with these flags precompiles the headers for all.
  if(STEN_PCH)
    string(MAKE_C_IDENTIFIER "STEN_PRECOMPILED${flags}" kind)
    get_property(first GLOBAL PROPERTY ${kind})
    if(first)
      target_precompile_headers(${target} REUSE_FROM ${first})
    else()
      sten_precompile(${target} <nlohmann/json.hpp>)
      set_property(GLOBAL PROPERTY ${kind} ${target})
    endif()
  endif()
endfunction()
