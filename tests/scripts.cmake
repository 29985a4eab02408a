# SPDX-License-Identifier: Apache-2.0
# The tests that are scripts. "once" marks those that say the same in every build.

function(sten_script_test name)
  cmake_parse_arguments(arg "" "" "COMMAND;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES
    TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS "${arg_LABELS}"
    ENVIRONMENT "STEN_BIN=${CMAKE_BINARY_DIR}/bin;STEN_SOURCE=${PROJECT_SOURCE_DIR}")
endfunction()

set(checks ${PROJECT_SOURCE_DIR}/scripts/checks)
sten_script_test(check.dense_libraries COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/checks/dense_libraries.sh)
sten_script_test(check.includes LABELS once COMMAND python3 ${checks}/includes.py)
sten_script_test(check.includes.selftest LABELS once
                 COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/checks/includes_test.sh)
sten_script_test(check.image_libraries COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/checks/image_libraries.sh)
# In sanitized builds there is data before functions, which reads like such instructions.
sten_script_test(check.no_stray_avx LABELS once
                 COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/checks/no_stray_avx_test.sh ${CMAKE_BINARY_DIR})
sten_script_test(check.json LABELS once COMMAND sh ${checks}/json_parser.sh)
sten_script_test(check.json.selftest LABELS once
                 COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/checks/json_parser_test.sh)
sten_script_test(check.words LABELS once COMMAND bash ${checks}/words.sh)
sten_script_test(check.words.selftest LABELS once
                 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/checks/words_test.sh)
sten_script_test(check.license LABELS once COMMAND bash ${checks}/license.sh)
sten_script_test(check.license.selftest LABELS once
                 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/checks/license_test.sh)
sten_script_test(check.messages LABELS once COMMAND python3 ${checks}/messages.py)
sten_script_test(check.messages.selftest LABELS once
                 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/checks/messages_test.sh)
sten_script_test(check.recipes LABELS once COMMAND sh ${checks}/recipe_table.sh)
sten_script_test(check.documents LABELS once COMMAND bash ${checks}/documents.sh)
sten_script_test(check.documents.selftest LABELS once
                 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/checks/documents_test.sh)
sten_script_test(check.gpu_check.selftest LABELS once
                 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/checks/gpu_check_test.sh)
sten_script_test(check.schema LABELS once COMMAND sh ${checks}/recipe_schema.sh)
sten_script_test(check.format LABELS once COMMAND bash ${checks}/clang_format.sh)
sten_script_test(install.consumer LABELS once
                 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/install/run.sh ${CMAKE_BINARY_DIR})

sten_script_test(examples.ci LABELS once COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/examples/ci.sh)
sten_script_test(packages.third_party LABELS once
                 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/packages/third_party.sh ${CMAKE_BINARY_DIR})
sten_script_test(packages.smoke LABELS once
                 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/packages/smoke.sh ${CMAKE_BINARY_DIR})

sten_script_test(extend.programs
                 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/extend/programs.sh
                         ${CMAKE_CURRENT_BINARY_DIR}/extend/bin)
sten_script_test(extend.document LABELS once
                 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/extend/document.sh)
sten_script_test(extend.kernel LABELS once
                 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/extend/kernel.sh ${CMAKE_BINARY_DIR})

sten_script_test(mpi.ranks COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/comm/mpi_ranks.sh ${CMAKE_BINARY_DIR})

# What pages show of commands is what these print.
sten_script_test(docs.selftest LABELS once COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/docs/selftest.sh)
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md ${PROJECT_SOURCE_DIR}/docs/*.md
     ${PROJECT_SOURCE_DIR}/docs/notebook/*.md ${PROJECT_SOURCE_DIR}/recipes/*.md)
foreach(page IN LISTS pages)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
  file(STRINGS ${page} commands REGEX "^[$] (sten-|TRAIN=)")
  if(commands)
    get_filename_component(name ${page} NAME_WE)
    if(page MATCHES "/notebook/")
      string(PREPEND name notebook.)
    endif()
    sten_script_test(docs.${name} LABELS once
                     COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/docs/run.sh ${page})
  endif()
endforeach()

# A name that begins with _ is a helper of the others.
file(GLOB scripts CONFIGURE_DEPENDS cli/[^_]*.sh)
foreach(script IN LISTS scripts)
  get_filename_component(name ${script} NAME_WE)
  set(labels cli)
  if(name MATCHES "^(finetune|finetune_torch|llm_scripts|manual|run_docs|recipe_tables|train_docs)$")  # that what documents show is true
    list(APPEND labels once)
  elseif(name MATCHES "_killed$")  # sanitizers have no say in a process that is killed
    list(APPEND labels once)
  endif()
  sten_script_test(cli.${name} LABELS ${labels} COMMAND bash ${script})
endforeach()

# Needs Chromium, which scripts/setup.sh does not install.
sten_script_test(report.pages LABELS once COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/report/pages.sh)

file(GLOB scripts CONFIGURE_DEPENDS interop/[^_]*_interop.py)
foreach(script IN LISTS scripts)
  get_filename_component(name ${script} NAME_WE)
  string(REGEX REPLACE "_interop$" "" name ${name})
  sten_script_test(interop.${name} LABELS interop
                   COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/interop/_run.sh ${CMAKE_BINARY_DIR} ${script})
endforeach()

# The package sten_tools: its extension module is built against this build.
sten_script_test(python.package LABELS interop
                 COMMAND bash ${PROJECT_SOURCE_DIR}/python/tests/run.sh ${CMAKE_BINARY_DIR})
set_tests_properties(python.package PROPERTIES TIMEOUT 900)  # compiles

# Of each case of docs/bad_input.md, the test that it names has to have run and recorded it, so
# check.bad_input comes after them.
set(records ${CMAKE_CURRENT_BINARY_DIR}/records)
file(MAKE_DIRECTORY ${records})
set(table ${PROJECT_SOURCE_DIR}/docs/bad_input.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
file(STRINGS ${table} cases REGEX "^\\| [0-9]+ \\|.*tests/")
list(TRANSFORM cases REPLACE "^.*tests/([a-z]+)/([a-z_]+).*$" "\\1.\\2")
list(TRANSFORM cases REPLACE "^(.*)\\..*_test$" "unit.\\1")
list(REMOVE_DUPLICATES cases)
foreach(name IN LISTS cases)
  if(TEST ${name})
    set_property(TEST ${name} PROPERTY FIXTURES_SETUP bad_input)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT STEN_RECORD=${records}/${name})
  endif()
endforeach()
sten_script_test(check.bad_input LABELS once COMMAND sh ${checks}/bad_input_coverage.sh ${records})
set_tests_properties(check.bad_input PROPERTIES FIXTURES_REQUIRED bad_input)
sten_script_test(check.bad_input.selftest LABELS once
                 COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/checks/bad_input_test.sh)

# A little of what scripts/attack.sh does by hand for hours, the same each time.
foreach(part differential hostile faults kills trees bombs)
  set(labels attack)
  if(part STREQUAL kills)
    list(APPEND labels once)
  endif()
  sten_script_test(attack.${part} LABELS ${labels}
                   COMMAND bash ${PROJECT_SOURCE_DIR}/scripts/attack.sh --part ${part} --seed 1 --quiet)
endforeach()
