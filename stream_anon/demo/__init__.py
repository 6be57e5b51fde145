"""The demo: an embedded broker, events that flow, the real service, and a look at what came out."""
