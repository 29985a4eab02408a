#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures training steps and gradient all-reduce with 1, 2 and 4 processes ("ranks"), each with its own batch: over
# shared memory, and at 10 and 1 Gbit/s over TCP between network namespaces, which are created here and removed again.
# Prints Markdown tables, and a cost model that is fitted to the all-reduce times. Needs sten-bench in PATH, mpirun and
# python3. Network namespaces need ip, tc and their permissions; without them, TCP is left out with a message.
#
#   scripts/bench/scaling.sh [DIR]    DIR keeps the results; existing results are not measured again
# In the environment: RANKS ("1 2 4"), LINKS ("shared 10gbit 1gbit"), REPEATS (7), BERTS ("4x160x70 2x768x70"),
# BATCH (8) sequences of WINDOW (32) tokens a rank, LAYOUT (nmg:n=1,m=4,g=4).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$(mktemp -d)}
mkdir -p "$dir"
for program in sten-bench mpirun python3; do
  command -v $program >/dev/null || {
    echo "scaling: $program is not in PATH" >&2
    exit 1
  }
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
name=sten-$$
subnet=10.77.0

net_down() {
  for ns in $(ip netns list 2>/dev/null | awk -v name="$name-" 'index($1, name) == 1 { print $1 }'); do
    ip netns del "$ns"
  done
  rm -f "$dir/agent"
}
trap net_down EXIT

# net_up RANKS RATE: a namespace for each rank, all on one bridge, with the outgoing traffic of a rank shaped to RATE.
net_up() {
  ip netns add "$name-bridge" 2>/dev/null || return 1
  ip -n "$name-bridge" link add bridge type bridge
  ip -n "$name-bridge" link set bridge up
  for ((r = 0; r < $1; ++r)); do
    ip netns add "$name-$r"
    ip -n "$name-$r" link set lo up
    ip -n "$name-$r" link add net0 type veth peer name "port$r" netns "$name-bridge"
    ip -n "$name-bridge" link set "port$r" master bridge up
    ip -n "$name-$r" addr add "$subnet.$((r + 1))/24" dev net0
    ip -n "$name-$r" link set net0 up
    tc -n "$name-$r" qdisc add dev net0 root tbf rate "$2" burst 512kb latency 20ms || return 1
  done
  # Replaces ssh: runs the command in the namespace of the rank with that address.
  cat >"$dir/agent" <<AGENT
#!/bin/sh
host=\$1
shift
rank=\$((\${host##*.} - 1))
exec ip netns exec $name-\$rank unshare --uts sh -c "hostname sten\$rank; \$*"
AGENT
  chmod +x "$dir/agent"
}

# in_ranks LINK RANKS COMMAND...
in_ranks() {
  local link=$1 n=$2 hosts=
  shift 2
  if [[ $link == shared ]]; then
    mpirun -q --oversubscribe --bind-to none --mca btl self,vader --mca btl_vader_single_copy_mechanism none -n "$n" "$@"
    return
  fi
  for ((r = 1; r <= n; ++r)); do hosts+=${hosts:+,}$subnet.$r:1; done
  ip netns exec "$name-0" mpirun -q --bind-to none --mca plm_rsh_agent "$dir/agent" --host "$hosts" --mca btl self,tcp \
    --mca btl_tcp_if_include $subnet.0/24 --mca oob_tcp_if_include $subnet.0/24 -n "$n" "$@"
}

shapes=()
for bert in ${BERTS:-4x160x70 2x768x70}; do shapes+=(--shape "$bert"); done
layout=${LAYOUT:-nmg:n=1,m=4,g=4}
for link in ${LINKS:-shared 10gbit 1gbit}; do
  for n in ${RANKS:-1 2 4}; do
    # A single rank sends nothing.
    if [[ $n == 1 && $link != shared ]] || [[ -e $dir/$link.$n.sums.json ]]; then continue; fi
    if [[ $link != shared ]] && ! net_up "$n" "$link"; then
      echo "scaling: cannot create and shape network namespaces here: $link is left out" >&2
      net_down
      break
    fi
    in_ranks "$link" "$n" sten-bench step "${shapes[@]}" --layouts "$layout" --batch "${BATCH:-8}" --window "${WINDOW:-32}" \
      --repeats "${REPEATS:-7}" -q --json >"$dir/$link.$n.step.json"
    in_ranks "$link" "$n" sten-bench allreduce "${shapes[@]}" --repeats "${REPEATS:-7}" -q --json >"$dir/new"
    mv "$dir/new" "$dir/$link.$n.sums.json"
    net_down
  done
done
python3 "$here/scaling.py" "$dir"
