# Background processes of a bare cluster, each with a log and a process ID by its name. Sourced by
# bare.sh.
# shellcheck shell=bash disable=SC2154

# spawn NAME COMMAND... starts a process. The process writes its own ID, so that cluster.sh down finds
# it even if cluster.sh was killed.
spawn() {
  local name=$1 file=$dir/pids/$1
  shift
  rm -f "$file"
  # shellcheck disable=SC2016 # the inner shell expands it
  setsid bash -c 'echo $$ >"$0" && exec "$@"' "$file" "$@" >>"$dir/logs/$name.log" 2>&1 </dev/null 9>&- &
  poll 10 test -s "$file"
}

# alive NAME succeeds if the spawned process is running. It checks the command line too, because
# another process can have the same ID after a reboot.
alive() {
  [[ -s $dir/pids/$1 ]] && grep -qsaF "$dir" "/proc/$(<"$dir/pids/$1")/cmdline"
}

gone() { ! alive "$1"; }

# end_process NAME terminates the process, and kills it after 10 s.
end_process() {
  if alive "$1"; then
    kill "$(<"$dir/pids/$1")" || true
    poll 10 gone "$1" || kill_process "$1"
  fi
  rm -f "$dir/pids/$1"
}

kill_process() {
  if alive "$1"; then
    kill -KILL "$(<"$dir/pids/$1")" || true
    poll 10 gone "$1" || die "$1 cannot be killed"
  fi
  rm -f "$dir/pids/$1"
}

# await NAME SECONDS COMMAND... repeats the command until it succeeds. It fails when the process ends
# or the time is up.
await() {
  local name=$1 deadline=$((SECONDS + $2))
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ! alive "$name" || ((SECONDS >= deadline)); then
      tail -n 5 "$dir/logs/$name.log" >&2
      die "$name is not ready: see its log, $dir/logs/$name.log"
    fi
    sleep 0.1
  done
}
