# SPDX-License-Identifier: MIT
# cmake --install: program, library, headers, CMake and pkg-config packages, manual pages, documents,
# shell completion. Other projects link flowback::flowback, which is all rooms. Each part belongs to a
# component, of which Package.cmake makes Debian packages: program, dev or documents.
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
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(EXPORT flowbackTargets NAMESPACE flowback:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(cmake/flowbackConfig.cmake.in
  ${PROJECT_BINARY_DIR}/flowbackConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/flowbackConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/flowbackConfig.cmake
              ${PROJECT_BINARY_DIR}/flowbackConfigVersion.cmake DESTINATION ${package_dir} COMPONENT dev)

# The same for pkg-config: the archives refer to each other in all directions, so they are one group.
# Libraries that are named by their path have the last part of it as their name.
set(archives "")
set(others "")
set(packages "")
foreach(room IN LISTS rooms)
  string(APPEND archives " -l${room}")
  get_target_property(libraries ${room} LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    if(library MATCHES "^PkgConfig::(.+)$")
      list(APPEND packages ${${CMAKE_MATCH_1}_MODULE_NAME})
    elseif(library MATCHES "^fmt::")
      list(APPEND packages fmt)
    elseif(library MATCHES "/lib([A-Za-z0-9_]+)\\.so$")
      list(APPEND others -l${CMAKE_MATCH_1})
    elseif(library MATCHES "^[a-z]+$")
      list(APPEND others -l${library})
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES packages)
list(REMOVE_DUPLICATES others)
list(JOIN packages " " FLOWBACK_PC_REQUIRES)
list(JOIN others " " others)
set(FLOWBACK_PC_LIBS "-Wl,--start-group${archives} -Wl,--end-group ${others} -pthread")
file(RELATIVE_PATH FLOWBACK_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(package flowback flowback_self)
  configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT dev)
endforeach()

install(DIRECTORY include/flowback DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        FILES_MATCHING PATTERN *.h PATTERN *.def)
install(TARGETS flowback RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents
        FILES_MATCHING PATTERN *.md PATTERN *.png PATTERN *.svg PATTERN man EXCLUDE
        PATTERN completions EXCLUDE)
install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES docs/completions/flowback.bash RENAME flowback COMPONENT program
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES docs/completions/flowback.zsh RENAME _flowback COMPONENT program
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES docs/completions/flowback.fish COMPONENT program
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

add_custom_target(flowback_installed DEPENDS flowback manual_pages)
add_dependencies(flowback_installed ${rooms})
foreach(part flowback_tcg flowback_dwarf)
  if(TARGET ${part})
    add_dependencies(flowback_installed ${part})
  endif()
endforeach()
