"""What a sign-in needs of a person, asked on the terminal; each returns when it has it.

All raise `Left` where the person gives up, and `EndOfInput` where there is nobody any more.
"""

from __future__ import annotations

from mcp_studio.auth.callback import port_kept
from mcp_studio.auth.signin import SignIn
from mcp_studio.cli.lines import Lines
from mcp_studio.cli.telling import frame, leave, prompt, say
from mcp_studio.errors import SignInNeeded, UsageError
from mcp_studio.safetext import safe

_SHOWN = 20
"""Authorization servers that are shown to choose from."""


async def step(sign_in: SignIn, lines: Lines) -> None:
    """Show the next request, and have it sent."""
    if (request := sign_in.next_request) is None:
        return
    say(f"Next: {safe(request.purpose)}")
    head = "\n".join((f"{request.method} {request.url}", *(f"{name}: {value}" for name, value in request.headers)))
    frame(head + (f"\n\n{request.body}" if request.body else ""))
    prompt("Enter sends it, r all that follow too, :cancel gives up: ")
    answer = (await lines.read()).strip().lower()
    leave(answer)
    if answer in ("r", "run"):
        sign_in.run_through()
    else:
        sign_in.go_on()


async def choose(sign_in: SignIn, lines: Lines) -> None:
    """Have one of several authorization servers chosen."""
    choices = sign_in.choices
    say(f"{safe(sign_in.server)} names several authorization servers:")
    for number, issuer in enumerate(choices[:_SHOWN], 1):
        say(f"  {number}  {safe(issuer, 300)}")
    if len(choices) > _SHOWN:
        say(f"  and {len(choices) - _SHOWN:,} more, which --issuer URL can name")
    while True:
        prompt(f"Which one? [1-{min(len(choices), _SHOWN)}, :cancel] ")
        answer = (await lines.read()).strip()
        leave(answer)
        if answer.isascii() and answer.isdigit() and 0 < int(answer[:9]) <= min(len(choices), _SHOWN):
            sign_in.choose(choices[int(answer) - 1])
            return


async def client(sign_in: SignIn, lines: Lines) -> None:
    """Have the id of a client typed, and its secret."""
    say(f"A client id is needed: {safe(sign_in.client_reason)}")
    say(f"{_register(sign_in)}, and give its id here.")
    while True:
        prompt("Client id (:cancel gives up): ")
        found = (await lines.read()).strip()
        leave(found)
        if not found:
            continue
        prompt("Its secret (Enter where it has none): ")
        secret = (await lines.read(hidden=True)).strip()
        try:
            sign_in.give_client(found, secret)
            return
        except UsageError as error:
            say(f"  {safe(error.message)}")


async def page(sign_in: SignIn, lines: Lines) -> None:
    """Take the address that the browser ends on; Enter opens the page once more."""
    while True:
        prompt("> ")
        typed = (await lines.read_long()).strip()
        leave(typed)
        if not typed:
            if not await sign_in.open_page():
                say(f"  {safe(sign_in.refusal) or 'There is no browser here to open it with.'}")
            continue
        try:
            sign_in.paste(typed)
            return
        except UsageError as error:
            say(f"  {safe(error.message)}" + (f" {safe(error.hint)}" if error.hint else ""))


def nobody(sign_in: SignIn) -> SignInNeeded:
    """Why it cannot go on without a person, in the states in which nothing can be set aside for later."""
    if sign_in.state == "choosing":
        rest = len(sign_in.choices) - _SHOWN
        named = ", ".join(sign_in.choices[:_SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")
        return SignInNeeded(
            f"{sign_in.server} names several authorization servers: {named}.", hint="Name one: --issuer URL"
        )
    hint = f"{_register(sign_in)}, and give its id: --client-id ID, and --client-secret - where it has one."
    return SignInNeeded(f"A client id is needed: {sign_in.client_reason}", hint=hint)


def _register(sign_in: SignIn) -> str:
    redirect = safe(sign_in.redirect_uri)
    keeps = port_kept(sign_in.redirect_uri)
    with_it = f", with the redirect {redirect}" + (f" ({keeps})" if keeps else "")
    return "Register one there by hand" + (with_it if redirect else "")
