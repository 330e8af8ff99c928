# Runs "$@" as root where a fault can do no harm: mounts of its own, all of them read-only but the folder SEEKWISE_PLACE and what
# SEEKWISE_WRITTEN names, and a /dev without a disk. Loop devices are there, for file systems in files.
set -e
for folder in "$SEEKWISE_PLACE" "$SEEKWISE_WRITTEN"; do mount -n --bind "$folder" "$folder"; done
mount -n -o remount,bind,ro /
dev=$SEEKWISE_PLACE/dev
mkdir -p "$dev"
mount -n -t tmpfs -o mode=755 tmpfs "$dev"
for name in null zero full random urandom tty fuse loop-control; do test ! -e /dev/$name || cp -a /dev/$name "$dev"; done
n=0
while test $n -lt 64; do mknod "$dev/loop$n" b 7 $n; n=$((n + 1)); done
ln -s /proc/self/fd "$dev/fd"
ln -s pts/ptmx "$dev/ptmx"
mkdir "$dev/pts" "$dev/shm"
mount -n -t devpts -o newinstance,ptmxmode=666 devpts "$dev/pts"
mount -n -t tmpfs -o mode=1777 tmpfs "$dev/shm"
mount -n --move "$dev" /dev
# The rest of /tmp is hidden, unless the folder lies there.
test -d /tmp && case $SEEKWISE_PLACE in /tmp/*) ;; *) mount -n -t tmpfs -o mode=1777 tmpfs /tmp ;; esac
exec "$@"
