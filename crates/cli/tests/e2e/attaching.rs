//! `attach`: a person at a terminal, scripted under tmux.
