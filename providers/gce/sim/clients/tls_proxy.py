"""A proxy that leads every https connection to one http endpoint, for clients whose addresses of Google are fixed.

Usage: tls_proxy.py ENDPOINT CERTIFICATE KEY. It prints the port at which it listens.
"""

import socket
import ssl
import sys
import threading
from urllib.parse import urlparse

URL, CERTIFICATE, KEY = urlparse(sys.argv[1]), sys.argv[2], sys.argv[3]


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    finally:
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve(client):
    """Accepts the method CONNECT, ends TLS, and connects to the endpoint."""
    request = b""
    while b"\r\n\r\n" not in request:
        request += client.recv(65536)
    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    secure = context.wrap_socket(client, server_side=True)
    upstream = socket.create_connection((URL.hostname, URL.port))
    threading.Thread(target=copy, args=(upstream, secure), daemon=True).start()
    copy(secure, upstream)


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


main()
