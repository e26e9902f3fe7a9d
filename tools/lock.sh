# Renews constraints.txt: all that set-up, tests, checks and the build install. $UV is the uv to use.
set -eu
if [ -z "$UV" ]; then
    echo "make lock needs uv: python3 -m pip install uv" >&2
    exit 1
fi
list_build_requirements() {
    echo setuptools
    (cd tools && "$UV" run --quiet --no-project python -c 'import c_compiler; print(c_compiler.ZIGLANG)')
}
build_requirements=$(list_build_requirements)
lock=$(echo "$build_requirements" | "$UV" pip compile --quiet --upgrade --universal --fork-strategy fewest --python-version 3.11 --all-extras \
    --no-header --no-annotate pyproject.toml -)
printf '%s\n' "# The versions that make installs. Renew with make lock." "$lock" >constraints.txt
