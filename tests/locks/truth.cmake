# SPDX-License-Identifier: MIT
# Programs with forced contention that count their own waits, and judges of what `flowback locks` says of them.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(program_folder ${CMAKE_CURRENT_BINARY_DIR}/programs)
set(lock_programs)

# lock_program(OUTPUT sources... OPTIONS options...). Compiled without the build's own options: sanitizers and
# instrumentation would be traced as well.
function(lock_program output)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;OPTIONS" ${ARGN})
  list(TRANSFORM PROGRAM_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/programs/)
  get_filename_component(folder ${program_folder}/${output} DIRECTORY)
  add_custom_command(OUTPUT ${program_folder}/${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${FLOWBACK_PROGRAM_CXX} -std=c++20 -g -Wall -Wextra -pthread ${PROGRAM_OPTIONS} ${PROGRAM_SOURCES}
            -o ${program_folder}/${output}
    DEPENDS ${PROGRAM_SOURCES} programs/contention.h VERBATIM)
  set(lock_programs ${lock_programs} ${program_folder}/${output} PARENT_SCOPE)
endfunction()

# The emulator executes x86 programs alone.
if(TARGET flowback_tcg AND NOT FLOWBACK_SANITIZE)
  set(contended_sources contention.cc main.cc others.cc posix.cc queues.cc spinning.cc standard.cc)
  lock_program(unoptimised/contended SOURCES ${contended_sources} OPTIONS -O0)
  lock_program(optimised/contended SOURCES ${contended_sources} OPTIONS -O2)
  lock_program(stripped/contended SOURCES ${contended_sources} OPTIONS -O2 -s)
  lock_program(static/contended SOURCES ${contended_sources} OPTIONS -O2 -static)
  foreach(name blocking deadlock held odd sleeping)
    lock_program(${name} SOURCES ${name}.cc contention.cc OPTIONS -O2)
  endforeach()
  lock_program(tails SOURCES tails.cc OPTIONS -O2)
  lock_program(holders SOURCES holders.cc OPTIONS -O2)
  lock_program(instances SOURCES instances.cc OPTIONS -O2)
  lock_program(openmp SOURCES openmp.cc OPTIONS -O2 -fopenmp)
  find_program(FLOWBACK_PROGRAM_RUSTC rustc)
  set(rust_locks)
  if(FLOWBACK_PROGRAM_RUSTC)
    set(rust_locks ${program_folder}/rust_locks)
    add_custom_command(OUTPUT ${rust_locks}
      COMMAND ${FLOWBACK_PROGRAM_RUSTC} -C opt-level=2 -g ${CMAKE_CURRENT_SOURCE_DIR}/programs/rust_locks.rs
              -o ${rust_locks}
      DEPENDS programs/rust_locks.rs VERBATIM)
  endif()
  add_custom_target(lock_programs ALL DEPENDS ${lock_programs} ${rust_locks})
  flowback_command_test(locks.programs_count
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/counted_test.py $<TARGET_FILE:flowback>
            ${program_folder}/unoptimised/contended ${program_folder}/optimised/contended)
  foreach(kind unoptimised optimised stripped static stepped)
    set(built ${kind})
    if(kind STREQUAL "stepped")
      # It has no dynamic linker, whose instructions would take seconds.
      set(built static)
    endif()
    flowback_command_test(locks.of_${kind}_code SKIPS
      COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/judge.py $<TARGET_FILE:flowback> ${kind}
              ${program_folder}/${built}/contended ${program_folder}/optimised/contended)
  endforeach()
  add_executable(locks_both_ways both_ways.cc)
  target_include_directories(locks_both_ways PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(locks_both_ways PRIVATE flowback_options flowback_session flowback_replay flowback_writers)
  flowback_command_test(locks.both_ways SECONDS 300
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/both_ways_test.py $<TARGET_FILE:flowback>
            $<TARGET_FILE:locks_both_ways> ${program_folder})
  flowback_command_test(locks.in_timelines
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/timeline_test.py $<TARGET_FILE:flowback>
            ${program_folder}/optimised/contended ${PROJECT_SOURCE_DIR}/tests/recordings)
  flowback_command_test(locks.holders
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/holders_test.py $<TARGET_FILE:flowback>
            ${program_folder}/holders)
  flowback_command_test(locks.instances
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/instances_test.py $<TARGET_FILE:flowback>
            ${program_folder}/instances ${program_folder}/optimised/contended)
  flowback_command_test(locks.odd
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/odd_test.py $<TARGET_FILE:flowback> ${program_folder}
            ${PROJECT_SOURCE_DIR}/tests/recordings)
  flowback_command_test(locks.runtimes
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/runtimes_test.py $<TARGET_FILE:flowback>
            ${program_folder})
  flowback_command_test(locks.beside_strace SKIPS
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/strace_test.py $<TARGET_FILE:flowback>
            ${program_folder}/sleeping)
  flowback_command_test(locks.held_for_long SKIPS
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/drd_test.py $<TARGET_FILE:flowback>
            ${program_folder}/held)
endif()
if(NOT FLOWBACK_SANITIZE)
  flowback_command_test(locks.shared SKIPS
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/shared_test.py $<TARGET_FILE:flowback>
            ${PROJECT_SOURCE_DIR}/../shared)
endif()
