# Background processes of a bare cluster: log and process id by name. Sourced.
# shellcheck shell=bash disable=SC2154

# spawn NAME COMMAND... The process writes its id itself, so that none runs unknown
# to cluster.sh down even if cluster.sh is killed.
spawn() {
  local name=$1 file=$dir/pids/$1
  shift
  rm -f "$file"
  # shellcheck disable=SC2016 # the inner shell is to expand it
  setsid bash -c 'echo $$ >"$0" && exec "$@"' "$file" "$@" >>"$dir/logs/$name.log" 2>&1 </dev/null 9>&- &
  poll 10 test -s "$file"
}

# alive says whether the process is there, and is the one that was spawned: another
# may have got its id after a reboot.
alive() {
  [[ -s $dir/pids/$1 ]] && grep -qsaF "$dir" "/proc/$(<"$dir/pids/$1")/cmdline"
}

gone() { ! alive "$1"; }

# end_process NAME asks the process to end, and insists after 10 s.
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

# await NAME SECONDS COMMAND... repeats the command until it succeeds, as long as the
# process runs.
await() {
  local name=$1 deadline=$((SECONDS + $2))
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ! alive "$name" || ((SECONDS >= deadline)); then
      tail -n 5 "$dir/logs/$name.log" >&2
      die "$name is not ready; its log is $dir/logs/$name.log"
    fi
    sleep 0.1
  done
}
