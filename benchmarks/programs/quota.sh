#!/bin/sh
# quota.sh make GROUP PERCENT NAMESPACE: give all of a namespace that much of one CPU (cgroup v1 or v2)
# quota.sh throttled GROUP: print how often it was held back
# quota.sh remove GROUP
root=/sys/fs/cgroup/cpu
[ -e $root/cpu.cfs_quota_us ] || [ -e $root/cgroup.procs ] || root=/sys/fs/cgroup
group=$root/$2
case $1 in
make)
    mkdir "$group" || exit 1
    if [ -e "$group/cpu.max" ]; then
        echo "$(($3 * 1000)) 100000" > "$group/cpu.max"
    else
        echo "$(($3 * 1000))" > "$group/cpu.cfs_quota_us"
    fi
    for pid in $(ip netns pids "$4"); do echo "$pid" > "$group/cgroup.procs"; done
    ;;
throttled) awk '$1 == "nr_throttled" {print $2}' "$group/cpu.stat" ;;
remove)
    for pid in $(cat "$group/cgroup.procs"); do echo "$pid" > "$root/cgroup.procs"; done
    rmdir "$group"
    ;;
esac
