"""The description of the API: the OpenAPI document, and the page `/docs` made from it."""
