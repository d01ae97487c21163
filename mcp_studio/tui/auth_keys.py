"""The actions of signing in, of tokens and of passphrases; part of the table in `actions`."""

from __future__ import annotations

_SEND = "!ctrl+j,alt+enter,ctrl+enter"

SERVERS = (
    ("server-sign-in", "a", "sign_in", "Sign in: permission in a browser, each step shown", ""),
    ("server-token", "t", "token", "Its token: scopes, expiry, claims; refresh, sign out, forget", ""),
)
DETAILS = (
    ("details-close", "escape,q", "close", "Close", "Close"),
    ("details-copy", "y", "copy", "Copy all of it", "Copy"),
    ("details-sign-in", "a", "sign_in", "Sign in", ""),
    ("details-token", "t", "token", "Its token", ""),
)
SIGN_IN = (
    ("sign-in-open", "enter", "open", "Begin; or open the step's HTTP exchanges; or take the choice", "Open"),
    ("sign-in-browser", "o", "open_page", "Open the page in the browser (again)", "Open page"),
    ("sign-in-copy", "y", "copy", "Copy the page's address, to open it yourself", "Copy"),
    ("sign-in-paste", "p", "paste", "Paste the address that the browser was sent to", "Paste"),
    ("sign-in-steps", "s", "step_by_step", "Begin, and stop before each request; or stop before the next one", ""),
    ("sign-in-next", "n", "next", "Step by step: send the request that is shown", ""),
    ("sign-in-through", "r", "run_through", "Step by step: send all that follow without stopping", ""),
    ("sign-in-again", "c", "again", "Begin anew, after it failed or was stopped", ""),
    ("sign-in-keep", "k", "keep", "Where tokens are kept: choose another place", ""),
    ("sign-in-token", "t", "token", "The token that it brought", ""),
    ("sign-in-details", "i", "details", "Details of the server", ""),
    ("sign-in-stop", "x", "stop", "Stop signing in", "Stop"),
    ("sign-in-decline", "d", "decline", "Do not sign in: what is waiting for it fails", ""),
    ("sign-in-later", "escape", "later", "Later: what has begun goes on in the background", "Later"),
)
EXCHANGES = (
    ("exchange-next", "right_square_bracket", "turn(1)", "Next exchange", "Next"),
    ("exchange-previous", "left_square_bracket", "turn(-1)", "Exchange before", "Before"),
    ("exchange-copy", "y", "copy", "Copy the exchange", "Copy"),
    ("exchange-close", "escape,q", "close", "Back", "Close"),
)
TOKEN = (
    ("token-refresh", "r", "refresh", "Renew the token now", "Refresh"),
    (
        "token-sign-out",
        "o",
        "sign_out",
        "Sign out: revoke the tokens where that is offered, and forget them",
        "Sign out",
    ),
    ("token-forget", "f", "forget", "Forget the tokens without telling anybody", "Forget"),
    ("token-forget-client", "F", "forget_client", "Forget also who we are at the authorization server", ""),
    ("token-reveal", "v", "reveal", "Show the token itself, after asking; or hide it again", "Reveal"),
    ("token-copy", "y", "copy", "Copy the token itself, after asking", ""),
    ("token-sign-in", "a", "sign_in", "Sign in anew", ""),
    ("token-close", "escape,q", "close", "Back", "Close"),
)
PASSPHRASE = (
    ("passphrase-done", _SEND, "accept", "Go on with this passphrase", "OK"),
    ("passphrase-back", "escape", "back", "Back, without one", "Back"),
)
