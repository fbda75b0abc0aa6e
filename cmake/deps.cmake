# What muster is built on: Debian packages, found through pkg-config. Each becomes a target PkgConfig::<NAME>.
# Whoever uses a library names its target in its own CMakeLists.txt; nothing is linked for everyone.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(muster_missing what)
    message(FATAL_ERROR "${what}\nRun scripts/setup: it installs what is missing from Debian packages.")
endfunction()

# The Raft library is driven through its sans-I/O core, whose rules were read from exactly this release; another one needs
# to be read first, so it is refused.
set(MUSTER_RAFT_VERSION 0.22.1)
pkg_check_modules(RAFT QUIET IMPORTED_TARGET raft)
if(NOT RAFT_FOUND)
    muster_missing("libraft ${MUSTER_RAFT_VERSION} is not installed (package libraft-dev).")
elseif(NOT RAFT_VERSION VERSION_EQUAL MUSTER_RAFT_VERSION)
    muster_missing("libraft is ${RAFT_VERSION}, but muster needs ${MUSTER_RAFT_VERSION} (Debian 12: from bookworm-backports).")
endif()
find_path(MUSTER_RAFT_HEADER_DIR raft.h HINTS ${RAFT_INCLUDE_DIRS} NO_CACHE)
if(NOT MUSTER_RAFT_HEADER_DIR)
    muster_missing("raft.h of libraft ${MUSTER_RAFT_VERSION} is not installed (package libraft-dev).")
endif()
file(STRINGS ${MUSTER_RAFT_HEADER_DIR}/raft.h raft_version_lines REGEX "define RAFT_VERSION_(MAJOR|MINOR|RELEASE) +[0-9]+")
string(REGEX MATCHALL "[0-9]+" raft_version_parts "${raft_version_lines}")
list(JOIN raft_version_parts "." raft_header_version)
if(NOT raft_header_version VERSION_EQUAL MUSTER_RAFT_VERSION)
    muster_missing("${MUSTER_RAFT_HEADER_DIR}/raft.h is of version '${raft_header_version}', not ${MUSTER_RAFT_VERSION}.")
endif()

# muster_find(NAME module package): PkgConfig::NAME, or a message that names the Debian package.
macro(muster_find name module package)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
    if(NOT ${name}_FOUND)
        muster_missing("${module} is not installed (package ${package}).")
    endif()
endmacro()

muster_find(UV libuv libuv1-dev)
muster_find(LZ4 liblz4 liblz4-dev)
muster_find(XXHASH libxxhash libxxhash-dev)
muster_find(OPENSSL openssl libssl-dev)
muster_find(RE2 re2 libre2-dev)
muster_find(JANSSON jansson libjansson-dev)
muster_find(BSD libbsd libbsd-dev)
if(MUSTER_TESTS)
    muster_find(CMOCKA cmocka libcmocka-dev)
    muster_find(RDKAFKA rdkafka librdkafka-dev)
endif()
