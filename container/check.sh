#!/bin/sh
# Proves an installation: the commands, a run, a bundle, the ledger and its backup, the application's health and first
# page, as the user who calls this. With an address in CHECK_SOURCE also a run on a table `people` of that database.
#
#   container/check.sh TARGET
set -eu

target=$(CDPATH='' cd -- "${1:?"name the folder of the virtual environment"}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SYNTH_HOME="$work/home" SYNTH_LEDGER="$work/ledger.sqlite" HOME="$work" TMPDIR="$work"
data=$("$target/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/app/sample
synth="$target/bin/synth"

[ ! -e "$target/bin/pip" ] || { echo "check.sh: pip was left in the environment" >&2; exit 1; }
"$synth" run "$data/town_survey.csv.gz" --schema "$data/town_survey.schema.json" --epsilon 1 --method independent \
    --dataset check --num-rows 500 --out "$work/out"
"$synth" bundle "$work/out" --out "$work/release.zip" --selection only
if [ -n "${CHECK_SOURCE:-}" ]; then
    "$synth" schema init people --source "$CHECK_SOURCE" --out "$work/people.json" >/dev/null
    "$synth" run people --source "$CHECK_SOURCE" --schema "$data/town_survey.schema.json" --epsilon 1 \
        --method independent --dataset check --num-rows 100 --out "$work/people"
fi
"$synth" ledger verify
"$synth" ledger backup "$work/copy.sqlite"
mv "$work/ledger.sqlite" "$work/lost.sqlite"
"$synth" ledger restore "$work/copy.sqlite"
"$synth" ledger verify
"$target/bin/python" - "$synth" <<'END'
import logging, os, secrets, socket, subprocess, sys, time, urllib.request
from pathlib import Path

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
os.environ["SYNTH_TOKEN"] = token = secrets.token_hex(16)
app = subprocess.Popen([sys.argv[1], "app", "--address", "127.0.0.1", "--port", str(port), "--headless"])
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
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(f"http://127.0.0.1:{port}/?token={token}", timeout=5) as answer:
        assert b"<title>" in answer.read()
finally:
    app.terminate()
    app.wait()
logging.disable()
import app as package
from streamlit.testing.v1 import AppTest

page = AppTest.from_file(str(Path(package.__file__).with_name("main.py")), default_timeout=120).run()
assert not page.exception, page.exception
print("its first page:", page.title[0].value if page.title else page.header[0].value)
END
