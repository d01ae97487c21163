"""Starting the server: fork, arrange everything, exec."""

from __future__ import annotations

import os

from .system import IGNORED, PR_SET_PDEATHSIG, prctl, signal

ENOENT, EACCES, ENOTDIR, EINVAL = 2, 13, 20, 22


class StartError(Exception):
    """A step on the way to the running server failed; the arguments are the step and the errno."""


def start_server(request: list[bytes], pipes: list[int]) -> int:
    """Start the server and return its pid once the exec has worked.

    Raises:
        StartError: naming the step (`fork`, `cwd`, `exec`) that failed.
    """
    failed, failed_end = os.pipe()
    keeper = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        raise StartError("fork", error.errno) from None
    if pid == 0:
        try:
            become_server(request, pipes, keeper)
        except StartError as error:
            os.write(failed_end, "{} {}".format(*error.args).encode())
        finally:
            os._exit(127)
    os.close(failed_end)
    failure = os.read(failed, 64).split()
    os.close(failed)
    if failure:
        os.waitpid(pid, 0)
        raise StartError(failure[0].decode(), int(failure[1]))
    return pid


def become_server(request: list[bytes], pipes: list[int], keeper: int) -> None:
    """Everything between fork and exec, in the child. Raises StartError, or does not return."""
    count = int(request[1])
    argv, environ = request[2 : 2 + count], dict(item.split(b"=", 1) for item in request[2 + count :])
    os.setsid()
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(127)
    for target, fd in enumerate(pipes):
        os.dup2(fd, target)
    signal.set_wakeup_fd(-1)
    for number in (*IGNORED, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(request[0])
    except OSError as error:
        raise StartError("cwd", error.errno) from None
    raise StartError("exec", execute(argv, environ))


def execute(argv: list[bytes], environ: dict[bytes, bytes]) -> int:
    """Exec the command, looked up in the PATH that it is given; returns the errno that says most if that fails.

    Never through a shell: a file of unknown format is an error, not a script.
    """
    places = [b""] if b"/" in argv[0] else environ.get(b"PATH", os.defpath.encode()).split(b":")
    worst = ENOENT
    for place in places:
        try:
            os.execve(os.path.join(place, argv[0]), argv, environ)
        except OSError as error:
            if error.errno not in (ENOENT, ENOTDIR, EACCES):
                return error.errno or EINVAL
            if error.errno == EACCES:
                worst = EACCES
        except ValueError:
            return EINVAL
    return worst
