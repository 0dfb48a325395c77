#!/bin/sh
# The stand-in in place of the system's library, found by path alone: perftest as server and client of this machine.
# usage: library_path_test.sh FOLDER_OF_LIBIBVERBS. Exits 77 when perftest is not installed.
set -eu
command -v ib_write_bw >/dev/null || exit 77
export LD_LIBRARY_PATH="$1"
export RAILGAUGE_SIM_FABRIC="library-path-$$"
folder=$(mktemp -d)
trap 'rm -rf "$folder"; rm -f "/dev/shm/railgauge-sim-$(id -u)-$RAILGAUGE_SIM_FABRIC.v2"' EXIT
port=$((30000 + $$ % 2000))
timeout 40 ib_write_bw -d sim0 -F -n 1000 -p "$port" >"$folder/server" 2>&1 &
server=$!
tries=0
until timeout 40 ib_write_bw -d sim0 -F -n 1000 -p "$port" 127.0.0.1 >"$folder/client" 2>&1; do
  tries=$((tries + 1))
  if [ $tries -ge 100 ] || ! grep -q "Couldn't connect" "$folder/client"; then break; fi
  sleep 0.2
done
wait $server || { cat "$folder/server" "$folder/client"; exit 1; }
grep -Eq '^ +65536 +1000 ' "$folder/client" || { cat "$folder/client"; exit 1; }
