#!/bin/sh
# perftest's own programs on the stand-in device: each as server and client on this machine.
# usage: perftest_test.sh LIBRARY. Exits 77 when perftest is not installed.
set -eu
library=$1
command -v ib_write_bw >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export RAILGAUGE_SIM_FABRIC="perftest-$$"
port=$((20000 + $$ % 10000))  # below the ephemeral ports, one of which any client on this machine may hold
failed=0

# The next port that no socket has, closing ones included: perftest does not set SO_REUSEADDR.
next_port() {
  port=$((port + 1))
  while grep -q ":$(printf %04X "$port") " /proc/net/tcp /proc/net/tcp6 2>/dev/null; do port=$((port + 1)); done
}

# Starts the client again until the server listens: perftest gives up at the first refusal.
run() {
  next_port
  LD_PRELOAD=$library timeout 40 "$@" -d sim0 -F -p "$port" >"$folder/server" 2>&1 &
  server=$!
  tries=0
  until LD_PRELOAD=$library timeout 40 "$@" -d sim0 -F -p "$port" 127.0.0.1 >"$folder/client" 2>&1; do
    tries=$((tries + 1))
    if [ $tries -ge 100 ] || ! grep -q "Couldn't connect" "$folder/client"; then
      break
    fi
    sleep 0.2
  done
  code=0
  wait $server || code=$?
  if [ $code -ne 0 ] || ! grep -Eq '^ +[0-9]+ +[0-9]+ +[0-9.]+' "$folder/client"; then
    echo "FAILED (server status $code): $*"
    cat "$folder/server" "$folder/client"
    failed=1
  else
    echo "ok: $*"
  fi
}

run ib_write_bw -n 1000 -s 65536
run ib_write_bw -n 1600 -s 64 -l 16 -q 4
run ib_write_bw -n 1000 -s 4096 -b
run ib_write_bw -n 1000 -c UC
run ib_read_bw -n 1000
run ib_send_bw -n 1000 -r 512
run ib_send_bw -n 1000 -e
run ib_send_bw -n 1000 -c UD -s 1024
run ib_atomic_bw -n 1000
run ib_write_lat -n 1000 -s 8
run ib_send_lat -n 1000
run ib_read_lat -n 1000
rm -f "/dev/shm/railgauge-sim-$(id -u)-$RAILGAUGE_SIM_FABRIC.v2"
exit $failed
