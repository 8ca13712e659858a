"""The blocking client: generated from `aio` by clients/generate."""
