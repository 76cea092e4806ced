"""Adds the token to what a client that cannot send one asks of a server, and passes on all else as it is.

The Host header stays the client's: whether the server looks at it is one of the things to see.
"""

import socket
import threading
from socketserver import StreamRequestHandler, ThreadingTCPServer


class Proxy(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address, token):
        super().__init__(("127.0.0.1", 0), Pass)
        self.upstream, self.token = address, token
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]

    def close(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """A client that goes in the middle of an answer is its own affair."""


class Pass(StreamRequestHandler):
    """One request a connection, so that nothing has to be known of what is in it but its length."""

    def handle(self):
        head, length = [self.rfile.readline()], 0
        while (line := self.rfile.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"connection":
                continue
            if name.lower() == b"content-length":
                length = int(value)
            head.append(line)
        if not head[0]:
            return
        head.append(f"Authorization: Bearer {self.server.token}\r\n".encode())
        head.append(b"Connection: close\r\n\r\n")
        with socket.create_connection(self.server.upstream) as upstream:
            upstream.sendall(b"".join(head) + self.rfile.read(length))
            threading.Thread(target=self.until_gone, args=[upstream], daemon=True).start()
            while piece := upstream.recv(65536):
                self.wfile.write(piece)

    def until_gone(self, upstream):
        """The server is to see that a client has gone, while it answers."""
        try:
            if not self.connection.recv(1):
                upstream.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
