#!/bin/sh
# Init runs this once at boot. /etc/netlimits/host sets what differs from machine to machine.
PATH=/usr/sbin:/usr/bin
export PATH
. /etc/netlimits/host
mount -t tmpfs -o mode=755,nosuid tmpfs /run
mkdir -p /run/sshd /run/lock /dev/pts /dev/shm
chmod 1777 /run/lock /dev/shm
mount -t devpts -o gid=5,mode=620 devpts /dev/pts
mount -t tracefs tracefs /sys/kernel/tracing
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/0 /dev/stdin
ln -s /proc/self/fd/1 /dev/stdout
ln -s /proc/self/fd/2 /dev/stderr
echo "$name" >/proc/sys/kernel/hostname
for link in /sys/class/net/eth*; do
    read -r address <"$link/address"
    case $address in
    "$management_link") echo "link set ${link##*/} name mgmt0" ;;
    "$data_link") echo "link set ${link##*/} name data0" ;;
    esac
done | ip -batch -
ip -batch - <<END
link set lo up
link set mgmt0 addrgenmode none
link set data0 addrgenmode none
link set data0 mtu $mtu
address add $management/24 dev mgmt0
address add $data/24 dev data0
link set mgmt0 up
link set data0 up
END
echo "netlimits: $name is up"
