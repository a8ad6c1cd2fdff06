#!/bin/sh
# Proves an installation: the commands, a run, a bundle and the application's health, as the user who calls this.
#
#   container/check.sh TARGET
set -eu

target=$(CDPATH='' cd -- "${1:?"name the folder of the virtual environment"}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SYNTH_HOME="$work/home" SYNTH_LEDGER="$work/ledger.sqlite" HOME="$work" TMPDIR="$work"
data="$target/share/facsimile/data"
synth="$target/bin/synth"

[ ! -e "$target/bin/pip" ] || { echo "check.sh: pip was left in the environment" >&2; exit 1; }
"$synth" run "$data/town_survey.csv.gz" --schema "$data/town_survey.schema.json" --epsilon 1 --method independent \
    --dataset check --num-rows 500 --out "$work/out"
"$synth" bundle "$work/out" --out "$work/release.zip" --selection only
"$synth" ledger verify
"$target/bin/python" - "$synth" <<'END'
import socket, subprocess, sys, time, urllib.request

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
app = subprocess.Popen([sys.argv[1], "app", "--port", str(port), "--headless"])
try:
    for _ in range(240):
        time.sleep(0.5)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
                assert answer.read() == b"ok"
                print("the application is healthy")
                break
        except OSError:
            continue
    else:
        sys.exit("check.sh: the application did not answer")
finally:
    app.terminate()
    app.wait()
END
