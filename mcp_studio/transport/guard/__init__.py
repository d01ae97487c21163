"""The guard: owns every server process from its first moment, so that none outlives the studio, however that ends.

It runs in a process of its own (`main.py`), is started and spoken to by `transport.guard_start`, and is never imported
by the studio. It knows nothing of the studio and imports next to nothing: it has to start in a few milliseconds and
stay small.

For each server the studio sends one byte with four descriptors: the control socket and the server's standard input,
output and error. The guard forks a *keeper*, which reads the request from the control socket, starts the server,
adopts everything that it starts in turn, and ends all of it when told to or when the control socket closes.

Studio to keeper: the request (4 bytes of length, then NUL-separated: working folder, number of arguments, arguments,
environment as `NAME=value`), later `s` (stop: SIGTERM, a second later SIGKILL) or `k` (SIGKILL at once).
Keeper to studio, a line each: `pid N` or `fail STEP ERRNO`, then `exit CODE` (negative: a signal), then `left N`
(processes that the server left behind when it ended by itself). The socket closes when nothing is left.
"""
