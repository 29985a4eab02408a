# SPDX-License-Identifier: Apache-2.0
cmake_policy(VERSION 3.25)  # install scripts have none of their own
# sten_public_headers(OUT ROOT): libsten/sten.h, what it includes of ours, and what that includes, as
# paths relative to ROOT. One list says what is public, and nothing else is installed.
function(sten_public_headers out root)
  set(found libsten/sten.h)
  set(next ${found})
  while(next)
    list(POP_FRONT next header)
    file(STRINGS ${root}/${header} lines REGEX "^#include \"(libsten|kernels)/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" included "${line}")
      if(NOT included IN_LIST found)
        list(APPEND found ${included})
        list(APPEND next ${included})
      endif()
    endforeach()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# sten_forwarding_headers(TO FORMER HEADER...): writes to TO, for each of these headers of libsten
# whose folder had another name before, a header of its former path that includes it. FORMER lists
# FOLDER>FORMER_FOLDER.
function(sten_forwarding_headers to former)
  foreach(header IN LISTS ARGN)
    cmake_path(GET header FILENAME name)
    cmake_path(GET header PARENT_PATH folder)
    foreach(moved IN LISTS former)
      string(REPLACE ">" ";" moved ${moved})
      list(POP_FRONT moved now before)
      if(folder STREQUAL "libsten/${now}")
        file(CONFIGURE OUTPUT ${to}/libsten/${before}/${name} CONTENT "#pragma once\n#include \"${header}\"\n" @ONLY)
      endif()
    endforeach()
  endforeach()
endfunction()
