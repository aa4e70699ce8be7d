"""How the global context block is computed: one fast function and the plans beneath it, and the plain form's rings."""
