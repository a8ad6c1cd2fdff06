#!/bin/sh
# Installs Facsimile into a virtual environment: the steps of the image, of `make run`, and of any machine.
#
#   container/install.sh TARGET [--extras databases,spark,delta,mbi,gpu,dev | all] [--without app,papers,report,fetch,pdf,labelled]
#                        [--editable] [--wheel FILE]
#
# The application, methods that train networks on rows, SDMetrics' report, the census tables and PDFs are in, unless they
# are left out: all of them, and the library and the command line remain. SDMetrics' report needs copulas, whose licence
# (BUSL-1.1) allows no commercial synthetic-data service for third parties. What is left out is also removed where an
# earlier call installed it.
#
# Only archives whose SHA-256 stands in requirements.txt are installed, and nothing is built but this project, or given
# as its wheel. --editable leaves the project where it is, and pip in the environment; without it nothing can be
# installed there afterwards. The build of torch for CPUs is taken from where pip's own settings find it, else from
# PyTorch's index of them, or another in TORCH_INDEX.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=${1:?"name a folder for the virtual environment"}
shift
extras=
without=
editable=no
wheel=
while [ $# -gt 0 ]; do
    case $1 in
        --extras) extras=$(echo "${2?"--extras: name some, with commas between"}" | tr ',' ' '); shift 2 ;;
        --without) without=$(echo "${2?"--without: name some, with commas between"}" | tr ',' ' '); shift 2 ;;
        --editable) editable=yes; shift ;;
        --wheel) wheel=${2:?"--wheel: name the file"}; shift 2 ;;
        *) echo "install.sh: unknown option $1" >&2; exit 2 ;;
    esac
done

python=${PYTHON:-python3.11}
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || {
    echo "install.sh: the lock is for Python 3.11; name one in PYTHON" >&2
    exit 2
}
say() { echo "Facsimile: $1"; }
[ -e "$target/bin/python" ] || { say "making an environment in $target"; "$python" -m venv "$target"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # words apart are meant
"$python" "$here/pick.py" $extras $(for part in $without; do echo "-$part"; done) >"$work/whole.txt"
# torch alone, whose build for CPUs the package index does not have
sed -n '/^torch==/,/[^\\]$/p' "$work/whole.txt" >"$work/torch.txt"
# PySpark comes as sources alone, whose build needs what the others bring
sed -n '/^pyspark==/,/[^\\]$/p' "$work/whole.txt" >"$work/sources.txt"
sed '/^torch==/,/[^\\]$/d; /^pyspark==/,/[^\\]$/d' "$work/whole.txt" >"$work/others.txt"

pip="$target/bin/python -m pip --disable-pip-version-check --no-input"
install="$pip install --quiet --quiet --no-compile"
locked="$install --require-hashes --no-deps --only-binary :all:"
: >"$work/out.txt"
if [ -n "$without" ]; then
    # shellcheck disable=SC2086
    "$python" "$here/pick.py" --only $without | sed -n 's/==.*//p' >"$work/out.txt"
    $pip uninstall --quiet --yes -r "$work/out.txt" 2>/dev/null
fi
torch() {
    $locked -r "$work/torch.txt" 2>"$work/torch.log" ||
        $locked --index-url "${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}" -r "$work/torch.txt" ||
        { cat "$work/torch.log" >&2; return 1; }
}
say "fetching and unpacking $(grep -c == "$work/whole.txt") packages, which takes a minute or two"
torch & # half of all there is to unpack: beside the rest
waited=$!
$locked -r "$work/others.txt"
wait $waited
[ ! -s "$work/sources.txt" ] ||
    $install --require-hashes --no-deps --no-build-isolation -r "$work/sources.txt"
say "setting itself up"
lib=$("$target/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
if [ "$editable" = yes ]; then
    "$target/bin/python" "$here/trim.py" "$lib"
    $install --no-deps --no-build-isolation --no-index -e "$here/.."
    exit
fi
if [ -z "$wheel" ]; then
    mkdir "$work/project"
    for part in app synth data setup.py pyproject.toml README.md LICENSE; do cp -R "$here/../$part" "$work/project/"; done
    $pip wheel --quiet --no-deps --no-build-isolation --no-index --wheel-dir "$work" "$work/project"
    wheel=$(echo "$work"/facsimile_synth-*.whl)
fi
$install --no-deps --no-index "$wheel"
$pip check >"$work/check.txt" ||
    if grep -vE "requires ($(tr '\n' '|' <"$work/out.txt")none), which is not installed" "$work/check.txt" >&2; then exit 1; fi
"$target/bin/python" "$here/trim.py" "$lib" --image
"$target/bin/synth" methods >/dev/null
$pip uninstall --quiet --yes pip # nothing is installed at run time
