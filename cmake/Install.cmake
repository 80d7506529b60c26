# SPDX-License-Identifier: MIT
# cmake --install: program, library, headers, CMake package, manual pages, documents, shell completion.
# Other projects link flowback::flowback, which is all rooms.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY FLOWBACK_ROOMS)
foreach(room IN LISTS rooms)
  string(REPLACE "flowback_" "" short ${room})
  set_target_properties(${room} PROPERTIES EXPORT_NAME ${short})
endforeach()
add_library(flowback_library INTERFACE)
target_link_libraries(flowback_library INTERFACE ${rooms})
target_compile_features(flowback_library INTERFACE cxx_std_23)
set_target_properties(flowback_library PROPERTIES EXPORT_NAME flowback)
add_library(flowback::flowback ALIAS flowback_library)

# Static libraries pass what they link on to the final program, so the package has to find it again.
set(FLOWBACK_PKG_CONFIG "")
set(FLOWBACK_PACKAGES "")
foreach(room IN LISTS rooms)
  get_target_property(libraries ${room} LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    if(library MATCHES "^PkgConfig::(.+)$")
      string(APPEND FLOWBACK_PKG_CONFIG
        "pkg_check_modules(${CMAKE_MATCH_1} REQUIRED QUIET IMPORTED_TARGET ${${CMAKE_MATCH_1}_MODULE_NAME})\n")
    elseif(library MATCHES "^([A-Za-z0-9_]+)::")
      string(APPEND FLOWBACK_PACKAGES "find_dependency(${CMAKE_MATCH_1})\n")
    endif()
  endforeach()
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/flowback)
install(TARGETS flowback_library ${rooms} EXPORT flowbackTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT flowbackTargets NAMESPACE flowback:: DESTINATION ${package_dir})
configure_package_config_file(cmake/flowbackConfig.cmake.in
  ${PROJECT_BINARY_DIR}/flowbackConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/flowbackConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/flowbackConfig.cmake
              ${PROJECT_BINARY_DIR}/flowbackConfigVersion.cmake DESTINATION ${package_dir})

install(DIRECTORY include/flowback DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN *.h PATTERN *.def)
install(TARGETS flowback RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md)
install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/completions/flowback.bash RENAME flowback
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
