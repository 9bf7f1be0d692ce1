# shellcheck shell=bash
# The functions for a program's file, which sources this one first. Results are lines of the file RESULT.
set -euo pipefail

result() { printf '%s: %s\n' "$1" "${*:2}" >>"$RESULT"; }

# Says why the program is not tried, and ends.
skip() {
    result skipped "$*"
    exit 0
}

fail() {
    echo "error: $*" >&2
    exit 1
}

# Prints the version of a Debian package, without what Debian adds.
debian_version() { dpkg-query -W -f '${Version}' "$1" | sed 's/[~-].*//'; }

# Skips unless SOURCES has all these directories.
need() {
    local directory
    for directory; do
        [ -d "$SOURCES/$directory" ] || skip "$SOURCES has no $directory"
    done
}

# Skips unless these Debian packages are installed.
need_packages() {
    local package
    for package; do
        [ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" = 'install ok installed' ] || skip "Debian's $package is not installed"
    done
}

# Prints the commit of a directory of SOURCES: its own, or what the file NAME.commit beside it says if it is an archive of a commit.
commit() {
    if [ -f "$SOURCES/$1.commit" ]; then cut -c 1-8 "$SOURCES/$1.commit"; else git -C "$SOURCES/$1" rev-parse --short=8 HEAD; fi
}

# Runs a command with its output in the file OUTPUT, for at most a minute. Fails with its output unless it ends with 0.
run_into() {
    local output=$1 code=0
    shift
    timeout --kill-after=5 60 "$@" >"$output" 2>&1 </dev/null || code=$?
    [ "$code" = 0 ] || { tail -40 "$output" >&2; fail "ended with $code: $*"; }
}

# Compiles C++17 files, as many at a time as there are processors: compile DIRECTORY FLAGS... -- FILE...
# Objects have the names of the files.
compile() {
    local directory=$1 flags=()
    shift
    while [ "$1" != -- ]; do flags+=("$1"); shift; done
    shift
    mkdir -p "$directory"
    # shellcheck disable=SC2016
    for file; do printf "%s\0" "$file"; done | directory=$directory xargs -0 -P "$(nproc)" -I{} sh -c '
        file=$1; shift; name=${file##*/}
        case $name in *.c) compiler="gcc -std=gnu11" ;; *) compiler="g++ -std=c++17" ;; esac
        $compiler -w -fPIC -O1 "$@" -c "$file" -o "$directory/$name.o" || exit 255' sh {} "${flags[@]}" ||
        fail "it does not compile"
}
