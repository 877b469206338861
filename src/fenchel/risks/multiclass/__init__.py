"""Joint risks of several classes: Weston-Watkins, Crammer-Singer, multinomial."""
