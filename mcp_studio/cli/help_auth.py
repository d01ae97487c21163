"""The help of `auth`."""

from __future__ import annotations


def usage(common: str, codes: str) -> dict[str, str]:
    """Verb -> its help."""
    return {
        "auth": f"""\
mcp-studio auth login [SERVER] [options]       sign in to a server, as it asks for it; each step is told as it happens
mcp-studio auth login SERVER --redirect URL    go on with a sign-in that nobody could finish: URL is the address that
                                               the browser ended on
mcp-studio auth status [SERVER…] [options]     who is signed in where, until when; with SERVER all that is known
mcp-studio auth token [SERVER] [options]       print the access token, renewed where it has expired
mcp-studio auth refresh [SERVER]               renew the access token now
mcp-studio auth logout [SERVER]                revoke the tokens where that is offered, and forget them
mcp-studio auth forget [SERVER]                forget the tokens without telling anybody

SERVER is a configured one at a URL; with one such server its name can be left out. Without a browser on this machine
`login` prints the address to open: paste the one that the browser ends on. Where there is no terminal either, it prints
the address on standard output, keeps the sign-in for 15 minutes, and ends with exit code 3.

With login:
  --scope SCOPES       ask for these scopes too (may be repeated)
  --issuer URL         the authorization server to use, where the server names several
  --client-id ID       the client that was registered for you there
  --client-secret -    its secret: read from standard input, or asked for on a terminal; @FILE reads a file
  --register           register another client, where the authorization server does not know ours any more
  --step               stop before each request, and show it
  --no-browser         open no browser
  --redirect URL       the address that the browser ended on; - reads it from standard input, where no history keeps it
  --timeout SECONDS    how long to wait for the browser

With the others:
  --header             with token: print it as a header line
  --claims             with token: print what the token says, decoded, instead of the token
  --client             with forget: also who we are at the authorization server

{common}
{codes}""",
    }
