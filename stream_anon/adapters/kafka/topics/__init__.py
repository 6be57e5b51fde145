"""What topics must be like, who may use them, and what brokers say of them."""
