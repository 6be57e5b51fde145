"""Who signed certificates and policy documents."""
