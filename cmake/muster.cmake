# How everything here is compiled, and the three ways to make something:
#
#   muster_library(NAME SOURCES a.c b.c [PUBLIC libs..] [PRIVATE libs..])
#       static library muster_NAME. Its folder is on its own include path and on no one else's. PUBLIC libraries come along for
#       whoever links it, PRIVATE ones stay inside.
#   muster_program(NAME SOURCES main.c [LIBS libs..])
#       executable bin/NAME.
#   muster_test(NAME SOURCES a_test.c [LIBS libs..] [PRIVATE_OF libs..] [LABEL unit] [TIMEOUT 60] [ARGS ..] [WRAP functions..])
#       cmocka program bin/tests/NAME, registered with ctest as LABEL/NAME under its label. PRIVATE_OF puts the private headers of
#       these libraries (muster_NAME) on its include path: for tests only. WRAP interposes functions at link time (--wrap).
#   muster_fuzz(NAME SOURCES fuzz_x.c CORPUS folder [LIBS libs..] [PRIVATE_OF libs..])
#       LLVMFuzzerTestOneInput in SOURCES. With the fuzz preset a libFuzzer program bin/fuzz/NAME; in every other build a program that
#       runs the corpus once. Both are registered with ctest as fuzz/NAME and run exactly the corpus.
#
# Headers: include/muster is for everyone, <build>/gen holds generated public headers (include them as <muster/...>).

set(MUSTER_GEN_DIR ${CMAKE_BINARY_DIR}/gen)
file(MAKE_DIRECTORY ${MUSTER_GEN_DIR}/muster)

set(muster_warnings -Wall -Wextra -Wconversion -Wshadow -Wvla -Wformat=2 -Wundef -Werror)
set(muster_c_warnings -Wstrict-prototypes -Wmissing-prototypes)

add_library(muster_options INTERFACE)
target_compile_features(muster_options INTERFACE c_std_17 cxx_std_17)
target_include_directories(muster_options INTERFACE ${CMAKE_SOURCE_DIR}/include ${MUSTER_GEN_DIR})
target_compile_definitions(muster_options INTERFACE _GNU_SOURCE)
target_compile_options(muster_options INTERFACE
    ${muster_warnings}
    $<$<COMPILE_LANGUAGE:C>:${muster_c_warnings}>
    -g
    -fno-omit-frame-pointer
    -fno-strict-aliasing)
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_EXTENSIONS ON)

# CMake's own defaults define NDEBUG and pick -O3; a build type here says only how hard to optimize.
foreach(lang IN ITEMS C CXX)
    set(CMAKE_${lang}_FLAGS_DEBUG "-Og")
    set(CMAKE_${lang}_FLAGS_RELEASE "-O2")
    set(CMAKE_${lang}_FLAGS_RELWITHDEBINFO "-O1")
endforeach()

if(MUSTER_HARDEN)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    target_compile_options(muster_options INTERFACE
        -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fPIE)
    target_link_options(muster_options INTERFACE -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()

if(MUSTER_SANITIZE)
    list(JOIN MUSTER_SANITIZE "," muster_sanitizers)
    target_compile_options(muster_options INTERFACE -fsanitize=${muster_sanitizers} -fno-sanitize-recover=all)
    target_link_options(muster_options INTERFACE -fsanitize=${muster_sanitizers})
endif()

if(MUSTER_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "MUSTER_FUZZ needs clang: use `cmake --preset fuzz`.")
    endif()
    target_compile_options(muster_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(MUSTER_COVERAGE)
    target_compile_options(muster_options INTERFACE --coverage)
    target_link_options(muster_options INTERFACE --coverage)
endif()

foreach(fault IN LISTS MUSTER_FAULT)
    string(TOUPPER "${fault}" fault_name)
    string(REPLACE "-" "_" fault_name "${fault_name}")
    target_compile_definitions(muster_options INTERFACE MUSTER_FAULT_${fault_name}=1)
    message(WARNING "Planted fault ${fault_name} is built in: this build is wrong on purpose.")
endforeach()

function(muster_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "muster_library(${name}): unexpected ${arg_UNPARSED_ARGUMENTS}")
    endif()
    add_library(muster_${name} STATIC ${arg_SOURCES})
    target_include_directories(muster_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(muster_${name} PUBLIC muster_options ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
endfunction()

function(muster_program name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "muster_program(${name}): unexpected ${arg_UNPARSED_ARGUMENTS}")
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE muster_options ${arg_LIBS})
endfunction()

function(muster_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;LIBS;PRIVATE_OF;ARGS;WRAP")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "muster_test(${name}): unexpected ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT arg_LABEL)
        set(arg_LABEL unit)
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    set(target test_${arg_LABEL}_${name})
    add_executable(${target} ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/tests/${arg_LABEL})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/tests/lib)
    foreach(lib IN LISTS arg_PRIVATE_OF)
        target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:${lib},SOURCE_DIR>)
    endforeach()
    target_link_libraries(${target} PRIVATE muster_options ${arg_LIBS} PkgConfig::CMOCKA)
    foreach(function IN LISTS arg_WRAP)
        target_link_options(${target} PRIVATE -Wl,--wrap=${function})
    endforeach()
    add_test(NAME ${arg_LABEL}/${name} COMMAND ${target} ${arg_ARGS} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(${arg_LABEL}/${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()

function(muster_fuzz name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS" "SOURCES;LIBS;PRIVATE_OF")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_CORPUS)
        message(FATAL_ERROR "muster_fuzz(${name}): needs SOURCES and CORPUS; unexpected: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    get_filename_component(corpus ${arg_CORPUS} ABSOLUTE)
    set(target fuzz_${name})
    if(MUSTER_FUZZ)
        add_executable(${target} ${arg_SOURCES})
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
        set(run ${target} -runs=0 ${corpus})
    else()
        add_executable(${target} ${arg_SOURCES} ${CMAKE_SOURCE_DIR}/cmake/corpus_main.c)
        set(run ${target} ${corpus})
    endif()
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/fuzz)
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/tests/lib)
    foreach(lib IN LISTS arg_PRIVATE_OF)
        target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:${lib},SOURCE_DIR>)
    endforeach()
    target_link_libraries(${target} PRIVATE muster_options ${arg_LIBS})
    add_test(NAME fuzz/${name} COMMAND ${run})
    set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()
