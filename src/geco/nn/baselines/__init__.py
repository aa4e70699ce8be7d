"""The networks that GECO is compared with."""
