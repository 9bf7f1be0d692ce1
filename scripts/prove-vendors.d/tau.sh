# shellcheck shell=bash
# TAU, built whole by its own configure and make. What rocprofiler-sdk.sh names, and in SOURCES
#     tau2    UO-OACISS/tau2, with its submodule perfstubs
# shellcheck source=scripts/prove-vendors.d/rocprofiler-sdk.sh
. "$PROJECT/scripts/prove-vendors.d/rocprofiler-sdk.sh"
need tau2/src/Profile tau2/perfstubs/perfstubs_api rocm-systems/projects/rocm-core

# A directory that looks like ROCm's: AMD's headers, and opscope's libraries.
root=$PWD/rocm
mkdir -p "$root/lib" "$root/include/rocm-core"
cp -r "$sdk"/source/include/*/ headers/. "$root/include"
for directory in "$SOURCES"/rocm-headers/usr/include/{hip,hsa} "$SOURCES/rocm-systems/projects/rocr-runtime/libhsakmt/include/hsakmt"; do
    ln -s "$directory" "$root/include"
done
sed -e 's/@VERSION_MAJOR@/7/; s/@VERSION_MINOR@/0/; s/@VERSION_PATCH@/0/; s/@PACKAGE_BUILD_INFO@//' \
    "$SOURCES/rocm-systems/projects/rocm-core/rocm_version.h.in" >"$root/include/rocm-core/rocm_version.h"
for library in "$libraries"/librocprofiler*.so* "$libraries"/libroctx64.so*; do ln -s "$library" "$root/lib"; done
# TAU links the runtime of HSA, and calls nothing of it.
gcc -shared -o "$root/lib/libhsa-runtime64.so" -x c /dev/null

# build OPTION...
build() {
    mkdir source
    tar -C "$SOURCES/tau2" --exclude=.git -c . | tar -C source -x
    # Its make wants this big file, which not every mirror has. The compiler does not read it: Perfetto's traces are not asked for.
    [ -e source/utils/perfetto/perfetto.h ] || : >source/utils/perfetto/perfetto.h
    (cd source && ./configure -rocm="$root" "$@" -prefix="$root/tau" && make install) >build.log 2>&1 </dev/null ||
        { tail -20 build.log >&2; fail "TAU was not built"; }
    export PATH=$root/tau/x86_64/bin:$PATH
}

# Runs a program with TAU, whose files come into the directory NAME: tau NAME BINDING PROGRAM...
tau() {
    mkdir "$1"
    run_into "$1.output" env PROFILEDIR="$1" TRACEDIR="$1" tau_exec -T "serial,rocm,$2,pthread" -rocm "${@:3}"
}

# The same with what opscope itself records of a model.
runs=20 opscope=$PREFIX/bin/opscope
model() { echo "$PROJECT/models/$1.onnx" --input "$(echo "$PROJECT"/models/"$1".input.*)" --loop $runs --warmup-count 0 --engine tract --quiet; }
record() {
    # shellcheck disable=SC2046
    run_into "$1.record.output" "$opscope" benchmark $(model "$1") --profiler --timeline-runs all --output records --output-dirname "$1"
}
