# Flags that every target of the house shares, and the two functions that make targets and tests.
add_library(railgauge_warnings INTERFACE)
target_compile_options(railgauge_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 at -O3 sees overlaps in std::string's operator+ that cannot be (GCC bugs 105329, 105651).
  target_compile_options(railgauge_warnings INTERFACE -Wno-restrict)
endif()
if(RAILGAUGE_WERROR)
  target_compile_options(railgauge_warnings INTERFACE -Werror)
endif()
if(RAILGAUGE_SANITIZE)
  add_compile_options(-fsanitize=${RAILGAUGE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RAILGAUGE_SANITIZE})
endif()
if(RAILGAUGE_FUZZ)
  # Coverage into every library; the fuzzers themselves link libFuzzer (tests/fuzz).
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

# railgauge_add_library(NAME SOURCES … LIBS … [PRIVATE_LIBS …]): lib/<NAME>, target railgauge_<NAME>.
function(railgauge_add_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS;PRIVATE_LIBS" ${ARGN})
  add_library(railgauge_${name} STATIC ${arg_SOURCES})
  add_library(railgauge::${name} ALIAS railgauge_${name})
  target_include_directories(railgauge_${name} PUBLIC ${PROJECT_SOURCE_DIR}/lib)
  target_link_libraries(railgauge_${name} PUBLIC ${arg_LIBS} PRIVATE ${arg_PRIVATE_LIBS} railgauge_warnings)
endfunction()

# railgauge_add_test(NAME … SOURCES … LIBS … LABELS … [ENVIRONMENT …] [TIMEOUT s]): one GoogleTest program, one CTest entry.
function(railgauge_add_test)
  cmake_parse_arguments(arg "" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS;ENVIRONMENT" ${ARGN})
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main railgauge_warnings)
  target_include_directories(${arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(RAILGAUGE_SANITIZE)
    # Half the time of g++ with both sanitizers; what is tested keeps the preset's level.
    target_compile_options(${arg_NAME} PRIVATE -O0)
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
