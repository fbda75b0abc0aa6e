# shellcheck shell=bash
# For the tests of the scripts: a temporary folder, and expectations that count.

export REPO
REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
tests_passed=0
tests_failed=0

passed() {
    tests_passed=$((tests_passed + 1))
}

failed() {
    tests_failed=$((tests_failed + 1))
    printf 'FAILED: %s\n' "$*"
}

# expect_text NAME TEXT PART: the text holds the part.
expect_text() {
    if [[ "$2" == *"$3"* ]]; then
        passed
    else
        failed "$1: does not say '$3' but: $2"
    fi
}

# expect NAME COMMAND...: the command succeeds.
expect() {
    local name=$1
    shift
    if "$@" >/dev/null 2>&1; then
        passed
    else
        failed "$name"
    fi
}

# expect_refusal NAME PART COMMAND...: the command fails, and says the part.
expect_refusal() {
    local name=$1 part=$2 out
    shift 2
    if out=$("$@" 2>&1); then
        failed "$name: succeeds"
    else
        expect_text "$name" "$out" "$part"
    fi
}

# The closing lines are those of a cmocka program, which scripts/test counts.
finish() {
    echo "[  PASSED  ] $tests_passed test(s)."
    if [ "$tests_failed" -gt 0 ]; then
        echo "[  FAILED  ] $tests_failed test(s), listed above"
        exit 1
    fi
}
