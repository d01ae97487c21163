"""MCP Apps: which tools have pages, what pages may reach, and that they are held to it."""

from __future__ import annotations

from mcp_studio.protocol import views


def test_the_page_of_a_tool_is_found_under_both_spellings_and_only_as_ui_address() -> None:
    assert views.app_of({"_meta": {"ui": {"resourceUri": "ui://a"}}}) == "ui://a"
    assert views.app_of({"_meta": {"ui/resourceUri": "ui://a"}}) == "ui://a"
    for meta in ({"ui": {"resourceUri": "https://a"}}, {"ui": {"resourceUri": 5}}, {"ui": []}, None, 5):
        assert views.app_of({"_meta": meta}) == ""


def test_a_page_is_html_under_a_ui_address() -> None:
    assert views.is_app({"uri": "ui://a", "mimeType": "text/html;profile=mcp-app"})
    assert views.is_app({"uri": "ui://a", "mimeType": "text/html; profile=mcp-app"})
    assert not views.is_app({"uri": "file://a", "mimeType": "text/html"})
    assert not views.is_app({"uri": "ui://a", "mimeType": "text/plain"})
    assert not views.is_app({"uri": "ui://a"})


def test_a_page_reaches_what_it_declares_and_nothing_else() -> None:
    csp = {
        "connectDomains": ["https://api.example", "wss://*.live.example:443"],
        "resourceDomains": ["https://cdn.example"],
    }
    reach = views.reach_of({"_meta": {"ui": {"csp": csp, "permissions": {"camera": {}}}}})
    policy = views.policy(reach)
    assert "connect-src https://api.example wss://*.live.example:443;" in policy
    assert "script-src 'unsafe-inline' https://cdn.example;" in policy
    assert policy.startswith("default-src 'none'") and "form-action 'none'" in policy
    assert reach.permissions == ("camera",)
    assert "connect-src 'none'" in views.policy(views.Reach())


def test_what_is_no_origin_cannot_get_into_the_policy() -> None:
    bad = [
        "*",
        "https://a.example; script-src *",
        "'unsafe-eval'",
        'https://a.example"><script>',
        "javascript:",
        "https:",
    ]
    reach = views.reach_of({"_meta": {"ui": {"csp": {"connectDomains": bad, "frameDomains": "https://x.example"}}}})
    assert reach.connect == () and reach.frames == () and reach.refused == tuple(bad)
    assert '"' not in views.policy(reach) and "*" not in views.policy(reach)


def test_the_policy_stands_before_everything_of_the_page() -> None:
    page = views.held_page("<script>1</script><html>", views.Reach())
    assert page.index("Content-Security-Policy") < page.index("<script>")
