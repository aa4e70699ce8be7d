"""Pages that people read and pass on."""
