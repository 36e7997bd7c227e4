#!/bin/sh
# Makes a checkout ready: system libraries, virtual environment, locked packages. What is ready is left alone.
#   sh packaging/setup.sh run    what the window and the command line need
#   sh packaging/setup.sh test   the same, and what the tests need
# PYTHON=/path/to/python names the interpreter to use.
set -eu
cd "$(dirname "$0")/.."

purpose=${1:?run or test}

# What Qt opens at run time, as Debian and Ubuntu name it; the second line only with a screen.
qt_packages="libglib2.0-0 libgl1 libegl1 libopengl0 libxkbcommon0 libfreetype6 libfontconfig1 libdbus-1-3
    libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0"
# Chinese text needs a font that has it; this one is wanted where there is none.
font_package=fonts-noto-cjk
# A screen for the tests. Their SSH server only where installing it starts none: on a running system it would open a
# port for everybody; there the tests that need it say so and are skipped.
test_packages="xvfb xauth"
[ -d "${RUNNING_SYSTEM:-/run/systemd/system}" ] || test_packages="$test_packages openssh-server"

say() { printf 'gpuplanner: %s\n' "$*" >&2; }
stop() { say "$@"; exit 1; }

is_root() { [ "$(id -u)" -eq 0 ]; }
has_chinese_font() { [ -n "$(fc-list :lang=zh-cn 2>/dev/null | head -n 1)" ]; }
has_display() { [ "$(uname -s)" != Linux ] || [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}${QT_QPA_PLATFORM:-}" ]; }

# --- Python ---------------------------------------------------------------------------------------------------------

suits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        suits "$PYTHON" || stop "PYTHON=$PYTHON is not a Python from 3.11 to 3.14."
        printf '%s\n' "$PYTHON"
        return
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if command -v "$candidate" >/dev/null && suits "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    found=$(python3 --version 2>/dev/null || echo "no python3")
    stop "Python from 3.11 to 3.14 is needed, and there is $found here. Install one, or name it: make $purpose PYTHON=/path/to/python3.11"
}

# --- System packages ------------------------------------------------------------------------------------------------

# Since 2024 some libraries are called the same with t64 at the end; apt-get finds them by the old name too.
is_installed() {
    for name in "$1" "$1t64"; do
        case $(dpkg-query -W -f '${db:Status-Status} ' "$name" 2>/dev/null) in
            "installed "* | *" installed "*) return 0 ;;
        esac
    done
    return 1
}

install_system_packages() {
    [ "$(uname -s)" = Linux ] || return 0

    wanted=
    # Without a screen only the command line can run, and that needs no Qt; root gets everything all the same.
    if [ "$purpose" = test ] || has_display || is_root; then
        wanted=$qt_packages
        has_chinese_font || wanted="$wanted $font_package"
    fi
    [ "$purpose" = run ] || wanted="$wanted $test_packages"

    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        [ -e .venv ] || say "this is not Debian or Ubuntu. Qt needs these libraries, by their names there:" $wanted
        return 0
    fi

    # A Debian Python comes without the modules that make a virtual environment.
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        wanted="$wanted $("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    fi
    missing=
    for package in $wanted; do
        is_installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0

    is_root || stop "system packages are missing. Install them, then run make $purpose again:
  sudo apt-get update && sudo apt-get install --no-install-recommends$missing"
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    {
        apt-get -qq -o DPkg::Lock::Timeout=300 update &&
            apt-get -qq -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install --no-install-recommends $missing
    } >/dev/null || stop "apt-get could not install$missing; its messages are above."
}

# --- Virtual environment --------------------------------------------------------------------------------------------

make_environment() {
    if ! { suits .venv/bin/python && .venv/bin/python -c 'import pip' 2>/dev/null; }; then
        say "making the virtual environment .venv with $("$python" --version)"
        "$python" -m venv --clear .venv || stop "$python could not make a virtual environment; what it said is above."
    fi
}

install_python_packages() {
    lock=requirements.lock
    [ "$purpose" = run ] || lock=requirements-dev.lock
    stamp=.venv/ready-$purpose
    state=$(cksum $lock pyproject.toml packaging/setup.sh)
    if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$state" ]; then return 0; fi

    say "installing the packages of $lock"
    .venv/bin/python -m pip install -q --disable-pip-version-check --only-binary :all: --require-hashes -r $lock >&2 ||
        stop "the packages of $lock could not be installed; what pip said is above."
    .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation --no-index -e . >&2 ||
        stop "gpuplanner itself could not be installed; what pip said is above."
    printf '%s\n' "$state" >"$stamp"
}

python=$(find_python)
install_system_packages
make_environment
install_python_packages

# All is set up, and only a screen is missing: 3 tells `make run` that nothing failed.
if [ "$purpose" = run ] && ! has_display; then
    say "there is no display here, so no window can open; the command line works: .venv/bin/gpuplanner --help"
    exit 3
fi
