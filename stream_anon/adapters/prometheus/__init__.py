"""The metrics: declared once, fed by plain methods, written as Prometheus reads them."""
