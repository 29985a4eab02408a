# SPDX-License-Identifier: Apache-2.0
# sten_add_extension(NAME SOURCE...): the target NAME and the file NAME.so, an extension for --load of
# sten's programs. Part of the installed package.
function(sten_add_extension name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so")
  target_link_libraries(${name} PRIVATE sten::sten)
endfunction()
