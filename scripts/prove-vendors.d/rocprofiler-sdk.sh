# shellcheck shell=bash
# What the programs for rocprofiler-sdk are built with: AMD's own headers, never opscope's. SOURCES needs
#     rocm-systems    ROCm/rocm-systems, of the commit that rocprofiler-sdk 1.0.0 is
#     rocm-headers    what Debian's packages libamdhip64-dev and libhsa-runtime-dev, 6.4, install (dpkg-deb -x PACKAGE rocm-headers)
# shellcheck source=scripts/prove-vendors.d/result.sh
. "$PROJECT/scripts/prove-vendors.d/result.sh"
need rocm-systems/projects/rocprofiler-sdk rocm-headers/usr/include/hip
sdk=$SOURCES/rocm-systems/projects/rocprofiler-sdk
libraries=$PREFIX/lib/opscope/vendor
[ -e "$libraries/librocprofiler-sdk.so.1" ] || fail "$PREFIX has no librocprofiler-sdk.so.1"

# AMD's CMake files write these from templates.
for template in "$sdk"/source/include/*/{ext_,}version.h.in; do
    [ -f "$template" ] || continue
    made=headers/${template#"$sdk"/source/include/}
    mkdir -p "$(dirname "$made")"
    sed -e 's/@PROJECT_VERSION_MAJOR@/1/; s/@PROJECT_VERSION_MINOR@/0/; s/@PROJECT_VERSION_PATCH@/0/; s/@FULL_VERSION_STRING@/1.0.0/' \
        -e 's/@HSA_RUNTIME_VERSION_MAJOR@/1/; s/@HSA_RUNTIME_VERSION_MINOR@/15/' \
        -e '/#cmakedefine /d; s/@[A-Za-z_]*@//' "$template" >"${made%.in}"
done
flags=(-DAMD_INTERNAL_BUILD=1 -D__HIP_PLATFORM_AMD__=1 -I headers -isystem "$sdk/source/include"
    -isystem "$SOURCES/rocm-systems/projects/rocr-runtime/libhsakmt/include" -isystem "$SOURCES/rocm-headers/usr/include")
# shellcheck disable=SC2034,SC2054
link=(-L "$libraries" -Wl,-rpath,"$libraries" -Wl,--no-undefined)
