# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154
# Sourced by scripts that tell a story with a cluster and real clients: demo, story. They set: dir, bin, base_port, keep, bootstrap.

chapter=0
title() {
    chapter=$((chapter + 1))
    printf '\n%s%d. %s%s\n\n' "$BOLD" "$chapter" "$*" "$PLAIN"
}

note() {
    printf '   %s\n' "$*"
}

# Shows a command as one would type it, runs it, and indents what it prints.
show() {
    printf '   %s$ %s%s\n' "$DIM" "${*/#$bin\//}" "$PLAIN"
    "$@" 2>&1 | sed 's/^/   /'
}

fail() {
    printf '\n%sThe %s failed:%s %s\n' "$RED" "$(basename "$0")" "$PLAIN" "$*" >&2
    local log
    for log in "$dir"/*.log "$dir"/node-*/log; do
        [ -s "$log" ] || continue
        echo "--- the end of $log" >&2
        tail -n 8 "$log" >&2
    done
    exit 1
}

cluster() {
    MUSTER_BIN=$bin "$ROOT/scripts/cluster" "$@" --dir "$dir"
}

muster() {
    "$bin/muster" "$@" --bootstrap "$bootstrap"
}

# Only what was started here: clients are the pids in `clients`, and start_cluster was called.
clients=() started=''

end_clients() {
    local pid
    for pid in "${clients[@]}"; do
        kill -CONT "$pid" 2>/dev/null || true
        kill -TERM "$pid" 2>/dev/null || true
    done
    for pid in "${clients[@]}"; do
        wait "$pid" 2>/dev/null || true
    done
    clients=()
}

clean_up() {
    local status=$?
    trap - EXIT INT TERM
    end_clients
    if [ -n "$started" ] && [ -z "$keep" ]; then
        cluster stop || true
        [ "$status" -ne 0 ] || rm -rf "$dir"
    fi
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# start_cluster OPTION...: as `cluster start` has them; from the beginning; sets bootstrap.
start_cluster() {
    cluster start --base-port "$base_port" --fresh "$@" || fail "the cluster did not start"
    started=1
    cluster wait 30 || fail "the cluster does not serve"
    bootstrap=$(cluster bootstrap)
    export bootstrap
}

# until_true SECONDS COMMAND...: polls.
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.05
    done
}

now() {
    date +%s.%N
}

# build_programs TARGET...: sets bin, unless it is given.
build_programs() {
    local log target targets=()
    [ -z "$bin" ] || return 0
    for target in "$@"; do
        targets+=(--target "$target")
    done
    "$ROOT/scripts/setup" --quiet
    bin=$ROOT/build/release/bin
    if ! log=$(MUSTER_NO_SETUP=1 "$ROOT/scripts/build" release "${targets[@]}" 2>&1); then
        printf '%s\n' "$log" >&2
        fail "the build failed"
    fi
}

# tell_options "$@": sets keep, base_port, dir and bin.
tell_options() {
    while [ $# -gt 0 ]; do
        case "$1" in
        --keep) keep=1 ;;
        --base-port | --dir | --bin)
            [ $# -ge 2 ] || die "$1 needs a value"
            case "$1" in
            --base-port) base_port=$2 ;;
            --dir) dir=$2 ;;
            --bin) bin=$2 ;;
            esac
            shift
            ;;
        *) die "unknown argument '$1' (--help prints the usage)" ;;
        esac
        shift
    done
}
