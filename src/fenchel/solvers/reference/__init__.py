"""Methods of the papers that ``auto`` never takes."""
