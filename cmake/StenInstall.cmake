# SPDX-License-Identifier: Apache-2.0
# `cmake --install` gives programs, libsten, its public headers, a pkg-config file and the CMake
# package: sten::sten, and sten::prune-main and the like, which are the programs to link something to.
# Its components are programs, library, devel (to compile with libsten), mpi and cuda.
include(CMakePackageConfigHelpers)

# Whoever built a program or two, as the quickstart does, gets the rest built when it is installed.
add_custom_target(sten-installed ALL DEPENDS sten sten_bench ${STEN_MAINS} sten-command ${STEN_PROGRAMS} ${STEN_PAGES})
install(CODE "
  execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\"
                          --config \"\${CMAKE_INSTALL_CONFIG_NAME}\" --target sten-installed
                  COMMAND_ERROR_IS_FATAL ANY)" ALL_COMPONENTS)
install(TARGETS sten sten_bench ${STEN_MAINS} EXPORT stenTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT devel
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT devel
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS sten-command ${STEN_PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
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
                          \${headers})" COMPONENT devel)

install(FILES ${PROJECT_BINARY_DIR}/include/libsten/core/base/build_id.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/libsten/core/base COMPONENT devel)

set(STEN_CONTACT "" CACHE STRING "Mail address for reports of vulnerabilities, and maintainer of packages")
if(STEN_CONTACT)
  set(STEN_CONTACT_TEXT "Write to ${STEN_CONTACT}.")
else()
  set(STEN_CONTACT_TEXT "This build names no contact: STEN_CONTACT was not set when it was configured. Ask whoever gave you the\nprograms.")
endif()
configure_file(cmake/SECURITY.md.in ${CMAKE_BINARY_DIR}/SECURITY.md @ONLY)

set(data ${CMAKE_INSTALL_DATADIR})
install(FILES ${STEN_MANUALS} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
install(FILES ${STEN_COMPLETIONS} DESTINATION ${data}/bash-completion/completions COMPONENT programs)
install(FILES ${STEN_ZSH_COMPLETIONS} DESTINATION ${data}/zsh/site-functions COMPONENT programs)
install(FILES ${STEN_FISH_COMPLETIONS} DESTINATION ${data}/fish/vendor_completions.d COMPONENT programs)
install(FILES recipes/schema.json DESTINATION ${data}/sten COMPONENT programs)
# Loaders of files in layouts for Python programs.
install(FILES scripts/sten_load.py scripts/sten_load_torch.py DESTINATION ${data}/sten/python COMPONENT programs)
install(FILES python/sten_tools/__init__.py python/sten_tools/reader.py python/sten_tools/torch_reader.py
        DESTINATION ${data}/sten/python/sten_tools COMPONENT programs)
install(FILES README.md LICENSE CHANGELOG.md ${CMAKE_BINARY_DIR}/SECURITY.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT programs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sten)
install(EXPORT stenTargets NAMESPACE sten:: DESTINATION ${package_dir} COMPONENT devel)
configure_package_config_file(cmake/stenConfig.cmake.in ${CMAKE_BINARY_DIR}/stenConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/stenConfigVersion.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/stenConfig.cmake ${CMAKE_BINARY_DIR}/stenConfigVersion.cmake
              cmake/StenExtension.cmake
        DESTINATION ${package_dir} COMPONENT devel)

# Relative to the file itself, so that the prefix may be moved.
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/sten.pc.in ${CMAKE_BINARY_DIR}/sten.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/sten.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT devel)
