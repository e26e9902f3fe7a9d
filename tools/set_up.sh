# Makes or renews the virtual environment: sh tools/set_up.sh VENV
# $UV is the uv to use, or empty for venv and pip; $PYTHON names an interpreter, or is empty.
set -eu
venv=$1
extras=dev,bench,plot,browser

find_python() {
    for candidate in ${PYTHON:-python3.13 python3.12 python3.11 python3}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "Tilewise needs Python 3.11 or newer; found none as ${PYTHON:-python3.13, python3.12, python3.11 or python3}." \
        "Install one, or name it: make PYTHON=/path/to/python3" >&2
    return 1
}

works() {
    "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

if [ -n "$UV" ]; then
    if ! works; then
        python=$(find_python)
        "$UV" venv --clear --python "$python" "$venv"
    fi
    # tilewise itself is built anew each time: its C sources may have changed.
    exec "$UV" pip install --python "$venv/bin/python" --constraints constraints.txt --build-constraints constraints.txt \
        --reinstall-package tilewise --editable ".[$extras]"
fi

if ! works || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    if ! "$python" -m venv --clear "$venv"; then
        echo "$python cannot make a virtual environment (see above): install its venv package (Debian: python3-venv), or uv." >&2
        exit 1
    fi
fi
echo "Setting up $venv with pip: a minute or two"
[ -t 1 ] || quiet=--quiet # pip's lines are progress for a person, noise in a log
# The environment variables pin the build environment too: one name for pip before 25.3, one for later.
PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
    exec "$venv/bin/python" -m pip install ${quiet:-} --constraint constraints.txt --editable ".[$extras]"
