# SPDX-License-Identifier: Apache-2.0
# Writes OUT, the header build_id.h: VERSION and a hash of all public headers below ROOT, with which an
# extension must have been compiled (libsten/core/registry/extension.h).
#   cmake -D ROOT=... -D VERSION=... -D OUT=... -P StenBuildId.cmake
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/StenHeaders.cmake)
sten_public_headers(headers ${ROOT})
list(SORT headers)
set(hashes)
foreach(header IN LISTS headers)
  file(SHA256 ${ROOT}/${header} hash)
  string(APPEND hashes "${header} ${hash}\n")
endforeach()
string(SHA256 id "${hashes}")
string(SUBSTRING ${id} 0 16 id)
file(WRITE ${OUT} "// Version of libsten and id of its public headers.\n#pragma once\n#define STEN_BUILD_ID \"${VERSION} ${id}\"\n")
