#!/bin/sh
# Installs the disk for C: the header, the shared and the static library, and seekwise.pc for pkg-config. Builds nothing.
#
#     cargo build --release -p seekwise-capi
#     sh crates/capi/install.sh PREFIX [FOLDER]
#
# FOLDER has the libraries that cargo built: ${CARGO_TARGET_DIR:-target}/release. The installed folder may be moved: seekwise.pc finds
# the rest from its own place.
set -eu

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: sh crates/capi/install.sh PREFIX [FOLDER]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1
folder=${2:-${CARGO_TARGET_DIR:-$here/../../target}/release}
header=$here/include/seekwise.h
for file in "$folder/libseekwise_capi.so" "$folder/libseekwise_capi.a"; do
    if [ ! -f "$file" ]; then
        echo "$file: no such file; expected a library that \`cargo build --release -p seekwise-capi\` makes on a system with ELF files" >&2
        exit 1
    fi
done
if ! grep -q "^#define SEEKWISE_VERSION_PATCH" "$header"; then
    echo "$header: no version; expected the header that \`SEEKWISE_UPDATE=1 cargo test -p seekwise-capi --test header\` makes" >&2
    exit 1
fi
part() { sed -n "s/^#define SEEKWISE_VERSION_$1 //p" "$header"; }
series=$(part MAJOR).$(part MINOR)
version=$series.$(part PATCH)

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig"
cp "$header" "$prefix/include/seekwise.h"
cp "$folder/libseekwise_capi.a" "$prefix/lib/libseekwise.a"
cp "$folder/libseekwise_capi.so" "$prefix/lib/libseekwise.so.$version"
ln -sf "libseekwise.so.$version" "$prefix/lib/libseekwise.so.$series"
ln -sf "libseekwise.so.$series" "$prefix/lib/libseekwise.so"
cat > "$prefix/lib/pkgconfig/seekwise.pc" <<END
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: seekwise
Description: A modelled disk for simulators and emulators
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lseekwise
Libs.private: -lpthread -ldl -lm
END
echo "installed seekwise $version in $prefix"
