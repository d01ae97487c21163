"""The authorization server of Django OAuth Toolkit, in front of a small MCP server; prints its address.

    django_oauth.py FOLDER [--lifetime SECONDS] [--by-hand]

The toolkit does metadata, registration, login, consent, tokens and their check. Only the settings and the MCP answers
are ours, and a script that fills in the login (ada, lovelace) and presses the button of the consent page; `--by-hand`
leaves the script out. The database is in FOLDER.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import include, path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.servers import auth_mcp

SCOPES = {"tools": "Use the tools", "notes": "Read your notes"}
LOGIN = """<!doctype html><title>Login</title><form method="post">{% csrf_token %}{{ form }}
<input type="hidden" name="next" value="{{ next }}"><button>Log in</button></form>"""
FILL_IN = """<script>const by = name => document.getElementsByName(name)[0];
if (by("password")) { by("username").value = "ada"; by("password").value = "lovelace"; document.forms[0].submit(); }
</script>"""
BASE = "<!doctype html><title>Consent</title>{% block content %}{% endblock %}"
PRESS = """<script>const allow = document.getElementsByName("allow")[0]; if (allow) allow.click();</script>"""


def configure(folder: Path, port: int, lifetime: int, *, by_hand: bool) -> None:
    """Django's settings, and its database with one person in it."""
    pages = {"registration/login.html": LOGIN + ("" if by_hand else FILL_IN)}
    pages["oauth2_provider/base.html"] = BASE + ("" if by_hand else PRESS)
    loaders = [("django.template.loaders.locmem.Loader", pages), "django.template.loaders.app_directories.Loader"]
    context = ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth"]
    templates = {"BACKEND": "django.template.backends.django.DjangoTemplates",
                 "OPTIONS": {"loaders": loaders, "context_processors": context}}  # fmt: skip
    contrib = "django.contrib."
    settings.configure(
        SECRET_KEY="only-for-tests",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=__name__,
        USE_TZ=True,
        INSTALLED_APPS=[contrib + "auth", contrib + "contenttypes", contrib + "sessions", "oauth2_provider"],
        MIDDLEWARE=[contrib + "sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
                    contrib + "auth.middleware.AuthenticationMiddleware"],
        TEMPLATES=[templates],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "django.sqlite"),
                               "OPTIONS": {"timeout": 20}}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        PASSWORD_HASHERS=[contrib + "auth.hashers.MD5PasswordHasher"],
        LOGIN_URL="/login",
        LOGGING_CONFIG=None,
        OAUTH2_PROVIDER={
            "SCOPES": SCOPES,
            "DEFAULT_SCOPES": ["tools"],
            "ACCESS_TOKEN_EXPIRE_SECONDS": lifetime,
            "REFRESH_TOKEN_REUSE_PROTECTION": True,
            "DCR_ENABLED": True,
            "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
            "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": ["none", "client_secret_basic", "client_secret_post"],
            "OAUTH2_PROTECTED_RESOURCE_IDENTIFIER": f"http://127.0.0.1:{port}/mcp",
            "OAUTH2_PROTECTED_RESOURCE_AUTHORIZATION_SERVERS": [f"http://127.0.0.1:{port}"],
            **{f"COMPLIANT_BCP_RFC9700_{gate}": True for gate in GATES},
        },
    )  # fmt: skip
    django.setup()
    call_command("migrate", verbosity=0)
    from django.contrib.auth.models import User

    if not User.objects.filter(username="ada").exists():
        User.objects.create_user("ada", password="lovelace")


GATES = ("IMPLICIT_GRANT", "PASSWORD_GRANT", "PKCE_METHOD", "ACCESS_TOKEN_TRANSPORT", "AUTHZ_RESPONSE_ISS")
"""Settings for the requirements of RFC 9700, which older clients may not meet."""


def mcp(request: HttpRequest) -> HttpResponseBase:
    """The MCP server; the toolkit checks the token."""
    from django.views import View
    from oauth2_provider.views.mixins import (
        ProtectedResourceMetadataMixin,
        ProtectedResourceMixin,
        ScopedResourceMixin,
    )

    class Protected(ProtectedResourceMetadataMixin, ProtectedResourceMixin, ScopedResourceMixin, View):
        required_scopes = ("tools",)

        def post(self, request: Any) -> HttpResponse:
            response = asyncio.run(auth_mcp.answer(json.loads(request.body), request.resource_owner.username))
            if response is None:
                return HttpResponse(status=202)
            return HttpResponse(auth_mcp.dumped(response), content_type="application/json")

    return Protected.as_view()(request)


def routes() -> list[Any]:
    """The toolkit's own addresses, its login, and the MCP server."""
    from django.contrib.auth.views import LoginView
    from django.views.decorators.csrf import csrf_exempt

    toolkit = include("oauth2_provider.urls", namespace="oauth2_provider")
    return [path("mcp", csrf_exempt(mcp)), path("login", LoginView.as_view()), path("", toolkit)]


class Lazy(list[Any]):
    """The addresses, made when Django first reads them: before, its settings are missing."""

    def __iter__(self) -> Any:
        if not len(self):
            self.extend(routes())
        return super().__iter__()


urlpatterns = Lazy()


class Quiet(WSGIRequestHandler):
    """Writes no log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


def main() -> None:
    """Serve until the process ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lifetime", type=int, default=3600)
    parser.add_argument("--by-hand", action="store_true")
    given = parser.parse_args()
    logging.disable()
    server = ThreadedWSGIServer(("127.0.0.1", 0), Quiet)
    port = server.server_address[1]
    sys.modules.setdefault("django_oauth", sys.modules[__name__])
    configure(given.folder, port, given.lifetime, by_hand=given.by_hand)
    server.set_app(get_wsgi_application())
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
