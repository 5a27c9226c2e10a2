"""The web side: the HTTP server, the API, open streams, pages, the dashboard and metrics. Nothing outside this package
answers HTTP requests."""
