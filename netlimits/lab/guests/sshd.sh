#!/bin/sh
# Started by init, and again whenever it ends. What it says goes to the console.
exec /usr/sbin/sshd -D -e -f /etc/ssh/sshd_config -o "ListenAddress $(cat /etc/netlimits/management):22"
