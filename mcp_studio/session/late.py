"""What a session needs only once a server asks something: imported then, since schemas cost a tenth of the start."""

from __future__ import annotations

from mcp_studio.jsontext import Json


def filled(schema: Json, given: Json) -> tuple[Json, str]:
    """See `forms.filled`."""
    from mcp_studio.session import forms

    return forms.filled(schema, given)


def secrets(schema: Json) -> frozenset[str]:
    """See `forms.secrets`."""
    from mcp_studio.session import forms

    return forms.secrets(schema)
