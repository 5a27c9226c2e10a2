"""The operators' dashboard: its pages, and signing in."""

from fairline.web.dashboard.pages import DashboardPages, dashboard_operations

__all__ = ["DashboardPages", "dashboard_operations"]
