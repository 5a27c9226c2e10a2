"""HTTP: the fast lane, the stream hub, the full lane. Nothing outside this package speaks HTTP."""
