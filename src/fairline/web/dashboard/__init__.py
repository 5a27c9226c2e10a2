"""The operators' dashboard: signing in, and the pages."""

from fairline.web.dashboard.pages import DashboardPages, dashboard_operations

__all__ = ["DashboardPages", "dashboard_operations"]
