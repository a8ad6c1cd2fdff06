#!/bin/sh
# Installs Facsimile into a new virtual environment: the steps of the image, and of any machine without one.
#
#   container/install.sh TARGET [--torch cpu|gpu] [--without-report]
#
# Only archives whose SHA-256 stands in a lock file are installed, and nothing is built but this project.
# For CPU builds of torch name PyTorch's own index of them in TORCH_INDEX, or let pip find the wheel by its settings.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=${1:?"name a folder for the virtual environment"}
shift
torch=cpu
report=yes
while [ $# -gt 0 ]; do
    case $1 in
        --torch) torch=${2:?"--torch: cpu or gpu"}; shift 2 ;;
        --without-report) report=no; shift ;;
        *) echo "install.sh: unknown option $1" >&2; exit 2 ;;
    esac
done
case $torch in cpu | gpu) ;; *) echo "install.sh: --torch $torch: must be cpu or gpu" >&2; exit 2 ;; esac

python=${PYTHON:-python3.11}
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || {
    echo "install.sh: the lock files are for Python 3.11; name one in PYTHON" >&2
    exit 2
}
"$python" -m venv "$target"
pip="$target/bin/python -m pip --disable-pip-version-check --no-input"
install="$pip install --quiet --no-cache-dir"
locked="$install --require-hashes --no-deps --only-binary :all:"

$locked -r "$here/requirements.lock"
if [ "$torch" = cpu ] && [ -n "${TORCH_INDEX:-}" ]; then
    $locked --index-url "$TORCH_INDEX" -r "$here/torch-cpu.lock"
else
    $locked -r "$here/torch-$torch.lock"
fi
[ "$report" = no ] || $locked -r "$here/report.lock"

# The application wants its files beside it: the project lies in the environment and is installed from there.
home="$target/share/facsimile"
mkdir -p "$home"
for part in app synth data pyproject.toml README.md LICENSE; do cp -R "$here/../$part" "$home/"; done
$install --no-deps --no-build-isolation --no-index -e "$home"

if [ "$report" = yes ]; then
    $pip check
else
    "$target/bin/python" -c 'import importlib.util as u, sys; sys.exit(any(map(u.find_spec, ("copulas", "sdmetrics"))))'
fi
"$target/bin/synth" methods >/dev/null
$pip uninstall --quiet --yes pip # nothing is installed at run time
