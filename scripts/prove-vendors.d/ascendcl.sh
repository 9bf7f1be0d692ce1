# shellcheck shell=bash
# What the programs for AscendCL are built with: the vendor's own headers, never opscope's, in the directories of a CANN installation,
# and opscope's libraries in the place of CANN's. SOURCES needs
#     graphengine    mindspore-ai/graphengine, which has the headers of CANN in 910/inc/external
# shellcheck source=scripts/prove-vendors.d/result.sh
. "$PROJECT/scripts/prove-vendors.d/result.sh"
need graphengine/910/inc/external/acl
libraries=$PREFIX/lib/opscope/vendor
[ -e "$libraries/libascendcl.so" ] || fail "$PREFIX has no libascendcl.so"
cann=$PWD/cann
mkdir -p "$cann/runtime/lib64"
ln -s "$SOURCES/graphengine/910/inc/external" "$cann/include"
ln -s "$SOURCES/graphengine/910/inc/external" "$cann/runtime/include"
ln -s "$libraries" "$cann/runtime/lib64/stub"
ln -s "$libraries" "$cann/lib64"
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
