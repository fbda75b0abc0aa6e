# shellcheck shell=bash
# Sourced by the scripts here: where the checkout is, how they speak, how they stop.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export ROOT

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    BOLD=$'\e[1m' DIM=$'\e[2m' RED=$'\e[31m' GREEN=$'\e[32m' PLAIN=$'\e[0m'
else
    BOLD='' DIM='' RED='' GREEN='' PLAIN=''
fi
export BOLD DIM RED GREEN PLAIN

say() {
    printf '%s==>%s %s\n' "$BOLD" "$PLAIN" "$*"
}

die() {
    printf '%s%s:%s %s\n' "$RED" "$(basename "$0")" "$PLAIN" "$*" >&2
    exit 1
}

# Prints the comment block at the head of the running script: each script documents itself there.
usage() {
    awk 'NR == 1 { next } /^#/ { sub(/^# ?/, ""); print; next } { exit }' "$0"
}

# want_help "$@": prints the usage and ends when --help is among the arguments.
want_help() {
    local word
    for word in "$@"; do
        case "$word" in
        -h | --help)
            usage
            exit 0
            ;;
        --) return 0 ;;
        esac
    done
}

jobs_count() {
    echo "${MUSTER_JOBS:-$(nproc)}"
}

# project_files ENDING...: fills the array FILES with the project's files of these endings, or all (''); an empty list is a mistake.
project_files() {
    local listing
    listing=$(python3 "$ROOT/scripts/lib/sources.py" "$@")
    [ -n "$listing" ] || die "found no files to check"
    # shellcheck disable=SC2034  # read by the scripts that call this
    mapfile -t FILES <<<"$listing"
}
