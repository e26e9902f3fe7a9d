# Renews constraints.txt: every package that set-up, tests and checks install, with the ziglang wheel of c_compiler.py.
# $UV is the uv to use.
set -eu
if [ -z "$UV" ]; then
    echo "make lock needs uv: python3 -m pip install uv" >&2
    exit 1
fi
echo "# The versions that make installs. Renew with make lock." >constraints.txt
.venv/bin/python -c 'import sys; sys.path.insert(0, "tools"); import c_compiler; print(c_compiler.ZIGLANG)' |
    "$UV" pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --no-header --no-annotate pyproject.toml - >>constraints.txt
