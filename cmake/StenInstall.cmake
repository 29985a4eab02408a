# SPDX-License-Identifier: Apache-2.0
# `cmake --install` gives programs, libsten, its public headers, a pkg-config file and the CMake
# package: sten::sten, and sten::prune-main and the like, which are the programs to link something to.
include(CMakePackageConfigHelpers)

# Whoever built a program or two, as the quickstart does, gets the rest built when it is installed.
add_custom_target(sten-installed ALL DEPENDS sten sten_bench ${STEN_MAINS} sten-command ${STEN_PROGRAMS} ${STEN_PAGES})
install(CODE "
  execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\"
                          --config \"\${CMAKE_INSTALL_CONFIG_NAME}\" --target sten-installed
                  COMMAND_ERROR_IS_FATAL ANY)" ALL_COMPONENTS)
install(TARGETS sten sten_bench ${STEN_MAINS} EXPORT stenTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS sten-command ${STEN_PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
get_property(STEN_FORMER_FOLDERS GLOBAL PROPERTY STEN_FORMER_FOLDERS)
# Which they are is looked up when they are installed: they may have changed since the configuration.
install(CODE "
  include(\"${PROJECT_SOURCE_DIR}/cmake/StenHeaders.cmake\")
  sten_public_headers(headers \"${PROJECT_SOURCE_DIR}\")
  foreach(header IN LISTS headers)
    cmake_path(GET header PARENT_PATH folder)
    file(INSTALL \"${PROJECT_SOURCE_DIR}/\${header}\"
         DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/\${folder}\")
  endforeach()
  sten_forwarding_headers(\"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\" \"${STEN_FORMER_FOLDERS}\"
                          \${headers})")

install(FILES ${PROJECT_BINARY_DIR}/include/libsten/core/base/build_id.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/libsten/core/base)

install(FILES ${STEN_MANUALS} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${STEN_COMPLETIONS} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${STEN_ZSH_COMPLETIONS} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${STEN_FISH_COMPLETIONS} DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES recipes/schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/sten)
# Loaders of files in layouts for Python programs.
install(FILES scripts/sten_load.py scripts/sten_load_torch.py
        DESTINATION ${CMAKE_INSTALL_DATADIR}/sten/python)
install(FILES python/sten_tools/__init__.py python/sten_tools/reader.py python/sten_tools/torch_reader.py
        DESTINATION ${CMAKE_INSTALL_DATADIR}/sten/python/sten_tools)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sten)
install(EXPORT stenTargets NAMESPACE sten:: DESTINATION ${package_dir})
configure_package_config_file(cmake/stenConfig.cmake.in ${CMAKE_BINARY_DIR}/stenConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/stenConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/stenConfig.cmake ${CMAKE_BINARY_DIR}/stenConfigVersion.cmake
              cmake/StenExtension.cmake
        DESTINATION ${package_dir})

# Relative to the file itself, so that the prefix may be moved.
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/sten.pc.in ${CMAKE_BINARY_DIR}/sten.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/sten.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
