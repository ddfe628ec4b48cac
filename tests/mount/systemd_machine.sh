#!/bin/bash
# A machine within this one, run by a systemd of its own: systemd_machine.sh FOLDER. The root is this machine's, laid
# under a throw-away layer; every mount is private to it, so all of it is gone with its first process. What is in
# FOLDER/files is laid over the root. Not for use by itself: systemd_test.py puts it in namespaces of its own.
set -e
folder=$1
mount -t tmpfs none "$folder"/layers
mkdir "$folder"/layers/{upper,work,root}
root=$folder/layers/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/layers/upper,workdir=$folder/layers/work" "$root"
rm -rf "$root"/etc/fstab "$root"/etc/systemd/system/*
cp -a "$folder"/files/. "$root"
mount -t proc proc "$root"/proc
mount -t sysfs sysfs "$root"/sys -o ro
mount --rbind /dev "$root"/dev
mount -t tmpfs tmpfs "$root"/run
mount -t tmpfs tmpfs "$root"/tmp
mount -t cgroup2 cgroup2 "$root"/sys/fs/cgroup
for unit in systemd-udevd systemd-udev-trigger systemd-journald systemd-tmpfiles-setup systemd-tmpfiles-setup-dev \
  systemd-sysctl systemd-modules-load systemd-logind console-getty getty@; do
  ln -s /dev/null "$root/etc/systemd/system/$unit.service"
done
printf '[Unit]\nDescription=Nothing but what is started by hand\n' >"$root"/etc/systemd/system/test.target
exec env -i container=winnow-test PATH="$PATH" \
  chroot "$root" /lib/systemd/systemd --system --unit=test.target --log-target=console --show-status=0
