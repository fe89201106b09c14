"""Make .venv whole: create it, install geodis with everything it can use, and say what failed.

Called by `make` before every target. It does nothing when what is installed fits what
pyproject.toml and constraints.txt say now; it starts afresh when an earlier run was interrupted.
Written so that Python 2 and early Python 3 can still parse it and be told that they are too old.
"""

from __future__ import print_function

import sys

OLDEST = (3, 10)
if sys.version_info < OLDEST:
    sys.exit(
        "geodis needs Python %d.%d or later, and `%s` is Python %d.%d: "
        "install a later one and name it, for example `make PYTHON=python3.11 demo`."
        % (OLDEST + (sys.executable,) + tuple(sys.version_info[:2]))
    )

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
READY = os.path.join(VENV, ".ready")  # holds the hash of what is installed
READY_DEMO = os.path.join(VENV, ".ready_demo")  # the same of what the demo alone needs
STARTED = os.path.join(VENV, ".started")  # stands while an installation is under way
DEMO = "--demo"


def main(demo=False):
    """Install everything, or what the demo needs: pages, without torch and without the tests'."""
    wanted = hash_of_files("pyproject.toml", "constraints.txt", os.path.join(".ci", "set_up.py"))
    if is_ready(wanted) or (demo and is_ready(wanted, READY_DEMO)):
        return
    if os.path.exists(STARTED) or not has_pip(VENV_PYTHON):
        shutil.rmtree(VENV, ignore_errors=True)
    if not os.path.isdir(VENV):
        os.mkdir(VENV)
    write(STARTED, "")
    if not os.path.exists(VENV_PYTHON):
        print("set-up: creating .venv with Python %d.%d" % tuple(sys.version_info[:2]))
        run(
            [sys.executable, "-m", "venv", VENV],
            "create .venv (on Debian: apt install python3-venv)",
        )
    print(
        "set-up: installing geodis and what it uses (about a minute, several with a slow network)"
    )
    if demo:
        pip(["--editable", ".[topology]"], "install geodis")
        write(READY_DEMO, wanted)
        os.remove(STARTED)
        print("set-up: ready for the demo")
        return
    pip(["setuptools", "wheel"], "install the build tools")
    # torch first and by itself: with it in place, no later requirement draws another build.
    pip(["torch"], "install torch")
    # As a plain path, which type checkers follow from any folder; they do not run import hooks.
    plain = ["--config-settings", "editable_mode=compat"]
    pip(plain + ["--editable", ".[all,dev]"], "install geodis")
    install_torchsort()
    write(READY, wanted)
    os.remove(STARTED)
    print("set-up: ready")


def is_ready(wanted, mark=None):
    mark = READY if mark is None else mark
    if not (os.path.exists(mark) and os.path.exists(VENV_PYTHON)) or os.path.exists(STARTED):
        return False
    with open(mark) as file:
        return file.read() == wanted


def hash_of_files(*names):
    digest = hashlib.sha256()
    digest.update(ROOT.encode())  # a virtual environment does not survive being moved
    for name in names:
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def has_pip(python):
    """Whether that Python starts and has pip."""
    try:
        return subprocess.call([python, "-m", "pip", "--version"], stdout=subprocess.DEVNULL) == 0
    except OSError:
        return False


def install_torchsort():
    """Build torchsort against the installed torch; a failure costs speed on a GPU, nothing else."""
    with path_without_nvcc() as path:
        code, output = call(
            pip_command(["--no-build-isolation", "torchsort"]), env=dict(os.environ, PATH=path)
        )
    if code:
        log = os.path.join(VENV, "torchsort.log")
        write(log, output)
        print(
            "set-up: notice: torchsort did not build (see %s). geodis works without it: its own "
            "soft ranks give the same numbers." % os.path.relpath(log, ROOT)
        )


@contextlib.contextmanager
def path_without_nvcc():
    """PATH with nvcc hidden, unless torch has CUDA of the same major version.

    torchsort builds a CUDA extension whenever `nvcc` can be called, and that fails beside a CPU
    build of torch. A folder that holds nvcc may hold the C compiler too, so it is replaced by a
    folder of links to everything else in it.
    """
    path = os.environ.get("PATH", os.defpath)
    if shutil.which("nvcc") is None or nvcc_release() == torch_cuda_release():
        yield path
        return
    folders = []
    with tempfile.TemporaryDirectory() as links:
        for number, folder in enumerate(path.split(os.pathsep)):
            if os.path.exists(os.path.join(folder, "nvcc")):
                stand_in = os.path.join(links, str(number))
                os.mkdir(stand_in)
                for name in os.listdir(folder):
                    if name != "nvcc":
                        os.symlink(
                            os.path.join(os.path.abspath(folder), name),
                            os.path.join(stand_in, name),
                        )
                folder = stand_in
            folders.append(folder)
        yield os.pathsep.join(folders)


def nvcc_release():
    """Major CUDA release of nvcc, for example "12"; None when it does not say."""
    code, output = call(["nvcc", "--version"])
    if code or "release " not in output:
        return None
    return output.split("release ")[1].split(".")[0]


def torch_cuda_release():
    """Major CUDA release that torch was built with; "none" for a CPU build."""
    code, output = call(
        [VENV_PYTHON, "-c", "import torch; print((torch.version.cuda or 'none').split('.')[0])"]
    )
    return "none" if code else output.strip().splitlines()[-1]


def pip(arguments, purpose):
    run(pip_command(arguments), purpose)


def pip_command(arguments):
    return [
        VENV_PYTHON,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--constraint",
        os.path.join(ROOT, "constraints.txt"),
    ] + arguments


def run(command, purpose):
    if subprocess.call(command, cwd=ROOT):
        sys.exit(
            "set-up: could not %s; the lines above say why. Run make again to retry." % purpose
        )


def call(command, env=None):
    """Exit code and everything that was printed."""
    try:
        process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as error:
        return 1, str(error)
    output = process.communicate()[0].decode("utf-8", "replace")
    return process.returncode, output


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    try:
        main(demo=DEMO in sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("set-up: interrupted; the next make starts it afresh.")
