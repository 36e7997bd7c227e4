"""The Catalog place: tables of GPUs, instances and models, and what is known of each entry, with its sources."""
