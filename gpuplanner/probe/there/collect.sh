# Runs the commands of a probe where there is no Python: POSIX sh only. It writes nothing on the machine.
# Read from standard input by `sh -s`, after a line that sets MARK. While the commands run in the background this shell
# waits for more input; none ever comes, and its end means that nobody listens any more: then all is killed.
LC_ALL=C LANG=C LANGUAGE=C
PATH="$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/cuda/bin:/opt/rocm/bin"
export LC_ALL LANG LANGUAGE PATH

say() { printf '\n%s %s\n' "$MARK" "$*"; }

# run ID SECONDS BYTES COMMAND…: what it prints stands between two lines with the mark, errors among the rest.
run() {
    id=$1 seconds=$2 bytes=$3
    shift 3
    say began "$id"
    command -v "$1" >/dev/null 2>&1 || {
        say ended "$id" not_found 127
        return
    }
    {
        "$@" </dev/null 2>&1 &
        child=$!
        {
            while [ "$seconds" -gt 0 ]; do
                sleep 1 >/dev/null
                seconds=$((seconds - 1))
            done
            kill -TERM "$child" && say late "$id"
            sleep 1 >/dev/null
            kill -KILL "$child"
        } </dev/null 2>/dev/null &
        guard=$!
        wait "$child"
        code=$?
        kill -TERM "$guard" 2>/dev/null
        say ended "$id" ended "$code"
    } | head -c "$((bytes + 200))"
}

hello() { say hello "$(date +%s)" "$(uname -s)" "$(id -u)" "$(id -un 2>/dev/null)"; }
