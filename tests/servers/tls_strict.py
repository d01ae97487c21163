"""A server that ends a failed TLS handshake with an alert, as most do; asyncio's server sends none."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading


class StrictServer:
    """`with StrictServer(context) as server:` answers all requests alike after the handshake."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}/mcp"
        self.requests = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> StrictServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _run(self) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            plain.settimeout(10)
            connection = self._context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
            with connection:
                self._serve(connection)

    def _serve(self, connection: ssl.SSLSocket) -> None:
        try:
            connection.do_handshake()
            connection.recv(65536)
            self.requests += 1
            connection.sendall(b"HTTP/1.1 500 Fine\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        except ssl.SSLError:
            # Read what the client has sent: otherwise closing would reset the connection, and the alert would be lost.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
        except OSError:
            return
