//! Jobs with a terminal of their own: keys, screens, sizes.
