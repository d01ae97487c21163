"""What `mcp_studio.urls` says of a page, for those who know sessions."""

from mcp_studio.urls import Page, judge

__all__ = ["Page", "judge"]
