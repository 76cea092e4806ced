//! `list` costs what it shows; damaged jobs harm no others.
