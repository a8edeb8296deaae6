#!/bin/sh
# Init starts this, and again whenever it ends. Its messages go to the console.
exec /usr/sbin/sshd -D -e -f /etc/ssh/sshd_config -o "ListenAddress $(cat /etc/netlimits/management):22"
