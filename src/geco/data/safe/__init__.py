"""Files from elsewhere, read without running anything in them and without taking more memory than they hold."""
